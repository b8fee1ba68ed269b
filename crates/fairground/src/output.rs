// SPDX-License-Identifier: GPL-2.0-only
//! What goes to standard output: tables for people, JSON for programs.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::Result;
use clap::ValueEnum;
use model::{Progress, text};
use serde::Serialize;

use crate::exit;

/// How to print what is printed for reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[default]
    Table,
    Json,
}

/// The same for what a service of continuous integration shows as tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TestFormat {
    #[default]
    Table,
    Junit,
}

/// Whether to colour standard output: only on a terminal that knows colours, never with `NO_COLOR`.
pub fn colour() -> bool {
    let is_wanted = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    io::stdout().is_terminal() && is_wanted && !is_dumb()
}

/// Whether a line on standard error can be drawn again: only on a terminal that knows how.
pub fn can_redraw() -> bool {
    io::stderr().is_terminal() && !is_dumb()
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|name| name == "dumb")
}

/// Standard output has no reader any more, as in `fairground plan … | head -1`.
#[derive(Debug, thiserror::Error)]
#[error("standard output is closed")]
pub struct Closed;

/// Standard output whose end can be told from any other broken pipe.
struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stdout().write(bytes).map_err(closed)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush().map_err(closed)
    }
}

fn closed(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe => io::Error::new(error.kind(), Closed),
        _ => error,
    }
}

/// Standard output that is a terminal: it gets everything at once, and nothing that it would obey.
#[derive(Default)]
struct Terminal(Vec<u8>);

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        let text = String::from_utf8_lossy(&self.0);
        Stdout.write_all(text::escaped(&text).as_bytes())?;
        self.0.clear();
        Stdout.flush()
    }
}

/// Writes text for a reader to standard output, folded where their terminal is narrow.
pub fn print(text: &str) -> Result<()> {
    let text = for_locale(text);
    match columns() {
        Some(width) => print_exact(&report::terminal::folded(&text, width)),
        None => print_exact(&text),
    }
}

/// What a locale that has ASCII alone shows instead of our other characters.
const IN_ASCII: &[(char, &str)] = &[
    ('−', "-"),
    ('–', "-"),
    ('·', "."),
    ('…', "..."),
    ('µ', "u"),
    ('×', "x"),
    ('→', "->"),
    ('↑', "^"),
    ('↓', "v"),
    ('≤', "<="),
    ('≥', ">="),
    ('≠', "!="),
    ('≈', "~"),
    ('±', "+-"),
    ('∞', "inf"),
    ('│', "|"),
    ('✓', "+"),
    ('✗', "x"),
    ('▁', "."),
    ('▂', "."),
    ('▃', "-"),
    ('▄', "-"),
    ('▅', "="),
    ('▆', "="),
    ('▇', "#"),
    ('█', "#"),
];

/// The text for people, as the user's locale can show it.
fn for_locale(text: &str) -> Cow<'_, str> {
    let is_ascii_alone = locale().is_some_and(|name| name == "C" || name == "POSIX");
    if is_ascii_alone && !text.is_ascii() { in_ascii(text).into() } else { text.into() }
}

/// What the user has set; none for most services.
fn locale() -> Option<String> {
    let variables = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter();
    variables.filter_map(|name| std::env::var(name).ok()).find(|name| !name.is_empty())
}

fn in_ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match IN_ASCII.iter().find(|(other, _)| *other == letter) {
            Some((_, instead)) => plain.push_str(instead),
            None => plain.push(if letter.is_ascii() { letter } else { '?' }),
        }
    }
    plain
}

/// The width to keep to: what `COLUMNS` says, or that of the terminal; none where there is none.
pub fn columns() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let seen = || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0.into());
    said.or_else(seen).filter(|width| *width >= NARROWEST)
}

/// Nobody reads a terminal that is narrower, and some say 0.
const NARROWEST: usize = 20;

/// Writes text for a program to standard output as it is. What it has of strangers is escaped, as
/// in all that goes out.
pub fn print_exact(text: &str) -> Result<()> {
    let own: &[&str] = if colour() { report::terminal::STYLES } else { &[] };
    Stdout.write_all(text::escaped_but(text, own).as_bytes())?;
    Ok(Stdout.flush()?)
}

/// Writes a line to standard error. A reader that has gone away is no reason to stop measuring, so
/// errors are ignored, where `eprintln!` would panic.
pub fn tell(text: impl std::fmt::Display) {
    let _ = writeln!(io::stderr(), "{}", text::lines(&for_locale(&text.to_string())));
}

/// Writes the notes of a measurement to standard error.
pub fn notes(progress: &Progress<'_>) {
    if let Progress::Note(note) = progress {
        tell(note);
    }
}

/// A folder of this program's own, which notes do not name.
static OWN_FOLDER: OnceLock<String> = OnceLock::new();

/// Notes have paths in this folder as they are below it.
pub fn shorten(folder: &Path) {
    let _ = OWN_FOLDER.set(format!("{}/", folder.display()));
}

/// Writes a line to standard error unless the same was written before.
pub fn tell_once(text: &str) {
    let text = &OWN_FOLDER.get().map_or(text.to_owned(), |folder| text.replace(folder, ""));
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if told.insert(text.to_owned()) {
        tell(text);
    }
}

/// Writes a value as indented JSON to standard output.
pub fn print_json<T: Serialize>(value: &T) -> Result<()> {
    print_exact(&(serde_json::to_string_pretty(value)? + "\n"))
}

/// A file to write to, or standard output when none is named.
pub fn writer(file: Option<&Path>) -> Result<Box<dyn Write>> {
    Ok(match file {
        None if io::stdout().is_terminal() => Box::new(Terminal::default()),
        None => Box::new(BufWriter::new(Stdout)),
        Some(path) => {
            Box::new(BufWriter::new(Named { file: create(path)?, path: path.to_owned() }))
        }
    })
}

/// Writes a whole file, or to standard output when none is named. What is not written whole is
/// taken away again.
pub fn write(file: Option<&Path>, text: &[u8]) -> Result<()> {
    let mut out = writer(file)?;
    let written = out.write_all(text).and_then(|()| out.flush());
    if let (Err(_), Some(path)) = (&written, file.filter(|path| path.is_file())) {
        drop(out);
        let _ = std::fs::remove_file(path);
    }
    Ok(written?)
}

/// Writes a whole file, and says so.
pub fn write_and_tell(file: &Path, text: &str) -> Result<()> {
    write(Some(file), text.as_bytes())?;
    tell(format_args!("wrote {}", file.display()));
    Ok(())
}

/// A file whose errors say its name: "no space left on device" alone helps nobody.
struct Named {
    file: File,
    path: PathBuf,
}

impl Named {
    fn naming(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
    }
}

impl Write for Named {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| self.naming(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| self.naming(error))
    }
}

fn create(path: &Path) -> Result<File> {
    File::create(path).map_err(|error| exit::unwritable(path, error))
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
