// SPDX-License-Identifier: GPL-2.0-only
//! One cell on two backends: both medians in one table, each with its shift against the baseline.

use stats::view::agreement::Agreement;
use stats::{Cell, Comparison, Entry, Row, Verdict};

use super::layout::{COLUMNS, Paint, fit, pad, pad_left};
use super::outcomes_text::bad_outcomes;
use crate::{agreement, cells, units};

/// Characters of a contestant's name that fit next to two backends.
const NAME: usize = 17;

/// The width of a median.
const MEDIAN: usize = 9;

/// The width of a shift with its interval and verdict.
const SHIFT: usize = 26;

/// The width of an error with its mark.
const ERROR: usize = 12;

/// The legend of the signs.
pub const LEGEND: &str = "+ better and − worse than the baseline; ✓ within the tolerance, (✓) only \
                          by its allowance for small numbers, ✗ outside";

/// A block per headline measure, then what did not end well.
pub fn tables(
    comparison: &Comparison,
    cells: &[&Cell],
    agreement: &Agreement,
    paint: Paint,
) -> String {
    let words: Vec<&str> = cells.iter().map(|cell| cell.backend.word()).collect();
    let title = format!("{} on {} ({})", cells[0].name, cells[0].machine, words.join(" and "));
    let mut text = format!("{}\n", paint.bold(&fit(&title, COLUMNS)));
    for row in cells[0].headline() {
        text += &table(comparison, cells, row, agreement, paint);
    }
    for cell in cells {
        text += &bad_outcomes(cell, &format!("{}: ", cell.backend.word()), paint);
    }
    text + "\n"
}

fn table(
    comparison: &Comparison,
    cells: &[&Cell],
    row: &Row,
    agreement: &Agreement,
    paint: Paint,
) -> String {
    let title = units::title(&row.measure.to_string(), row.direction);
    let mut text = format!("  {}\n", fit(&title, COLUMNS - 2));
    if !cells::is_measured(cells, row) {
        return text + "    no trial has enough samples\n";
    }
    let against = format!("against {}", fit(&comparison.baseline, NAME));
    let side = |cell: &&Cell| format!(" {:>10} {}", cell.backend.word(), pad(&against, SHIFT));
    let sides: String = cells.iter().map(side).collect();
    let error = format!("sim − {}", agreement.reference.word());
    let heading = format!("    {}{sides} {}", pad("contestant", NAME), pad_left(&error, ERROR));
    text += &format!("{}\n", paint.dim(&fit(&heading, COLUMNS)));
    let lines = comparison.contestants.iter();
    text.extend(lines.map(|name| line(comparison, cells, row, name, agreement, paint)));
    text
}

fn line(
    comparison: &Comparison,
    cells: &[&Cell],
    row: &Row,
    name: &str,
    agreement: &Agreement,
    paint: Paint,
) -> String {
    if !cells.iter().any(|cell| cells::takes_part(cell, name)) {
        return String::new();
    }
    let side = |cell: &&Cell| {
        if cells::is_elsewhere(comparison, cell, name) {
            format!(" {} {}", pad("", MEDIAN), paint.dim(&pad(&cells::not_here(cell), SHIFT)))
        } else {
            side(row, cells::twin_entry(cell, row, name), paint)
        }
    };
    let sides: String = cells.iter().map(side).collect();
    let figure = agreement::figure(agreement, cells[0], row, name);
    let error = figure.map_or(String::new(), |figure| {
        format!("{} {}", agreement::error(figure), agreement::mark(figure.within))
    });
    let line = format!("    {}{sides} {}", pad(&fit(name, NAME), NAME), pad_left(&error, ERROR));
    format!("{}\n", line.trim_end())
}

/// A backend's median, its shift with the interval, and a sign for the verdict.
fn side(row: &Row, entry: Option<&Entry>, paint: Paint) -> String {
    let median = entry.and_then(|entry| entry.median);
    let median = median.map_or_else(|| "–".into(), |value| units::number(value, row.unit));
    let Some(entry) = entry else {
        return format!(" {} {}", pad_left(&median, MEDIAN), pad("", SHIFT));
    };
    let (shift, interval) =
        entry.shift.map(|shift| units::shift(&shift, row.unit)).unwrap_or_default();
    let words = match entry.verdict {
        Verdict::Better => format!("{shift} {interval} +"),
        Verdict::Worse => format!("{shift} {interval} −"),
        Verdict::More | Verdict::Less => format!("{shift} {interval}"),
        verdict => verdict.words().into(),
    };
    let words = paint.judged(entry.verdict, &pad(&fit(&words, SHIFT), SHIFT));
    format!(" {} {words}", pad_left(&median, MEDIAN))
}
