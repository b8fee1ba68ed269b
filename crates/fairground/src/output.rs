// SPDX-License-Identifier: GPL-2.0-only
//! What goes to standard output: tables for people, JSON for programs.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::Serialize;

/// How to print what is printed for reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns.
    #[default]
    Table,
    /// JSON.
    Json,
}

/// Whether to colour standard output: only on a terminal, and never with `NO_COLOR`.
pub fn colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// Writes text to standard output.
///
/// # Errors
/// When standard output is closed.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// Writes a value as indented JSON to standard output.
///
/// # Errors
/// When standard output is closed.
pub fn print_json<T: Serialize>(value: &T) -> Result<()> {
    print(&(serde_json::to_string_pretty(value)? + "\n"))
}

/// A file to write to, or standard output when none is named.
///
/// # Errors
/// When the file cannot be created.
pub fn writer(file: Option<&PathBuf>) -> Result<Box<dyn Write>> {
    Ok(match file {
        None => Box::new(BufWriter::new(io::stdout())),
        Some(path) => Box::new(BufWriter::new(create(path)?)),
    })
}

fn create(path: &Path) -> Result<File> {
    File::create(path).with_context(|| {
        format!("{}: cannot be written; name another file with -o", path.display())
    })
}

/// Columns, left-aligned, two spaces apart; the last one is not padded.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn columns_are_aligned_by_characters() {
        let rows = [vec!["µs".into(), "a".into()], vec!["long".into(), "b".into()]];
        assert_eq!(table(&rows), "µs    a\nlong  b\n");
        assert_eq!(table(&[]), "");
    }
}
