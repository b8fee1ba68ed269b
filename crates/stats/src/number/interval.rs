// SPDX-License-Identifier: GPL-2.0-only
//! Intervals: the type, the confidence that all of them have, and the expanded percentile interval
//! of bootstrap replicates.
//!
//! The plain percentile interval is too narrow for few units: with six boots a "95 %" interval
//! misses the truth about one time in eight. Hesterberg ("What teachers should know about the
//! bootstrap", The American Statistician 69(4), 2015, section 5.2) widens the nominal level so that
//! a mean gets the interval of Student's t: `Φ(−√(n/(n−1)) · t)` instead of 2.5 % on each side.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::number::distributions::{normal_below, student_quantile};

/// The fewest trials of each contestant that a claim may rest on: fewer have no finite 95 %
/// interval for their median by order statistics (`0.5^n ≤ 0.025`).
pub const TRIALS_NEEDED: usize = 6;

/// A closed interval in the unit of the numbers that it is for, or in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    pub fn width(self) -> f64 {
        self.high - self.low
    }

    /// The interval, wide enough to have this value in it too.
    pub fn with(self, value: f64) -> Interval {
        Interval { low: self.low.min(value), high: self.high.max(value) }
    }
}

/// The confidence of every interval, 0 … 1.
pub const CONFIDENCE: f64 = 0.95;

/// The interval that replicates of a statistic give when it rests on this many independent units;
/// `None` without replicates or with fewer than two units.
pub fn expanded_percentile(replicates: &mut [f64], units: usize) -> Option<Interval> {
    if replicates.is_empty() || units < 2 {
        return None;
    }
    let last = replicates.len() - 1;
    let cut = (tail(units) * replicates.len() as f64).floor() as usize;
    let cut = cut.min(last / 2);
    let low = *replicates.select_nth_unstable_by(cut, f64::total_cmp).1;
    let high = *replicates.select_nth_unstable_by(last - cut, f64::total_cmp).1;
    Some(Interval { low, high })
}

/// A cache: every interval needs one of these, and a quantile of Student's t is found by iteration.
static TAILS: LazyLock<[f64; 256]> =
    LazyLock::new(|| std::array::from_fn(|units| if units < 2 { 0.0 } else { tail_of(units) }));

/// The probability outside the interval on each side for this many units (≥ 2), below 0.025.
pub fn tail(units: usize) -> f64 {
    TAILS.get(units).copied().unwrap_or_else(|| tail_of(units))
}

fn tail_of(units: usize) -> f64 {
    let n = units as f64;
    normal_below(-(n / (n - 1.0)).sqrt() * student_quantile(units - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_answers() {
        // The formula by hand: Φ(−√(5/4) · 2.776) and so on.
        for (units, by_hand) in [(5, 0.0010), (10, 0.0086), (20, 0.0159), (40, 0.0203)] {
            assert!((tail(units) - by_hand).abs() < 1e-4, "{units}: {}", tail(units));
        }
    }

    #[test]
    fn many_units_give_the_plain_percentiles() {
        let mut replicates: Vec<f64> = (0..10_000).map(f64::from).collect();
        let interval = expanded_percentile(&mut replicates, 1_000_000).unwrap();
        assert!((interval.low - 250.0).abs() <= 1.0 && (interval.high - 9749.0).abs() <= 1.0);
    }

    #[test]
    fn one_unit_has_no_interval() {
        assert_eq!(expanded_percentile(&mut [1.0, 2.0], 1), None);
        assert_eq!(expanded_percentile(&mut [], 9), None);
    }

    proptest! {
        #[test]
        fn fewer_units_are_never_narrower(
            mut values in prop::collection::vec(-1e6..1e6f64, 50..300), units in 2usize..60,
        ) {
            let few = expanded_percentile(&mut values, units).unwrap();
            let many = expanded_percentile(&mut values, units + 1).unwrap();
            prop_assert!(few.low <= many.low && few.high >= many.high && few.low <= few.high);
        }
    }
}
