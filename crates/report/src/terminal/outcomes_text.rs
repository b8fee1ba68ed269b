// SPDX-License-Identifier: GPL-2.0-only
//! Trials of a cell that did not end well.

use stats::Cell;

use super::layout::{COLUMNS, Paint, fit};

/// The trials that did not end well, each line with its cell.
pub(super) fn bad_outcomes(cell: &Cell, place: &str, paint: Paint) -> String {
    let mut text = String::new();
    for count in cell.outcomes.iter().filter(|count| count.outcome != "ok") {
        let outcome = format!("{} {}", count.trials, count.outcome);
        let line = format!("  ! {place}{}: {outcome}: {}", count.contestant, count.reason);
        text += &paint.red(&fit(&line, COLUMNS));
        text.push('\n');
    }
    text
}
