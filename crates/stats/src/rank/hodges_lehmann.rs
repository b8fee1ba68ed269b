// SPDX-License-Identifier: GPL-2.0-only
//! The Hodges–Lehmann shift: the median of all differences between a value of one sample and a
//! value of the other. It needs no distribution, resists outliers, and is the shift that belongs to
//! the Mann–Whitney test (Hodges and Lehmann, "Estimates of location based on rank tests", Annals
//! of Mathematical Statistics 34(2), 1963).
//!
//! The signed-rank test of matched pairs: without a real difference, each number of a pair could be
//! the other's, so the sign of every difference is random.
//!
//! The statistic is the sum of the ranks of positive differences, which no single block can decide
//! (Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1(6), 1945;
//! differences of 0 keep their rank and count on neither side, Pratt 1959). With n blocks the
//! smallest two-sided p value is 2 of 2ⁿ: six blocks are the fewest that can reach 5 %.

use crate::number::distributions::normal_below;
use crate::number::quantile::Ranks;
use crate::rank::rank_sum::{Tails, how_many};
use crate::resample::{Drawn, LANES, medians_of_pairs};

/// Batches are used up to this many differences, which is 32 trials on each side.
const FEW: usize = 1_024;

/// All differences `ours − baseline` in ascending order, each with the two trials that it comes
/// from.
///
/// A resample gives every trial a weight, and the median of the weighted differences is looked for
/// thousands of times. It is always near the middle of the unweighted ones; so how much weight lies
/// below that middle is found from a small table, and only the steps from there are walked.
pub struct Differences {
    values: Vec<f64>,
    pairs: Vec<(u32, u32)>,
    /// The baseline's trials from the largest value to the smallest: a trial of ours has its
    /// smallest difference from the first.
    descending: Vec<u32>,
    /// Our trials, each with how many of its differences are in the lower half of all; fewest
    /// first.
    lower_half: Vec<(u32, u32)>,
}

impl Differences {
    /// Every pair of a value of ours and one of the baseline.
    pub fn new(ours: &[f64], baseline: &[f64]) -> Differences {
        let mut descending: Vec<u32> = (0..baseline.len() as u32).collect();
        descending.sort_by(|&a, &b| baseline[b as usize].total_cmp(&baseline[a as usize]));
        let mut sorted = Vec::with_capacity(ours.len() * baseline.len());
        for (i, a) in ours.iter().enumerate() {
            let difference_of =
                |(place, &j): (usize, &u32)| (a - baseline[j as usize], i as u32, place as u32);
            sorted.extend(descending.iter().enumerate().map(difference_of));
        }
        // Equal differences of one trial keep the order of the table.
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let mut lower_half: Vec<(u32, u32)> = (0..ours.len() as u32).map(|i| (i, 0)).collect();
        sorted[..sorted.len() / 2].iter().for_each(|&(_, i, _)| lower_half[i as usize].1 += 1);
        lower_half.sort_unstable_by_key(|&(_, many)| many);
        let pair = |&(_, i, place): &(f64, u32, u32)| (i, descending[place as usize]);
        Differences {
            values: sorted.iter().map(|&(value, _, _)| value).collect(),
            pairs: sorted.iter().map(pair).collect(),
            descending,
            lower_half,
        }
    }

    /// Whether all differences are equal, so that weights do not matter.
    pub fn are_equal(&self) -> bool {
        let ends = self.values.first().zip(self.values.last());
        ends.is_none_or(|(low, high)| low.total_cmp(high).is_eq())
    }

    /// The shift when every trial counts as often as the weights say; `None` if a sample has no
    /// weight. It is [`weighted`](crate::number::quantile::weighted) of all differences.
    pub fn shift(&self, ours: &[u32], baseline: &[u32]) -> Option<f64> {
        let sum = |weights: &[u32]| weights.iter().map(|&w| u64::from(w)).sum::<u64>();
        let ranks = Ranks::new(sum(ours) * sum(baseline))?;
        let weight = |at: usize| {
            let (i, j) = self.pairs[at];
            u64::from(ours[i as usize]) * u64::from(baseline[j as usize])
        };
        let (mut at, mut seen) = (self.values.len() / 2, self.weight_below_middle(ours, baseline));
        while seen >= ranks.low {
            at -= 1;
            seen -= weight(at);
        }
        let mut until = |rank: u64| {
            while seen < rank {
                seen += weight(at);
                at += 1;
            }
            self.values[at - 1]
        };
        let (low, high) = (until(ranks.low), until(ranks.high));
        Some(low + (high - low) / 2.0)
    }

    /// Whether there are few enough that walking all of them for many resamples at once is quicker
    /// than walking from the middle for each.
    pub(crate) fn are_few(&self) -> bool {
        self.values.len() <= FEW
    }

    /// The shifts of many resamples at once.
    pub(crate) fn shifts(&self, ours: &Drawn, baseline: &Drawn) -> [f64; LANES] {
        medians_of_pairs(&self.values, &self.pairs, ours, baseline)
    }

    /// The weight of the lower half of all differences.
    fn weight_below_middle(&self, ours: &[u32], baseline: &[u32]) -> u64 {
        let (mut place, mut below, mut sum) = (0, 0, 0);
        for &(i, many) in &self.lower_half {
            for &j in &self.descending[place..many as usize] {
                below += u64::from(baseline[j as usize]);
            }
            place = many as usize;
            sum += u64::from(ours[i as usize]) * below;
        }
        sum
    }
}

/// The shift from the baseline to ours, in the values' unit; `None` when a sample is empty.
#[cfg(test)]
fn shift(ours: &[f64], baseline: &[f64]) -> Option<f64> {
    let differences = Differences::new(ours, baseline);
    differences.shift(&vec![1; ours.len()], &vec![1; baseline.len()])
}

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
    use model::Seed;
    use proptest::prelude::*;

    use super::*;
    use crate::number::quantile::median;

    /// Hollander and Wolfe, "Nonparametric Statistical Methods", 2nd edition 1999, example 4.1 (the
    /// permeability constants of human chorioamnion): the printed shift is −0.305.
    #[test]
    fn the_textbook_example() {
        let at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let weeks_12_to_26 = [1.15, 0.88, 0.90, 0.74, 1.21];
        let estimate = shift(&weeks_12_to_26, &at_term).unwrap();
        assert!((estimate - -0.305).abs() < 1e-12, "{estimate}");
    }

    #[test]
    fn small_cases_by_hand() {
        assert_eq!(shift(&[5.0], &[3.0]), Some(2.0));
        assert_eq!(shift(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), Some(0.0));
        assert_eq!(shift(&[], &[3.0]), None);
        assert_eq!(shift(&[3.0], &[]), None);
    }

    /// Few different values, so that there are ties.
    fn few() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((-4..4i32).prop_map(f64::from), 1..12)
    }

    fn sample() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(-1e6..1e6f64, 1..15)
    }

    proptest! {
        #[test]
        fn is_the_median_of_all_differences(a in sample(), b in sample()) {
            let all: Vec<f64> = a.iter().flat_map(|x| b.iter().map(move |y| x - y)).collect();
            prop_assert_eq!(shift(&a, &b), median(&all));
        }

        #[test]
        fn resamples_have_the_median_of_all_their_differences(
            a in few(), b in few(), start in 0u64..1_000,
        ) {
            let (differences, mut seed) = (Differences::new(&a, &b), Seed(start));
            let mut weights = |n: usize| (0..n).map(|_| seed.below(4) as u32).collect::<Vec<_>>();
            let (w, v) = (weights(a.len()), weights(b.len()));
            let repeat = |values: &[f64], weights: &[u32]| -> Vec<f64> {
                let each = values.iter().zip(weights);
                each.flat_map(|(value, &times)| vec![*value; times as usize]).collect()
            };
            let (a, b) = (repeat(&a, &w), repeat(&b, &v));
            let all: Vec<f64> = a.iter().flat_map(|x| b.iter().map(move |y| x - y)).collect();
            prop_assert_eq!(differences.shift(&w, &v), median(&all));
        }

        #[test]
        fn changes_sign_with_the_sides(a in sample(), b in sample()) {
            prop_assert!((shift(&a, &b).unwrap() + shift(&b, &a).unwrap()).abs() < 1e-6);
        }

        #[test]
        fn finds_a_planted_shift(a in sample(), by in -1e6..1e6f64) {
            let moved: Vec<f64> = a.iter().map(|value| value + by).collect();
            let spread = shift(&a, &a).unwrap();
            prop_assert!((shift(&moved, &a).unwrap() - by - spread).abs() < 1e-6);
        }

        #[test]
        fn weights_are_repetitions(a in sample(), b in sample(), pick in 0usize..15) {
            let pick = pick % a.len();
            let mut weights = vec![1; a.len()];
            weights[pick] = 3;
            let repeated: Vec<f64> = a.iter().copied().chain([a[pick], a[pick]]).collect();
            let weighted = Differences::new(&a, &b).shift(&weights, &vec![1; b.len()]);
            prop_assert_eq!(weighted, shift(&repeated, &b));
        }
    }

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
