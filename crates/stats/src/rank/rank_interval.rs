// SPDX-License-Identifier: GPL-2.0-only
//! The interval of the Hodges–Lehmann shift by the exact rank-sum test: all shifts that the test
//! does not reject.
//!
//! Of the m·n differences in ascending order it runs from the k-th smallest to the k-th largest,
//! where k is how many values of Mann and Whitney's U, from 0 on, have together a probability of at
//! most 2.5 % (Moses's method; Hollander and Wolfe, "Nonparametric Statistical Methods", 2nd
//! edition 1999, section 4.3). It needs no distribution and no resampling, and keeps its coverage
//! with few trials; ties only make it wider. With fewer than four trials of each contestant there
//! is none.

use crate::number::interval::Interval;
use crate::rank::hodges_lehmann::Differences;
use crate::rank::rank_sum::sums_within;

/// The probability that is left out on each side.
const TAIL: f64 = 0.025;

/// The shift from the baseline to ours with its 95 % interval, in the values' unit; `None` with too
/// few values.
pub fn shift(ours: &[f64], baseline: &[f64]) -> Option<(f64, Interval)> {
    let differences = Differences::new(ours, baseline);
    let (low, high) = differences.ends(sums_within(ours.len(), baseline.len(), TAIL))?;
    let value = differences.shift(&vec![1; ours.len()], &vec![1; baseline.len()])?;
    Some((value, Interval { low, high }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Seed;
    use proptest::prelude::*;

    /// Hollander and Wolfe's example 4.1, as R's wilcox.test(…, conf.int = TRUE) prints it for the
    /// data of its own help page: −0.305 with −0.76 … 0.15.
    #[test]
    fn the_textbook_example() {
        let at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let weeks_12_to_26 = [1.15, 0.88, 0.90, 0.74, 1.21];
        let (value, interval) = shift(&weeks_12_to_26, &at_term).unwrap();
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        near(value, -0.305);
        near(interval.low, -0.76);
        near(interval.high, 0.15);
    }

    /// Mann and Whitney's table, two-sided 5 %: the critical U is 5 for 6 and 6, 13 for 8 and 8, 8
    /// for 5 and 10; there is none for 3 and 3.
    #[test]
    fn the_printed_critical_values() {
        let count = |m, n| sums_within(m, n, TAIL);
        assert_eq!([count(6, 6), count(8, 8), count(5, 10), count(4, 4)], [6, 14, 9, 1]);
        assert_eq!([count(3, 3), count(1, 30), count(0, 5)], [0, 0, 0]);
        assert_eq!(shift(&[1.0, 2.0, 3.0], &[7.0, 8.0, 9.0]), None);
    }

    #[test]
    fn many_trials_are_counted_without_a_jump() {
        let (exact, near) = (sums_within(30, 30, TAIL), sums_within(30, 31, TAIL));
        assert!(exact < near && near <= exact + 20, "{exact} {near}");
    }

    /// How often the interval of two equal populations lies above 0, and how often it contains 0.
    fn alike(trials: usize, experiments: u32) -> (f64, f64) {
        let mut seed = Seed(5);
        let mut sample = || (0..trials).map(|_| seed.below(1 << 40) as f64).collect::<Vec<_>>();
        let (mut above, mut held) = (0, 0);
        for _ in 0..experiments {
            let (_, interval) = shift(&sample(), &sample()).unwrap();
            above += u32::from(interval.low > 0.0);
            held += u32::from(interval.low <= 0.0 && 0.0 <= interval.high);
        }
        (f64::from(above) / f64::from(experiments), f64::from(held) / f64::from(experiments))
    }

    #[test]
    fn it_keeps_its_promise() {
        for trials in [4, 6, 8, 12] {
            let (above, held) = alike(trials, 4_000);
            assert!(above <= 0.027 && held >= 0.947, "{trials}: {above} {held}");
        }
    }

    proptest! {
        #[test]
        fn holds_its_shift_and_changes_sign_with_the_sides(
            a in prop::collection::vec(-1e6..1e6f64, 4..12),
            b in prop::collection::vec(-1e6..1e6f64, 4..12),
        ) {
            let (value, ends) = shift(&a, &b).unwrap();
            let (back, mirrored) = shift(&b, &a).unwrap();
            prop_assert!(ends.low <= value && value <= ends.high);
            prop_assert!((value + back).abs() < 1e-6);
            prop_assert_eq!((ends.low, ends.high), (-mirrored.high, -mirrored.low));
        }
    }
}
