// SPDX-License-Identifier: GPL-2.0-only
//! The exact rank-sum test: the probability that chance alone separates two samples this far.
//!
//! If only chance decided which trial belongs to which sample, every choice of that many trials
//! would be equally likely. The test counts the choices whose ranks sum to as little, or as much,
//! as ours (Mann and Whitney, "On a Test of Whether one of Two Random Variables is Stochastically
//! Larger than the Other", Annals of Mathematical Statistics 18(1), 1947). Equal values share the
//! mean of their ranks, and the count respects that, so the p value is exact with ties too. It
//! counts by adding one trial at a time, not by enumeration.

use crate::number::distributions::normal_below;

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
        return (0..=mean as usize)
            .take_while(|&u| normal_below((u as f64 + 0.5 - mean) / deviation) <= tail)
            .count();
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

/// Twice the rank of every value among all, which is an integer: equal values share the mean.
pub fn doubled_ranks(values: &[f64]) -> Vec<usize> {
    let rank = |value: &f64| {
        let lower = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        2 * lower + equal + 1
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
}
