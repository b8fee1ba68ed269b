// SPDX-License-Identifier: GPL-2.0-only
//! A verdict in words, with the reason where an interval alone would lead to another one.

use stats::compare::margin::MARGIN_PERCENT;
use stats::rank::holm::ALPHA;
use stats::{Entry, Verdict};

/// The verdict on a contestant: `not distinguishable, p 0.06` or `…, 1 % or less` if only this
/// prevents a claim. If the baseline lacks a number, the text says so.
pub(crate) fn words(entry: &Entry, baseline: &str) -> String {
    let words = entry.verdict.words();
    let interval = entry.shift.and_then(|shift| shift.shown_interval());
    let without_zero = interval.is_some_and(|ends| ends.low > 0.0 || ends.high < 0.0);
    match (entry.verdict, entry.p_value) {
        (Verdict::NotMeasured, _) if entry.median.is_some() => format!("{baseline} has no number"),
        (Verdict::NotDistinguishable, Some(p)) if without_zero && p.adjusted > ALPHA => {
            format!("{words}, p {:.2}", p.adjusted)
        }
        (Verdict::NotDistinguishable, Some(_)) if without_zero => {
            format!("{words}, {MARGIN_PERCENT} % or less")
        }
        _ => words.into(),
    }
}
