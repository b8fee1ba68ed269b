// SPDX-License-Identifier: GPL-2.0-only
//! A comparison as text for a terminal: at most 110 columns, colour only if asked for.

use model::Clock;
use model::metric::Direction;
use stats::{Cell, Comparison, Entry, Row, Verdict};

use crate::answer::{answer, by_load};
use crate::units;

/// The widest line.
pub const COLUMNS: usize = 110;

/// How much of a contestant's name is shown.
const NAME: usize = 20;

/// The headline measures of every cell, what did not end well, what to know, and the answer last,
/// where a terminal's reader looks first.
pub fn table(comparison: &Comparison, colour: bool) -> String {
    let paint = Paint(colour);
    let mut text = String::new();
    for cell in &comparison.cells {
        text += &cell_table(cell, &comparison.baseline, paint);
    }
    for note in &comparison.notes {
        text += &wrapped(&format!("note: {note}"), "      ");
    }
    if !comparison.notes.is_empty() {
        text.push('\n');
    }
    for sentence in answer(comparison) {
        text += &wrapped(&sentence.plain(), "");
    }
    for sentence in by_load(comparison) {
        text += &wrapped(&format!("- {}", sentence.plain()), "  ");
    }
    text
}

fn cell_table(cell: &Cell, baseline: &str, paint: Paint) -> String {
    let clock = if cell.clock == Clock::Virtual { "virtual clock" } else { "real clock" };
    let mut text = format!("{}, {clock}\n", paint.bold(&fit(&cell.label(), COLUMNS - 16)));
    let headlines: Vec<&Row> = cell.headline().collect();
    let rows = if headlines.is_empty() { cell.rows.iter().collect() } else { headlines };
    for row in rows {
        text += &row_table(row, baseline, paint);
    }
    for count in cell.outcomes.iter().filter(|count| count.outcome != "ok") {
        let outcome = format!("{} {}", count.trials, count.outcome);
        let line = format!("  ! {}: {outcome}: {}", count.contestant, count.reason);
        text += &paint.red(&fit(&line, COLUMNS));
        text.push('\n');
    }
    text + "\n"
}

fn row_table(row: &Row, baseline: &str, paint: Paint) -> String {
    let better = match row.direction {
        Direction::Lower => ", lower is better",
        Direction::Higher => ", higher is better",
        Direction::Neutral => "",
    };
    let title = format!("{}{better}", row.measure);
    let mut text = format!("  {}\n", fit(&title, COLUMNS - 2));
    let against = format!("against {}", fit(baseline, NAME));
    text += &paint.dim(&format!(
        "    {:<NAME$} {:>7} {:>10} {:<16} {against}",
        "contestant", "n/boots", "median", "95 % interval"
    ));
    text.push('\n');
    for entry in &row.entries {
        text += &entry_line(row, entry, paint);
    }
    text
}

fn entry_line(row: &Row, entry: &Entry, paint: Paint) -> String {
    let name = pad(&fit(&entry.contestant, NAME), NAME);
    let runs = format!("{}/{}", entry.runs, entry.boots);
    let median = entry.median.map_or_else(|| "–".into(), |value| units::number(value, row.unit));
    let range = match (entry.interval, entry.median) {
        (Some(interval), Some(median)) => units::interval(interval, median, row.unit),
        _ => String::new(),
    };
    let verdict = paint.verdict(entry.verdict);
    let line = format!(
        "    {name} {runs:>7} {} {} {} {verdict}",
        pad_left(&median, 10),
        pad(&range, 16),
        pad(&shift(row, entry), 28),
    );
    format!("{}\n{}", line.trim_end(), missing(entry))
}

/// `↓ −70.1 % [−72.0, −68.3]`: the arrow says which way, the verdict whether it is good.
fn shift(row: &Row, entry: &Entry) -> String {
    let Some(shift) = &entry.shift else { return String::new() };
    let arrow = match shift.value {
        value if value < 0.0 => '↓',
        value if value > 0.0 => '↑',
        _ => '=',
    };
    let (value, interval) = units::shift(shift, row.unit);
    format!("{arrow} {value} {interval}")
}

/// Why there is no number, when there is none.
fn missing(entry: &Entry) -> String {
    if entry.median.is_some() {
        return String::new();
    }
    let line = |(reason, runs): (&String, &u32)| {
        fit(&format!("      {runs} run(s): {reason}"), COLUMNS) + "\n"
    };
    entry.missing.iter().map(line).collect()
}

#[derive(Clone, Copy)]
struct Paint(bool);

impl Paint {
    fn code(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }

    fn bold(self, text: &str) -> String {
        self.code("1", text)
    }

    fn dim(self, text: &str) -> String {
        self.code("2", text)
    }

    fn red(self, text: &str) -> String {
        self.code("31", text)
    }

    fn verdict(self, verdict: Verdict) -> String {
        match verdict {
            Verdict::Better => self.code("32", verdict.words()),
            Verdict::Worse => self.code("31", verdict.words()),
            Verdict::More | Verdict::Less => self.code("36", verdict.words()),
            _ => self.dim(verdict.words()),
        }
    }
}

/// At most so many characters on one line: names and reasons come from strangers, so that control
/// characters are replaced.
fn fit(text: &str, width: usize) -> String {
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    if text.chars().count() <= width {
        return clean.collect();
    }
    clean.take(width - 1).chain(['…']).collect()
}

fn pad(text: &str, width: usize) -> String {
    format!("{text:<width$}")
}

fn pad_left(text: &str, width: usize) -> String {
    format!("{text:>width$}")
}

/// Breaks a paragraph between words.
fn wrapped(text: &str, indent: &str) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for word in text.split_whitespace() {
        let word = fit(word, COLUMNS - indent.len());
        if line.chars().count() + 1 + word.chars().count() > COLUMNS && !line.trim().is_empty() {
            lines += &format!("{}\n", line.trim_end());
            line = indent.to_owned();
        }
        line += &format!("{word} ");
    }
    format!("{lines}{}\n", line.trim_end())
}
