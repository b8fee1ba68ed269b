// SPDX-License-Identifier: GPL-2.0-only
//! The signed-rank test of matched pairs: without a real difference, each number of a pair could be
//! the other's, so the sign of every difference is random.
//!
//! The statistic is the sum of the ranks of positive differences, which no single block can decide
//! (Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1(6), 1945;
//! differences of 0 keep their rank and count on neither side, Pratt 1959). With n blocks the
//! smallest two-sided p value is 2 of 2ⁿ: six blocks are the fewest that can reach 5 %.

use crate::rank::rank_sum::Tails;

/// The exact tails of the sum of the ranks of positive differences; `None` when all are 0.
pub fn signed_rank(differences: &[f64]) -> Option<Tails> {
    let ranks: Vec<(usize, bool)> = doubled_ranks(differences);
    if ranks.is_empty() {
        return None;
    }
    let sum: usize = ranks.iter().filter(|(_, up)| *up).map(|(rank, _)| rank).sum();
    let chance = chances(ranks.into_iter().map(|(rank, _)| rank));
    Some(Tails { below: chance[..=sum].iter().sum(), above: chance[sum..].iter().sum() })
}

/// How many of the smallest sums, from 0 on, have a total probability of at most `tail` for this
/// many pairs, without ties.
pub fn signed_within(pairs: usize, tail: f64) -> usize {
    let mut sum = 0.0;
    let within = chances(1..=pairs).into_iter().take_while(|chance| {
        sum += chance;
        sum <= tail
    });
    within.count()
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
    let rank = |value: f64| {
        let lower = differences.iter().filter(|other| other.abs() < value.abs()).count();
        let equal = differences.iter().filter(|other| other.abs() == value.abs()).count();
        2 * lower + equal + 1
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
