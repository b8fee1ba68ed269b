// SPDX-License-Identifier: GPL-2.0-only
//! The signed-rank test of matched pairs: without a real difference, each number of a pair could be
//! the other's, so the sign of every difference is random.
//!
//! The statistic is the sum of the ranks of positive differences, which no single block can decide
//! (Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1(6), 1945;
//! differences of 0 keep their rank and count on neither side, Pratt 1959). With n blocks the
//! smallest two-sided p value is 2 of 2ⁿ: six blocks are the fewest that can reach 5 %.

use crate::number::distributions::normal_below;
use crate::rank::rank_sum::{Tails, how_many};

/// Up to this many pairs the p value is exact. Beyond, where counting takes too long, it is normal
/// with a correction for continuity, and ties and zeros are in its variance. There the two differ
/// by less than 0.001.
const EXACT_PAIRS: usize = 200;

/// The tails of the sum of the ranks of positive differences; `None` when all are 0.
pub fn signed_rank(differences: &[f64]) -> Option<Tails> {
    let ranks: Vec<(usize, bool)> = doubled_ranks(differences);
    if ranks.is_empty() {
        return None;
    }
    let sum: usize = ranks.iter().filter(|(_, up)| *up).map(|(rank, _)| rank).sum();
    if ranks.len() > EXACT_PAIRS {
        return Some(approximate(&ranks, sum));
    }
    let chance = chances(ranks.into_iter().map(|(rank, _)| rank));
    Some(Tails { below: chance[..=sum].iter().sum(), above: chance[sum..].iter().sum() })
}

/// How many of the smallest sums, from 0 on, have a total probability of at most `tail` for this
/// many pairs, without ties.
pub fn signed_within(pairs: usize, tail: f64) -> usize {
    if pairs > EXACT_PAIRS {
        return within_of_many(pairs as f64, tail);
    }
    let mut sum = 0.0;
    let within = chances(1..=pairs).into_iter().take_while(|chance| {
        sum += chance;
        sum <= tail
    });
    within.count()
}

/// The tails of many pairs. A doubled rank counts or not, each with one half, so it adds half of
/// itself to the mean of the sum and a quarter of its square to the variance.
fn approximate(ranks: &[(usize, bool)], sum: usize) -> Tails {
    let mean: f64 = ranks.iter().map(|(rank, _)| *rank as f64 / 2.0).sum();
    let variance: f64 = ranks.iter().map(|(rank, _)| (*rank as f64).powi(2) / 4.0).sum();
    // Half of a rank, which is doubled.
    let below = |sum: f64| normal_below((sum + 1.0) / variance.sqrt());
    let from_mean = sum as f64 - mean;
    Tails { below: below(from_mean), above: below(-from_mean) }
}

fn within_of_many(pairs: f64, tail: f64) -> usize {
    let mean = pairs * (pairs + 1.0) / 4.0;
    let deviation = (mean * (2.0 * pairs + 1.0) / 6.0).sqrt();
    let is_within = |sum: usize| normal_below((sum as f64 + 0.5 - mean) / deviation) <= tail;
    how_many(mean as usize + 1, is_within)
}

/// The chance of each sum of those ranks that are positive, where each is with one half.
fn chances(ranks: impl Iterator<Item = usize> + Clone) -> Vec<f64> {
    let most: usize = ranks.clone().sum();
    let mut chance = vec![0.0; most + 1];
    chance[0] = 1.0;
    for rank in ranks {
        for at in (0..=most).rev() {
            let with = if at >= rank { chance[at - rank] } else { 0.0 };
            chance[at] = f64::midpoint(chance[at], with);
        }
    }
    chance
}

/// Twice the rank of every difference's size, and whether it is positive; zeros left out after
/// ranking.
fn doubled_ranks(differences: &[f64]) -> Vec<(usize, bool)> {
    let mut sizes: Vec<f64> = differences.iter().map(|difference| difference.abs()).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    let rank = |value: f64| {
        let lower = sizes.partition_point(|size| *size < value.abs());
        let not_higher = sizes.partition_point(|size| *size <= value.abs());
        lower + not_higher + 1
    };
    differences.iter().filter(|d| **d != 0.0).map(|&d| (rank(d), d > 0.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn six_blocks_on_one_side_are_the_fewest_that_tell() {
        let six = [1.0, 2.0, 0.5, 3.0, 1.5, 2.5];
        let tails = signed_rank(&six).unwrap();
        assert!((tails.two_sided() - 2.0 / 64.0).abs() < 1e-15);
        assert_eq!((signed_rank(&[]), signed_rank(&[0.0, 0.0])), (None, None));
    }

    /// Tables of the signed-rank test: of ten pairs a sum of 8 is the largest with 2.5 % below, of
    /// six pairs 0, and five pairs have none.
    #[test]
    fn tables_are_met() {
        assert_eq!([5, 6, 10, 20].map(|pairs| signed_within(pairs, 0.025)), [0, 1, 9, 53]);
    }

    /// The differences of 200 pairs, the last ones that are counted, with 27 ties and two zeros.
    fn many() -> Vec<f64> {
        (0..EXACT_PAIRS).map(|at| ((at * 37 + 11) % 173) as f64 - 70.0).collect()
    }

    #[test]
    fn counting_and_the_normal_distribution_meet() {
        for moved in 0..30 {
            let differences: Vec<f64> =
                many().iter().map(|value| value - f64::from(moved)).collect();
            let counted = signed_rank(&differences).unwrap();
            let ranks = doubled_ranks(&differences);
            let sum = ranks.iter().filter(|(_, up)| *up).map(|(rank, _)| rank).sum();
            let quick = approximate(&ranks, sum);
            assert!((counted.below - quick.below).abs() < 1e-3, "{counted:?} {quick:?}");
            assert!((counted.above - quick.above).abs() < 1e-3, "{counted:?} {quick:?}");
        }
        let exact = signed_within(EXACT_PAIRS, 0.025);
        let quick = within_of_many(EXACT_PAIRS as f64, 0.025);
        assert!(exact.abs_diff(quick) <= 3, "{exact} {quick} of 20100 averages");
    }

    #[test]
    fn more_blocks_than_can_be_counted_have_a_p_value() {
        let up: Vec<f64> = (1..=20_000).map(|at| if at % 2 == 0 { 1.0 } else { -0.99 }).collect();
        let tails = signed_rank(&up).unwrap();
        assert!(tails.above < 1e-9 && tails.below > 0.999, "{tails:?}");
    }

    proptest! {
        #[test]
        fn signs_exchange_the_tails(values in prop::collection::vec(-9..9i32, 1..10)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let turned: Vec<f64> = values.iter().map(|value| -value).collect();
            if let (Some(one), Some(other)) = (signed_rank(&values), signed_rank(&turned)) {
                prop_assert!((one.below - other.above).abs() < 1e-12);
            }
        }
    }
}
