// SPDX-License-Identifier: GPL-2.0-only
//! A comparison as text for a terminal: at most 110 columns, colour only if asked for.

use std::collections::BTreeMap;

use model::{Clock, MeasureKey};
use stats::view::agreement::Agreement;
use stats::{Cell, Comparison, Entry, OutcomeCount, Row};

use crate::answer::answer;
use crate::reading::Reading;
use crate::table::Align::{Left, Right};
use crate::table::{Field, Table};
use crate::{agreement, backends, reading, units};
use layout::{Paint, fit, wrapped};

pub mod consensus_text;
pub mod gate_text;
pub mod history_text;
pub(crate) mod layout;
pub mod recommendation_text;

pub use layout::{COLUMNS, STYLES, folded};

/// Characters of a contestant's name that are shown.
const NAME: usize = 20;

/// The headline measures of every cell, bad outcomes, notes, and the answer last, where the reader
/// of a terminal looks first.
pub fn table(comparison: &Comparison, agreement: Option<&Agreement>, colour: bool) -> String {
    let paint = Paint(colour);
    let reading = Reading::new(comparison);
    let mut text = String::new();
    let table = |cell: &&Cell| cell_table(cell, &comparison.baseline, paint);
    for cells in &reading.questions {
        match (cells.as_slice(), agreement) {
            ([_, _], Some(agreement)) => {
                text += &backends::text(comparison, cells, agreement, paint);
            }
            _ => text.extend(cells.iter().map(table)),
        }
    }
    for note in &comparison.notes {
        text += &wrapped(&format!("note: {note}"), "      ");
    }
    if agreement.is_some() {
        text += &wrapped(backends::LEGEND, "");
    }
    if !comparison.notes.is_empty() || agreement.is_some() {
        text.push('\n');
    }
    let mut sentences = answer(&reading);
    if let Some(agreement) = agreement {
        sentences.extend(agreement::sentences(comparison, agreement));
    }
    text.extend(sentences.iter().map(|sentence| wrapped(&sentence.plain(), "")));
    for line in &reading.leaders {
        let sentence = line.sentence(&comparison.baseline).plain();
        text += &wrapped(&format!("- {}: {sentence}.", line.subject()), "  ");
    }
    text
}

/// The trials of a cell that did not end well.
pub(crate) fn bad_outcomes(cell: &Cell, place: &str, paint: Paint) -> String {
    let bad = cell.outcomes.iter().filter(|count| count.outcome != "ok");
    let line = |count: &OutcomeCount| {
        let outcome = format!("{} {}", count.trials, count.outcome);
        let line = format!("  ! {place}{}: {outcome}: {}", count.contestant, count.reason);
        paint.red(&fit(&line, COLUMNS)) + "\n"
    };
    bad.map(line).collect()
}

fn cell_table(cell: &Cell, baseline: &str, paint: Paint) -> String {
    let clock = if cell.clock == Clock::Virtual { "virtual clock" } else { "real clock" };
    let mut text = format!("{}, {clock}\n", paint.bold(&fit(&cell.label(), COLUMNS - 16)));
    let headlines: Vec<&Row> = cell.headline().collect();
    let is_chosen = headlines.is_empty();
    let rows = if is_chosen { usual_rows(cell) } else { headlines };
    for row in &rows {
        text += &row_table(row, baseline, paint);
    }
    let more = cell.rows.len() - rows.len();
    if is_chosen && more > 0 {
        text += &wrapped(
            &format!(
                "{more} more measures are in `fairground report` and `fairground export csv`; \
                 `headline` in a workload's TOML file chooses what is shown here."
            ),
            "  ",
        );
    }
    text + &bad_outcomes(cell, "", paint) + "\n"
}

/// What is shown of a workload without headlines: the first measures that can be better or worse.
fn usual_rows(cell: &Cell) -> Vec<&Row> {
    let judged = cell.rows.iter().filter(|row| row.judges() && row.is_measured());
    let chosen = stats::usual(judged.map(|row| row.measure.clone()).collect());
    if chosen.is_empty() {
        return cell.rows.iter().take(stats::USUAL_MAX).collect();
    }
    let row = |measure: &MeasureKey| cell.rows.iter().find(|row| row.measure == *measure);
    chosen.iter().filter_map(row).collect()
}

fn row_table(row: &Row, baseline: &str, paint: Paint) -> String {
    let noise = row.noise.map_or_else(String::new, |noise| format!("; {}", units::noise(&noise)));
    let title = format!("{}{noise}", units::title(&row.measure.to_string(), row.direction));
    let mut text = format!("  {}\n", fit(&title, COLUMNS - 2));
    if !row.is_measured() {
        return text + &unmeasured(row);
    }
    let against = format!("against {}", fit(baseline, NAME));
    let mut table = Table::new(&[
        ("contestant", Left),
        ("n/boots", Right),
        ("median", Right),
        ("95 % interval", Left),
        (&against, Left),
        ("", Left),
    ]);
    row.entries.iter().for_each(|entry| table.add(fields(row, entry, baseline)));
    let mut lines = table.terminal("    ", &[NAME, 7, 10, 16, 28, 0], paint).into_iter();
    text.extend(lines.next());
    for (line, entry) in lines.zip(&row.entries) {
        text += &format!("{line}{}", missing(entry));
    }
    text
}

fn fields(row: &Row, entry: &Entry, baseline: &str) -> [Field; 6] {
    let range = match (entry.interval, entry.median) {
        (Some(interval), Some(median)) => units::interval(interval, median, row.unit),
        _ => String::new(),
    };
    [
        fit(&entry.contestant, NAME).into(),
        format!("{}/{}", entry.trials, entry.boots).into(),
        units::number_or_dash(entry.median, row.unit).into(),
        range.into(),
        shift(row, entry).into(),
        Field::judged(reading::verdict_words(entry, baseline), entry.verdict),
    ]
}

/// Why no contestant has a number, each reason once.
fn unmeasured(row: &Row) -> String {
    let mut reasons: BTreeMap<&str, u32> = BTreeMap::new();
    for (reason, trials) in row.entries.iter().flat_map(|entry| &entry.missing) {
        *reasons.entry(reason).or_default() += trials;
    }
    let line = |(reason, trials): (&str, u32)| {
        let trials = units::count(trials.into(), "trial");
        let line = format!("    no contestant has a number; {trials}: {reason}");
        fit(&line, COLUMNS) + "\n"
    };
    reasons.into_iter().map(line).collect()
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
