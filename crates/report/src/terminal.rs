// SPDX-License-Identifier: GPL-2.0-only
//! A comparison as text for a terminal: at most 110 columns, colour only if asked for.

use std::collections::BTreeMap;

use model::Clock;
use model::metric::Direction;
use stats::rank::holm::ALPHA;
use stats::view::agreement::Agreement;
use stats::{Cell, Comparison, Entry, Row, Verdict};

use crate::answer::answer;
use crate::leaders::{Line, lines};
use crate::{cells, units};

mod backends_text;
pub mod consensus_text;
pub mod gate_text;
pub mod history_text;
pub mod recommendation_text;
pub mod separation_text;

/// The widest line.
pub const COLUMNS: usize = 110;

/// How much of a contestant's name is shown.
const NAME: usize = 20;

/// The headline measures of every cell, what did not end well, what to know, and the answer last,
/// where a terminal's reader looks first.
pub fn table(comparison: &Comparison, agreement: Option<&Agreement>, colour: bool) -> String {
    let paint = Paint(colour);
    let mut text = String::new();
    for cells in cells::together(comparison) {
        match (cells.as_slice(), agreement) {
            ([_, _], Some(agreement)) => {
                text += &backends_text::tables(comparison, &cells, agreement, paint);
            }
            _ => {
                cells.iter().for_each(|cell| text += &cell_table(cell, &comparison.baseline, paint))
            }
        }
    }
    for note in &comparison.notes {
        text += &wrapped(&format!("note: {note}"), "      ");
    }
    if agreement.is_some() {
        text += &wrapped(backends_text::LEGEND, "");
    }
    if !comparison.notes.is_empty() || agreement.is_some() {
        text.push('\n');
    }
    for sentence in answer(comparison) {
        text += &wrapped(&sentence.plain(), "");
    }
    for sentence in agreement.map_or_else(Vec::new, |it| cells::sentences(comparison, it)) {
        text += &wrapped(&sentence.plain(), "");
    }
    lines(comparison).iter().for_each(|line| text += &best(line, &comparison.baseline));
    text
}

fn best(line: &Line, baseline: &str) -> String {
    let words = line.words(baseline).plain();
    wrapped(&format!("- {}: {words}.", line.subject()), "  ")
}

fn cell_table(cell: &Cell, baseline: &str, paint: Paint) -> String {
    let clock = if cell.clock == Clock::Virtual { "virtual clock" } else { "real clock" };
    let mut text = format!("{}, {clock}\n", paint.bold(&fit(&cell.label(), COLUMNS - 16)));
    let headlines: Vec<&Row> = cell.headline().collect();
    let rows = if headlines.is_empty() { cell.rows.iter().collect() } else { headlines };
    for row in rows {
        text += &row_table(row, baseline, paint);
    }
    text + &bad_outcomes(cell, "", paint) + "\n"
}

/// Everything that did not end well, each line with the place where.
fn bad_outcomes(cell: &Cell, place: &str, paint: Paint) -> String {
    let mut text = String::new();
    for count in cell.outcomes.iter().filter(|count| count.outcome != "ok") {
        let outcome = format!("{} {}", count.trials, count.outcome);
        let line = format!("  ! {place}{}: {outcome}: {}", count.contestant, count.reason);
        text += &paint.red(&fit(&line, COLUMNS));
        text.push('\n');
    }
    text
}

fn row_table(row: &Row, baseline: &str, paint: Paint) -> String {
    let noise = row.noise.map_or_else(String::new, |noise| format!("; {}", units::noise(&noise)));
    let title = format!("{}{}{noise}", row.measure, direction(row.direction));
    let mut text = format!("  {}\n", fit(&title, COLUMNS - 2));
    if !row.is_measured() {
        return text + &unmeasured(row);
    }
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

/// Why nobody has a number, each reason once.
fn unmeasured(row: &Row) -> String {
    let mut reasons: BTreeMap<&str, u32> = BTreeMap::new();
    for (reason, runs) in row.entries.iter().flat_map(|entry| &entry.missing) {
        *reasons.entry(reason).or_default() += runs;
    }
    let line = |(reason, runs): (&str, u32)| {
        fit(&format!("    nobody has a number; {runs} run(s): {reason}"), COLUMNS) + "\n"
    };
    reasons.into_iter().map(line).collect()
}

fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Lower => ", lower is better",
        Direction::Higher => ", higher is better",
        Direction::Neutral => "",
    }
}

fn entry_line(row: &Row, entry: &Entry, paint: Paint) -> String {
    let name = pad(&fit(&entry.contestant, NAME), NAME);
    let runs = format!("{}/{}", entry.runs, entry.boots);
    let median = entry.median.map_or_else(|| "–".into(), |value| units::number(value, row.unit));
    let range = match (entry.interval, entry.median) {
        (Some(interval), Some(median)) => units::interval(interval, median, row.unit),
        _ => String::new(),
    };
    let verdict = paint.judged(entry.verdict, &verdict(entry));
    let line = format!(
        "    {name} {runs:>7} {} {} {} {verdict}",
        pad_left(&median, 10),
        pad(&range, 16),
        pad(&shift(row, entry), 28),
    );
    format!("{}\n{}", line.trim_end(), missing(entry))
}

/// The verdict; with the corrected p value where that alone forbids a claim.
fn verdict(entry: &Entry) -> String {
    let interval = entry.shift.and_then(|shift| shift.percent_interval.or(shift.interval));
    let without_zero = interval.is_some_and(|it| it.low > 0.0 || it.high < 0.0);
    match entry.p_value {
        Some(p) if entry.verdict == Verdict::Inconclusive && without_zero && p.adjusted > ALPHA => {
            format!("inconclusive, p {:.2}", p.adjusted)
        }
        _ => entry.verdict.words().into(),
    }
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

/// Colours, or none.
#[derive(Clone, Copy)]
pub(crate) struct Paint(pub bool);

impl Paint {
    fn code(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.code("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.code("2", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.code("32", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.code("31", text)
    }

    /// Words in the colour of a verdict.
    fn judged(self, verdict: Verdict, words: &str) -> String {
        match verdict {
            Verdict::Better => self.code("32", words),
            Verdict::Worse => self.code("31", words),
            Verdict::More | Verdict::Less => self.code("36", words),
            _ => self.dim(words),
        }
    }
}

/// At most so many characters on one line: names and reasons come from strangers, so that control
/// characters are replaced.
pub(crate) fn fit(text: &str, width: usize) -> String {
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    if text.chars().count() <= width {
        return clean.collect();
    }
    clean.take(width - 1).chain(['…']).collect()
}

pub(crate) fn pad(text: &str, width: usize) -> String {
    format!("{text:<width$}")
}

pub(crate) fn pad_left(text: &str, width: usize) -> String {
    format!("{text:>width$}")
}

/// Breaks a paragraph between words.
pub(crate) fn wrapped(text: &str, indent: &str) -> String {
    hanging(text, "", indent)
}

/// The same where the first line has an indent of its own.
pub(crate) fn hanging(text: &str, first: &str, indent: &str) -> String {
    let (mut lines, mut line) = (String::new(), first.to_owned());
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
