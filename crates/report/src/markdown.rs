// SPDX-License-Identifier: GPL-2.0-only
//! The headline measures as Markdown tables, to be spliced into documents.

use stats::{Comparison, Entry, Row};

use crate::answer::answer;
use crate::reading::Reading;
use crate::table::Align::{Left, Right};
use crate::table::{Field, Table};
use crate::{reading, units};

/// One table per cell, contestants as rows and headline measures as columns, below the answer.
pub fn tables(comparison: &Comparison) -> String {
    let sentences: Vec<String> =
        answer(&Reading::new(comparison)).iter().map(|sentence| clean(&sentence.plain())).collect();
    let mut text = sentences.join(" ") + "\n";
    for cell in &comparison.cells {
        let rows: Vec<&Row> = cell.headline().collect();
        if rows.is_empty() {
            continue;
        }
        let measures: Vec<String> = rows.iter().map(|row| units::measure(&row.measure)).collect();
        let measures = measures.iter().map(|measure| (measure.as_str(), Right));
        let mut table = Table::new(&[("", Left)].into_iter().chain(measures).collect::<Vec<_>>());
        for (index, contestant) in comparison.contestants.iter().enumerate() {
            let values = rows
                .iter()
                .map(|row| Field::markdown(value(row, &row.entries[index], &comparison.baseline)));
            table.add([contestant.clone().into()].into_iter().chain(values));
        }
        text += &format!("\n**{}**\n\n{}", clean(&cell.label()), table.markdown());
    }
    text
}

/// `1.20 ms, −70 % [−72, −68] better`.
fn value(row: &Row, entry: &Entry, baseline: &str) -> String {
    let Some(median) = entry.median else { return entry.verdict.words().into() };
    let median = units::number(median, row.unit);
    let verdict = reading::verdict_words(entry, baseline);
    let Some(shift) = &entry.shift else {
        return if entry.contestant == baseline { median } else { format!("{median}, {verdict}") };
    };
    let (shift, interval) = units::shift(shift, row.unit);
    format!("{median}, {shift} {interval} {verdict}")
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
