// SPDX-License-Identifier: GPL-2.0-only
//! The headline measures as Markdown tables, to be spliced into documents.

use std::fmt::Write;

use stats::{Comparison, Entry, Row};

use crate::answer::answer;
use crate::reading::Reading;
use crate::units;

/// One table per cell, contestants as rows and headline measures as columns, below the answer.
pub fn tables(comparison: &Comparison) -> String {
    let mut text = String::new();
    for sentence in answer(&Reading::new(comparison)) {
        let _ = write!(text, "{} ", clean(&sentence.plain()));
    }
    text = text.trim_end().to_owned() + "\n";
    for cell in &comparison.cells {
        let rows: Vec<&Row> = cell.headline().collect();
        if rows.is_empty() {
            continue;
        }
        let _ = write!(text, "\n**{}**\n\n| |", clean(&cell.label()));
        rows.iter().for_each(|row| {
            let _ = write!(text, " {} |", clean(&units::measure(&row.measure)));
        });
        let _ = write!(text, "\n|---|{}\n", "---:|".repeat(rows.len()));
        for (index, contestant) in comparison.contestants.iter().enumerate() {
            let _ = write!(text, "| {} |", clean(contestant));
            rows.iter().for_each(|row| {
                let _ = write!(text, " {} |", value(row, &row.entries[index]));
            });
            text.push('\n');
        }
    }
    text
}

/// `1.20 ms, −70 % [−72, −68] better`.
fn value(row: &Row, entry: &Entry) -> String {
    let Some(median) = entry.median else { return entry.verdict.words().into() };
    let median = units::number(median, row.unit);
    let Some(shift) = &entry.shift else { return median };
    let (shift, interval) = units::shift(shift, row.unit);
    format!("{median}, {shift} {interval} {}", entry.verdict.words())
}

/// One line, with Markdown's special characters escaped.
pub(crate) fn clean(text: &str) -> String {
    let mut clean = String::new();
    for character in text.chars() {
        match character {
            '|' | '*' | '`' | '<' | '>' | '[' | ']' | '\\' | '_' | '#' => {
                clean.push('\\');
                clean.push(character);
            }
            c if c.is_control() => clean.push(' '),
            c => clean.push(c),
        }
    }
    clean
}
