// SPDX-License-Identifier: GPL-2.0-only
//! Permutation tests of paired runs: contestant and baseline met the same block, and if there were
//! no difference, either could have had either's number. So every difference may change its sign.
//!
//! [`sign_flip`] asks the sum of the differences (Fisher, "The Design of Experiments", 1935,
//! section 21), [`signed_rank`] the sum of their ranks, which no single block can decide (Wilcoxon,
//! "Individual comparisons by ranking methods", Biometrics Bulletin 1(6), 1945; differences of 0
//! keep their rank and count for neither side, Pratt 1959). With n blocks the smallest two-sided p
//! value of either is 2 of 2ⁿ: six blocks are the fewest that can reach 5 %.

use model::Seed;

use crate::rank::rank_sum::Tails;

/// Up to so many differences every choice of signs is looked at.
pub const EXACT_DIFFERENCES: usize = 20;

/// Beyond, so many choices are drawn.
const DRAWS: u64 = 99_999;

/// The tails of the sum of differences ours − baseline, one for each block; exact up to
/// [`EXACT_DIFFERENCES`], else (hits + 1) of (draws + 1) with the given seed (Davison and Hinkley
/// 1997, section 4.2.1). `None` without differences.
pub fn sign_flip(differences: &[f64], mut seed: Seed) -> Option<Tails> {
    let n = differences.len();
    let sum: f64 = differences.iter().sum();
    // Sums that differ by rounding alone are the same choice of signs seen twice.
    let slack = 1e-12 * differences.iter().map(|d| d.abs()).sum::<f64>();
    let with_signs = |signs: &dyn Fn(usize) -> bool| -> f64 {
        differences.iter().enumerate().map(|(at, d)| if signs(at) { *d } else { -d }).sum()
    };
    let (mut below, mut above) = (0u64, 0u64);
    let mut count = |flipped: f64| {
        below += u64::from(flipped <= sum + slack);
        above += u64::from(flipped >= sum - slack);
    };
    let all = if n <= EXACT_DIFFERENCES {
        (0u64..1 << n).for_each(|set| count(with_signs(&|at| set >> at & 1 == 1)));
        1 << n
    } else {
        count(sum);
        (0..DRAWS).for_each(|_| {
            let bits: Vec<u64> = (0..n.div_ceil(64)).map(|_| seed.next_u64()).collect();
            count(with_signs(&|at| bits[at / 64] >> (at % 64) & 1 == 1));
        });
        DRAWS + 1
    };
    let part = |hits: u64| hits as f64 / all as f64;
    (n > 0).then(|| Tails { below: part(below), above: part(above) })
}

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

/// How many of the smallest sums chance gives so many pairs in at most `tail` of cases, where no
/// two differences are equally large: from 0 on.
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

    /// Fisher's own example, Darwin's maize: of 32,768 choices of signs 863 give a sum as far
    /// above as the observed 314 eighths of an inch (he counts 835 above and 28 equal).
    #[test]
    fn darwins_maize() {
        let maize = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48].map(f64::from);
        let tails = sign_flip(&maize, Seed(1)).unwrap();
        assert!((tails.above - 863.0 / 32_768.0).abs() < 1e-15, "{}", tails.above * 32_768.0);
    }

    #[test]
    fn six_blocks_on_one_side_are_the_fewest_that_tell() {
        let six = [1.0, 2.0, 0.5, 3.0, 1.5, 2.5];
        let tails = [sign_flip(&six, Seed(1)).unwrap(), signed_rank(&six).unwrap()];
        assert!(tails.iter().all(|tails| (tails.two_sided() - 2.0 / 64.0).abs() < 1e-15));
        assert_eq!((sign_flip(&[], Seed(1)), signed_rank(&[0.0, 0.0])), (None, None));
    }

    /// Tables of the signed-rank test: of ten pairs a sum of 8 is the largest with 2.5 % below, of
    /// six pairs 0, and five pairs have none.
    #[test]
    fn tables_are_met() {
        assert_eq!([5, 6, 10, 20].map(|pairs| signed_within(pairs, 0.025)), [0, 1, 9, 53]);
    }

    #[test]
    fn drawing_is_near_enumeration() {
        let few: Vec<f64> = (0..20).map(|i| f64::from(i * i % 23) - 8.0).collect();
        let exact = sign_flip(&few, Seed(1)).unwrap();
        // A difference of 0 changes no sum, and makes one too many to enumerate.
        let more: Vec<f64> = few.iter().copied().chain([0.0]).collect();
        let drawn = sign_flip(&more, Seed(2)).unwrap();
        assert!((exact.above - drawn.above).abs() < 0.01, "{exact:?} {drawn:?}");
    }

    proptest! {
        #[test]
        fn signs_exchange_the_tails(values in prop::collection::vec(-9..9i32, 1..10)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let turned: Vec<f64> = values.iter().map(|value| -value).collect();
            let (one, other) = (sign_flip(&values, Seed(1)), sign_flip(&turned, Seed(1)));
            prop_assert_eq!(one.unwrap().below, other.unwrap().above);
            if let (Some(one), Some(other)) = (signed_rank(&values), signed_rank(&turned)) {
                prop_assert!((one.below - other.above).abs() < 1e-12);
            }
        }
    }
}
