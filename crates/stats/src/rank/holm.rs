// SPDX-License-Identifier: GPL-2.0-only
//! Holm's correction: many comparisons, and still at most 5 % chance of even one false claim.
//!
//! The smallest of m p values is multiplied by m, the next by m − 1, and so on, never falling
//! (Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
//! Statistics 6(2), 1979). It needs no independence, and is never weaker than Bonferroni.

use crate::rank::rank_sum::smallest;

/// The chance of a false claim in a family.
pub const ALPHA: f64 = 0.05;

/// The adjusted p values, in the order of the raw ones.
pub fn adjust(raw: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..raw.len()).collect();
    order.sort_by(|&a, &b| raw[a].total_cmp(&raw[b]));
    let (mut adjusted, mut highest) = (vec![0.0; raw.len()], 0.0f64);
    for (place, at) in order.into_iter().enumerate() {
        highest = highest.max(raw[at] * (raw.len() - place) as f64).min(1.0);
        adjusted[at] = highest;
    }
    adjusted
}

/// How many independent trials of each contestant a family of this many comparisons needs before
/// the exact rank-sum test can claim anything in it: 4 for one comparison, 6 for 23, 7 for 85, 10
/// for 4,618.
pub fn units_needed(comparisons: usize) -> usize {
    (1..).find(|&trials| can_claim(trials, trials, comparisons)).unwrap_or(usize::MAX)
}

/// Whether any claim is possible with this many independent trials of either side.
pub fn can_claim(ours: usize, baseline: usize, comparisons: usize) -> bool {
    smallest(ours, baseline) * comparisons as f64 <= ALPHA
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_case_by_hand() {
        let adjusted = adjust(&[0.01, 0.04, 0.03, 0.005]);
        let by_hand = [0.03, 0.06, 0.06, 0.02];
        assert!(adjusted.iter().zip(by_hand).all(|(a, b)| (a - b).abs() < 1e-15), "{adjusted:?}");
        assert_eq!(adjust(&[]), Vec::<f64>::new());
        assert_eq!(adjust(&[0.9, 0.8]), [1.0, 1.0]);
    }

    #[test]
    fn larger_families_need_more_trials() {
        assert_eq!([1, 23, 24, 85, 321, 4_618].map(units_needed), [4, 6, 7, 7, 8, 10]);
    }

    proptest! {
        #[test]
        fn lies_between_raw_and_bonferroni(raw in prop::collection::vec(0.0..1.0f64, 1..30)) {
            let count = raw.len() as f64;
            for (adjusted, raw) in adjust(&raw).iter().zip(&raw) {
                prop_assert!(raw <= adjusted && *adjusted <= (raw * count).min(1.0) + 1e-15);
            }
        }

        #[test]
        fn keeps_the_order(raw in prop::collection::vec(0.0..1.0f64, 2..30)) {
            let adjusted = adjust(&raw);
            for (a, x) in raw.iter().zip(&adjusted) {
                for (b, y) in raw.iter().zip(&adjusted) {
                    prop_assert!(a > b || x <= y);
                }
            }
        }
    }
}
