// SPDX-License-Identifier: GPL-2.0-only
//! A comparison as text for a terminal: at most 110 columns, colour only if asked for.

use std::collections::BTreeMap;

use model::Clock;
use stats::rank::holm::ALPHA;
use stats::view::agreement::Agreement;
use stats::{Cell, Comparison, Entry, Row, Verdict};

use crate::answer::answer;
use crate::leaders::WorkloadLeaders;
use crate::reading::Reading;
use crate::{agreement, units};
use layout::{Paint, fit, pad, pad_left, wrapped};
use outcomes_text::bad_outcomes;

mod backends_text;
pub mod consensus_text;
pub mod gate_text;
pub mod history_text;
pub(crate) mod layout;
mod outcomes_text;
pub mod recommendation_text;

pub use layout::{COLUMNS, STYLES};
pub mod separation_text;

/// Characters of a contestant's name that are shown.
const NAME: usize = 20;

/// The headline measures of every cell, bad outcomes, notes, and the answer last, where the reader
/// of a terminal looks first.
pub fn table(comparison: &Comparison, agreement: Option<&Agreement>, colour: bool) -> String {
    let paint = Paint(colour);
    let reading = Reading::new(comparison);
    let mut text = String::new();
    for cells in &reading.questions {
        match (cells.as_slice(), agreement) {
            ([_, _], Some(agreement)) => {
                text += &backends_text::tables(comparison, cells, agreement, paint);
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
    for sentence in answer(&reading) {
        text += &wrapped(&sentence.plain(), "");
    }
    for sentence in
        agreement.map_or_else(Vec::new, |agreement| agreement::sentences(comparison, agreement))
    {
        text += &wrapped(&sentence.plain(), "");
    }
    for line in &reading.leaders {
        text += &best(line, &comparison.baseline);
    }
    text
}

fn best(line: &WorkloadLeaders, baseline: &str) -> String {
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

fn row_table(row: &Row, baseline: &str, paint: Paint) -> String {
    let noise = row.noise.map_or_else(String::new, |noise| format!("; {}", units::noise(&noise)));
    let title = format!("{}{noise}", units::title(&row.measure.to_string(), row.direction));
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

/// Why no contestant has a number, each reason once.
fn unmeasured(row: &Row) -> String {
    let mut reasons: BTreeMap<&str, u32> = BTreeMap::new();
    for (reason, trials) in row.entries.iter().flat_map(|entry| &entry.missing) {
        *reasons.entry(reason).or_default() += trials;
    }
    let line = |(reason, trials): (&str, u32)| {
        fit(
            &format!(
                "    no contestant has a number; {}: {reason}",
                units::count(trials.into(), "trial")
            ),
            COLUMNS,
        ) + "\n"
    };
    reasons.into_iter().map(line).collect()
}

fn entry_line(row: &Row, entry: &Entry, paint: Paint) -> String {
    let name = pad(&fit(&entry.contestant, NAME), NAME);
    let trials = format!("{}/{}", entry.trials, entry.boots);
    let median = entry.median.map_or_else(|| "–".into(), |value| units::number(value, row.unit));
    let range = match (entry.interval, entry.median) {
        (Some(interval), Some(median)) => units::interval(interval, median, row.unit),
        _ => String::new(),
    };
    let verdict = paint.judged(entry.verdict, &verdict(entry));
    let line = format!(
        "    {name} {trials:>7} {} {} {} {verdict}",
        pad_left(&median, 10),
        pad(&range, 16),
        pad(&shift(row, entry), 28),
    );
    format!("{}\n{}", line.trim_end(), missing(entry))
}

/// The verdict, with the corrected p value if only this prevents a claim.
fn verdict(entry: &Entry) -> String {
    let interval = entry.shift.and_then(|shift| shift.percent_interval.or(shift.interval));
    let without_zero = interval.is_some_and(|it| it.low > 0.0 || it.high < 0.0);
    match entry.p_value {
        Some(p)
            if entry.verdict == Verdict::NotDistinguishable
                && without_zero
                && p.adjusted > ALPHA =>
        {
            format!("not distinguishable, p {:.2}", p.adjusted)
        }
        _ => entry.verdict.words().into(),
    }
}

/// `↓ −70.1 % [−72.0, −68.3]`: the arrow shows the sign, the verdict whether it is better.
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
    let line = |(reason, trials): (&String, &u32)| {
        fit(&format!("      {}: {reason}", units::count((*trials).into(), "trial")), COLUMNS) + "\n"
    };
    entry.missing.iter().map(line).collect()
}
