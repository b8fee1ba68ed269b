// SPDX-License-Identifier: GPL-2.0-only
//! The exact rank-sum test: the probability that chance alone separates two samples this far.
//!
//! If only chance decided which trial belongs to which sample, every choice of that many trials
//! would be equally likely. The test counts the choices whose ranks sum to as little, or as much,
//! as ours (Mann and Whitney, "On a Test of Whether one of Two Random Variables is Stochastically
//! Larger than the Other", Annals of Mathematical Statistics 18(1), 1947). Equal values share the
//! mean of their ranks, and the count respects that, so the p value is exact with ties too. It
//! counts by adding one trial at a time, not by enumeration.
//!
//! The interval of the Hodges–Lehmann shift by the exact rank-sum test: all shifts that the test
//! does not reject.
//!
//! Of the m·n differences in ascending order it runs from the k-th smallest to the k-th largest,
//! where k is how many values of Mann and Whitney's U, from 0 on, have together a probability of at
//! most 2.5 % (Moses's method; Hollander and Wolfe, "Nonparametric Statistical Methods", 2nd
//! edition 1999, section 4.3). It needs no distribution and no resampling, and keeps its coverage
//! with few trials; ties only make it wider. With fewer than four trials of each contestant there
//! is none.
//!
//! Holm's correction: many comparisons, and still at most 5 % chance of even one false claim.
//!
//! The smallest of m p values is multiplied by m, the next by m − 1, and so on, never falling
//! (Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
//! Statistics 6(2), 1979). It needs no independence, and is never weaker than Bonferroni.

use crate::number::distributions::normal_below;
use crate::number::interval::Interval;
use crate::rank::selection::{PairTable, Table};

/// Up to this many trials on both sides together the p value is exact; beyond, it is normal with
/// corrections for ties and continuity. There the two differ by less than 0.001.
const EXACT_TRIALS: usize = 60;

/// One-sided p values, each 0 … 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tails {
    /// The chance of a rank sum as low as ours, or lower.
    pub below: f64,
    /// The chance of a rank sum as high as ours, or higher.
    pub above: f64,
}

impl Tails {
    /// The two-sided p value: twice the smaller tail.
    pub fn two_sided(self) -> f64 {
        (2.0 * self.below.min(self.above)).min(1.0)
    }
}

/// The tails for independent trials of two sides; `None` if a sample is empty.
pub fn rank_sum(ours: &[f64], baseline: &[f64]) -> Option<Tails> {
    if ours.is_empty() || baseline.is_empty() {
        return None;
    }
    let ranks = doubled_ranks(&[ours, baseline].concat());
    let sum: usize = ranks[..ours.len()].iter().sum();
    if ranks.len() > EXACT_TRIALS {
        return Some(approximate(&ranks, ours.len(), sum));
    }
    Some(exact(&ranks, ours.len()))
}

/// By counting. Without ties every doubled rank is even, so half of the sums need no memory.
fn exact(ranks: &[usize], ours: usize) -> Tails {
    let unit = if ranks.iter().all(|rank| rank % 2 == 0) { 2 } else { 1 };
    let ranks: Vec<usize> = ranks.iter().map(|rank| rank / unit).collect();
    tails(&choices(&ranks, ours), ranks[..ours].iter().sum())
}

/// The smallest two-sided p value that this many trials can give: all of one side below the other.
pub fn smallest(ours: usize, baseline: usize) -> f64 {
    let ways: f64 = (1..=ours).map(|k| (baseline + k) as f64 / k as f64).product();
    (2.0 / ways).min(1.0)
}

/// How many of the smallest values of Mann and Whitney's U, from 0 on, have a total probability of
/// at most `tail`, without ties.
pub fn sums_within(ours: usize, baseline: usize, tail: f64) -> usize {
    let trials = ours + baseline;
    if trials > EXACT_TRIALS {
        let mean = ours as f64 * baseline as f64 / 2.0;
        let deviation = (mean * (trials as f64 + 1.0) / 6.0).sqrt();
        let is_within = |u: usize| normal_below((u as f64 + 0.5 - mean) / deviation) <= tail;
        return how_many(mean as usize + 1, is_within);
    }
    let ranks: Vec<usize> = (1..=trials).collect();
    let ways = choices(&ranks, ours);
    let (all, mut sum) = (ways.iter().sum::<f64>(), 0.0);
    let smallest = ours * (ours + 1) / 2;
    let within = ways.get(smallest..).unwrap_or_default().iter().take_while(|&&ways| {
        sum += ways;
        sum / all <= tail
    });
    within.count()
}

/// For how many of the first numbers, from 0 on, something holds that holds for no number after one
/// for which it does not.
pub(crate) fn how_many(numbers: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, numbers);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Twice the rank of every value among all, which is an integer: equal values share the mean.
pub fn doubled_ranks(values: &[f64]) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = |value: &f64| {
        let lower = sorted.partition_point(|other| other < value);
        let not_higher = sorted.partition_point(|other| other <= value);
        lower + not_higher + 1
    };
    values.iter().map(rank).collect()
}

/// How many choices of `chosen` of the ranks have each sum.
fn choices(ranks: &[usize], chosen: usize) -> Vec<f64> {
    let most = largest_sum(ranks, chosen);
    let mut ways = vec![vec![0.0; most + 1]; chosen + 1];
    ways[0][0] = 1.0;
    for (index, &rank) in ranks.iter().enumerate() {
        // Later choices must provide the rest.
        let left = ranks.len() - index - 1;
        let least = chosen.saturating_sub(left).max(1);
        for taken in (least..=chosen.min(index + 1)).rev() {
            let (fewer, these) = ways.split_at_mut(taken);
            let (from, to) = (&fewer[taken - 1], &mut these[0][rank..]);
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        }
    }
    ways.pop().unwrap_or_default()
}

fn largest_sum(ranks: &[usize], chosen: usize) -> usize {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    sorted[ranks.len() - chosen..].iter().sum()
}

fn tails(ways: &[f64], sum: usize) -> Tails {
    let all: f64 = ways.iter().sum();
    let below = ways[..=sum].iter().sum::<f64>() / all;
    Tails { below, above: ways[sum..].iter().sum::<f64>() / all }
}

/// The normal approximation, in undoubled ranks: mean n(N + 1)/2, variance corrected for ties.
fn approximate(ranks: &[usize], ours: usize, sum: usize) -> Tails {
    let (n, all) = (ours as f64, ranks.len() as f64);
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    let ties =
        sorted.chunk_by(|a, b| a == b).map(|tie| (tie.len() as f64).powi(3) - tie.len() as f64);
    let corrected = all + 1.0 - ties.sum::<f64>() / (all * (all - 1.0));
    let deviation = (n * (all - n) / 12.0 * corrected).sqrt();
    let distance = sum as f64 / 2.0 - n * (all + 1.0) / 2.0;
    if deviation == 0.0 {
        return Tails { below: 1.0, above: 1.0 };
    }
    let tail = |distance: f64| normal_below((distance + 0.5) / deviation);
    Tails { below: tail(distance), above: tail(-distance) }
}

/// The probability that is left out on each side.
const TAIL: f64 = 0.025;

/// The shift from the baseline to ours with its 95 % interval, in the values' unit; `None` with too
/// few values.
pub fn shift(ours: &[f64], baseline: &[f64]) -> Option<(f64, Interval)> {
    let differences = PairTable::new(ours, baseline);
    let rank = sums_within(ours.len(), baseline.len(), TAIL) as u64;
    let (low, high) = differences.of_rank_from_both_ends(rank)?;
    Some((differences.median()?, Interval { low, high }))
}

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
    use model::Seed;
    use proptest::prelude::*;

    use super::*;

    /// Mann and Whitney's table: for n = m = 4, P(U = 0) is 1 of 70.
    #[test]
    fn complete_separation_is_the_rarest() {
        let tails = rank_sum(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]).unwrap();
        assert!((tails.below - 1.0 / 70.0).abs() < 1e-15 && (tails.above - 1.0).abs() < 1e-15);
        assert!((tails.two_sided() - smallest(4, 4)).abs() < 1e-15);
        assert_eq!(rank_sum(&[], &[1.0]), None);
    }

    #[test]
    fn equal_values_are_no_evidence() {
        assert_eq!(rank_sum(&[5.0; 6], &[5.0; 6]).unwrap().two_sided(), 1.0);
        assert_eq!(rank_sum(&[5.0; 40], &[5.0; 40]).unwrap().two_sided(), 1.0);
    }

    #[test]
    fn the_approximation_takes_over_without_a_jump() {
        let ours: Vec<f64> = (0..30).map(|i| f64::from(i) + 5.3).collect();
        let base: Vec<f64> = (0..30).map(f64::from).collect();
        let ranks = doubled_ranks(&[ours.as_slice(), &base].concat());
        let sum = ranks[..30].iter().sum();
        let (exact, near) = (tails(&choices(&ranks, 30), sum), approximate(&ranks, 30, sum));
        assert!((exact.above - near.above).abs() < 1e-3, "{exact:?} {near:?}");
    }

    fn sample() -> impl Strategy<Value = Vec<f64>> {
        // Few different values, so that there are ties.
        prop::collection::vec((0..8i32).prop_map(f64::from), 1..7)
    }

    /// The definition: every choice of this many positions, one by one.
    fn enumerated(ours: &[f64], base: &[f64]) -> Tails {
        let ranks = doubled_ranks(&[ours, base].concat());
        let sum: usize = ranks[..ours.len()].iter().sum();
        let sums = (0u32..1 << ranks.len())
            .filter(|set| set.count_ones() as usize == ours.len())
            .map(|set| {
                (0..ranks.len()).filter(|at| set >> at & 1 == 1).map(|at| ranks[at]).sum::<usize>()
            });
        let sums: Vec<usize> = sums.collect();
        let part = |holds: &dyn Fn(&usize) -> bool| {
            sums.iter().filter(|sum| holds(sum)).count() as f64 / sums.len() as f64
        };
        Tails { below: part(&|other| *other <= sum), above: part(&|other| *other >= sum) }
    }

    proptest! {
        #[test]
        fn counts_as_enumeration_does(a in sample(), b in sample()) {
            let (counted, slow) = (rank_sum(&a, &b).unwrap(), enumerated(&a, &b));
            prop_assert!((counted.below - slow.below).abs() < 1e-12, "{:?} {:?}", counted, slow);
            prop_assert!((counted.above - slow.above).abs() < 1e-12);
        }

        #[test]
        fn sides_exchange_their_tails(a in sample(), b in sample()) {
            let (one, other) = (rank_sum(&a, &b).unwrap(), rank_sum(&b, &a).unwrap());
            prop_assert!((one.below - other.above).abs() < 1e-12);
        }
    }

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
