// SPDX-License-Identifier: GPL-2.0-only
//! The size of a shift against the baseline, and its text.

use stats::{Entry, Row};

use crate::units;

/// The size of a shift, for choosing the largest: |ln(contestant / baseline)|. A shift from 0 is
/// larger than each in percent; 0 without a shift.
pub(crate) fn log_ratio(entry: &Entry) -> f64 {
    let from_0 = |value: f64| if value == 0.0 { 0.0 } else { f64::INFINITY };
    let size = |shift: stats::Shift| {
        shift.percent.map_or_else(
            || from_0(shift.value),
            |percent| (1.0 + percent / 100.0).max(1e-3).ln().abs(),
        )
    };
    entry.shift.map_or(0.0, size)
}

/// One gain with its interval, `−61.3 % [−66.0, −55.1]`; the smallest and the largest of several,
/// `−36.9 % to −100 %`.
pub(crate) fn range_words(wins: &[(&Row, &Entry)]) -> String {
    let mut wins: Vec<_> = wins.to_vec();
    wins.sort_by(|(_, a), (_, b)| log_ratio(a).total_cmp(&log_ratio(b)));
    match wins.as_slice() {
        [(row, entry)] => shift_words(row, entry),
        [(row, least), .., (_, most)] => {
            let words = |entry: &Entry| entry.shift.map(|shift| units::shift(&shift, row.unit).0);
            let (least, most) = (words(least).unwrap_or_default(), words(most).unwrap_or_default());
            format!("{least} to {most}")
        }
        [] => String::new(),
    }
}

/// A shift with its interval, `−61.3 % [−66.0, −55.1]`; empty without a shift.
pub(crate) fn shift_words(row: &Row, entry: &Entry) -> String {
    let Some(shift) = &entry.shift else { return String::new() };
    let (value, interval) = units::shift(shift, row.unit);
    format!("{value} {interval}")
}
