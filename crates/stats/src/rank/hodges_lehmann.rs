// SPDX-License-Identifier: GPL-2.0-only
//! The Hodges–Lehmann shift: the median of all differences between a value of one sample and a
//! value of the other. It needs no distribution, resists outliers, and is the shift that belongs to
//! the Mann–Whitney test (Hodges and Lehmann, "Estimates of location based on rank tests", Annals
//! of Mathematical Statistics 34(2), 1963).

use crate::number::median::Ranks;
use crate::resample::batched_medians::{Drawn, LANES, medians_of_pairs};

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
    /// weight. It is [`weighted`](crate::number::median::weighted) of all differences.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::median::median;
    use model::Seed;
    use proptest::prelude::*;

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
}
