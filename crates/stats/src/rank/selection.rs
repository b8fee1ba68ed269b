// SPDX-License-Identifier: GPL-2.0-only
//! One of all differences between two samples, or of all averages of two values of one, by its
//! rank, without a list of them: 50,000 trials of either side have 2.5 · 10⁹ differences.
//!
//! In a table of sorted samples, rows and columns ascend, so how many entries are at most some
//! value is counted in one walk along a staircase (Monahan, "Algorithm 616: fast computation of the
//! Hodges–Lehmann location estimator", ACM Transactions on Mathematical Software 10(3), 1984). The
//! smallest number with as many as the rank is found by bisection over all numbers of 64 bits, so
//! it is the very number that a sorted list would have, after at most 64 walks.
//!
//! The shift of matched pairs: the median of all Walsh averages of their differences, each
//! difference averaged with itself and with every other one.
//!
//! It is Hodges and Lehmann's shift for one sample ("Estimates of location based on rank tests",
//! Annals of Mathematical Statistics 34(2), 1963), and belongs to the signed-rank test (Hollander
//! and Wolfe, "Nonparametric Statistical Methods", 2nd edition 1999, section 3.2). The effect of a
//! block on both trials of a pair cancels out.

use crate::number::interval::{CONFIDENCE, Interval};
use crate::number::quantile::{Ranks, weighted};
use crate::rank::hodges_lehmann::signed_within;
use crate::resample::{Drawn, LANES, MOST_WEIGHT, medians_of_averages};

/// All values of a sorted table, none of which is kept.
pub trait Table {
    /// How many values there are.
    fn entries(&self) -> u64;

    fn at_most(&self, value: f64) -> u64;

    /// The smallest and the largest; `None` without any.
    fn ends(&self) -> Option<(f64, f64)>;

    /// The value of a rank, counted from 1; `None` when there are not this many.
    fn of_rank(&self, rank: u64) -> Option<f64> {
        if rank == 0 || rank > self.entries() {
            return None;
        }
        let (low, high) = self.ends()?;
        let (mut low, mut high) = (place(low), place(high));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at_most(number(middle)) >= rank {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(number(low))
    }

    /// The value of a rank, and that of the same rank from the other end.
    fn of_rank_from_both_ends(&self, rank: u64) -> Option<(f64, f64)> {
        let last = (self.entries() + 1).checked_sub(rank)?;
        Some((self.of_rank(rank)?, self.of_rank(last)?))
    }

    /// The middle of all values; `None` without any.
    fn median(&self) -> Option<f64> {
        let ranks = Ranks::new(self.entries())?;
        let low = self.of_rank(ranks.low)?;
        // Usually equal values are in the middle, or the two differ and the second one is looked
        // for.
        let is_both = self.at_most(low) >= ranks.high;
        let high = if is_both { low } else { self.of_rank(ranks.high)? };
        Some(low + (high - low) / 2.0)
    }
}

/// All differences between a value of ours and one of the baseline.
pub struct PairTable {
    ours: Vec<f64>,
    baseline: Vec<f64>,
}

impl PairTable {
    pub fn new(ours: &[f64], baseline: &[f64]) -> PairTable {
        PairTable { ours: ascending(ours), baseline: ascending(baseline) }
    }
}

impl Table for PairTable {
    fn entries(&self) -> u64 {
        self.ours.len() as u64 * self.baseline.len() as u64
    }

    fn at_most(&self, value: f64) -> u64 {
        let (mut first, mut count) = (0, 0);
        for ours in &self.ours {
            while first < self.baseline.len() && ours - self.baseline[first] > value {
                first += 1;
            }
            count += (self.baseline.len() - first) as u64;
        }
        count
    }

    fn ends(&self) -> Option<(f64, f64)> {
        let low = self.ours.first()? - self.baseline.last()?;
        Some((low, self.ours.last()? - self.baseline.first()?))
    }
}

/// All averages of two values, each with itself and with every other one.
pub struct WalshTable(Vec<f64>);

impl WalshTable {
    pub fn new(values: &[f64]) -> WalshTable {
        WalshTable(ascending(values))
    }
}

impl Table for WalshTable {
    fn entries(&self) -> u64 {
        let count = self.0.len() as u64;
        count * (count + 1) / 2
    }

    fn at_most(&self, value: f64) -> u64 {
        let (mut end, mut count) = (self.0.len(), 0);
        for (index, one) in self.0.iter().enumerate() {
            while end > index && average(*one, self.0[end - 1]) > value {
                end -= 1;
            }
            count += (end - index.min(end)) as u64;
        }
        count
    }

    fn ends(&self) -> Option<(f64, f64)> {
        Some((*self.0.first()?, *self.0.last()?))
    }
}

/// The same in either order, and never less for a larger value: the numbers of records are so much
/// smaller than the largest one that their sum is finite.
pub fn average(one: f64, other: f64) -> f64 {
    (one + other) / 2.0
}

fn ascending(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

const SIGN: u64 = 1 << 63;

/// The place of a number among all of 64 bits, in ascending order.
fn place(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// The inverse of [`place`].
fn number(place: u64) -> f64 {
    f64::from_bits(if place & SIGN == 0 { !place } else { place & !SIGN })
}

/// All averages of two differences, in ascending order, each with the two pairs that it is of.
pub struct Averages {
    values: Vec<f64>,
    pairs: Vec<(u32, u32)>,
}

impl Averages {
    /// The averages of the differences of all pairs.
    pub fn new(differences: &[f64]) -> Averages {
        let mut sorted: Vec<(f64, (u32, u32))> = Vec::new();
        for (j, last) in (0..).zip(differences) {
            let up_to_it = (0..=j).zip(differences);
            sorted.extend(up_to_it.map(|(i, value)| (average(*value, *last), (i, j))));
        }
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (values, pairs) = sorted.into_iter().unzip();
        Averages { values, pairs }
    }

    /// Whether all averages are equal, so that weights do not matter.
    pub fn are_equal(&self) -> bool {
        let ends = self.values.first().zip(self.values.last());
        ends.is_none_or(|(low, high)| low.total_cmp(high).is_eq())
    }

    /// In ascending order.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The shift when every pair counts as often as its weight says; `None` without any.
    pub fn shift(&self, weights: &[u32]) -> Option<f64> {
        let total: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
        let weight = |&(i, j): &(u32, u32)| {
            let (w, v) = (u64::from(weights[i as usize]), u64::from(weights[j as usize]));
            // A pair drawn w times is combined with itself w(w + 1)/2 times.
            if i == j { w * (w + 1) / 2 } else { w * v }
        };
        let each = self.values.iter().copied().zip(self.pairs.iter().map(weight));
        weighted(each, total * (total + 1) / 2)
    }

    /// The exact 95 % interval of the shift of `pairs` pairs: the values that the signed-rank test
    /// does not reject (Tukey's; Hollander and Wolfe 1999, section 3.3); `None` of fewer than six,
    /// which have none.
    pub fn interval(&self, pairs: usize) -> Option<Interval> {
        let rank = rank_of_end(pairs).checked_sub(1)?;
        let low = *self.values.get(rank)?;
        let high = *self.values.get(self.values.len().checked_sub(rank + 1)?)?;
        Some(Interval { low, high })
    }

    /// Whether the averages of this many pairs are few enough for batches of resamples.
    pub(crate) fn are_few(pairs: usize) -> bool {
        pairs * (pairs + 1) / 2 <= MOST_WEIGHT
    }

    /// The shifts of many resamples at once.
    pub(crate) fn shifts(&self, drawn: &Drawn) -> [f64; LANES] {
        medians_of_averages(&self.values, &self.pairs, drawn)
    }
}

/// The rank, counted from 1, of the average that ends the interval of this many pairs; 0: none.
fn rank_of_end(pairs: usize) -> usize {
    signed_within(pairs, (1.0 - CONFIDENCE) / 2.0)
}

/// The shift of so many pairs that their averages are not listed, with its interval: the same
/// numbers; `None` of fewer than six.
pub fn shift_of_many(differences: &[f64]) -> Option<(f64, Interval)> {
    let averages = WalshTable::new(differences);
    let (low, high) = averages.of_rank_from_both_ends(rank_of_end(differences.len()) as u64)?;
    Some((averages.median()?, Interval { low, high }))
}

/// The shift of paired trials, from the differences ours − baseline; `None` without any.
#[cfg(test)]
fn shift(differences: &[f64]) -> Option<f64> {
    Averages::new(differences).shift(&vec![1; differences.len()])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::number::quantile::median;

    /// Values of any size and sign, and a few that are often equal.
    fn sample() -> impl Strategy<Value = Vec<f64>> {
        let any = prop_oneof![-1e30..1e30f64, -1.0..1.0f64, -1e-50..1e-50f64];
        let few = (-3..3i32).prop_map(|value| f64::from(value) / 3.0);
        prop::collection::vec(prop_oneof![any, few], 1..14)
    }

    fn all_ranks(table: &impl Table) -> Vec<f64> {
        (1..=table.entries()).map(|rank| table.of_rank(rank).expect("a value")).collect()
    }

    proptest! {
        #[test]
        fn each_difference_is_the_one_of_the_sorted_list(a in sample(), b in sample()) {
            let list: Vec<f64> = a.iter().flat_map(|x| b.iter().map(move |y| x - y)).collect();
            let table = PairTable::new(&a, &b);
            prop_assert_eq!(all_ranks(&table), ascending(&list));
            prop_assert_eq!(table.median(), median(&list));
            prop_assert_eq!((table.of_rank(0), table.of_rank(table.entries() + 1)), (None, None));
        }

        #[test]
        fn each_average_is_the_one_of_the_sorted_list(a in sample()) {
            let of = |j: usize| a[..=j].iter().map(|x| average(*x, a[j])).collect::<Vec<_>>();
            let list: Vec<f64> = (0..a.len()).flat_map(of).collect();
            let table = WalshTable::new(&a);
            prop_assert_eq!(all_ranks(&table), ascending(&list));
            prop_assert_eq!(table.median(), median(&list));
        }
    }

    #[test]
    fn nothing_has_no_value() {
        assert_eq!(PairTable::new(&[], &[1.0]).median(), None);
        assert_eq!(WalshTable::new(&[]).of_rank_from_both_ends(1), None);
    }

    #[test]
    fn fifty_thousand_trials_of_either_side_are_no_matter() {
        let side = |by: f64| (0..50_000).map(|at| f64::from(at) * by).collect::<Vec<f64>>();
        let table = PairTable::new(&side(2.0), &side(1.0));
        assert_eq!(table.entries(), 2_500_000_000);
        assert_eq!(table.of_rank(1), Some(-49_999.0));
        assert!((table.median().expect("a median") - 25_000.0).abs() < 2.0);
    }

    /// Hollander and Wolfe 1999, example 3.3 (Hamilton's depression scale before and after a
    /// tranquillizer): the estimate is −0.46.
    #[test]
    #[expect(clippy::approx_constant, reason = "3.14 is a score")]
    fn the_depression_scale() {
        let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let differences: Vec<f64> = after.iter().zip(&before).map(|(y, x)| y - x).collect();
        assert!((shift(&differences).unwrap() + 0.46).abs() < 1e-9, "{:?}", shift(&differences));
        assert_eq!(shift(&[]), None);
    }

    /// The same example, 3.5: with 9 pairs 96 % lie between the sixth averages from either end.
    #[test]
    fn the_interval_of_the_depression_scale() {
        let differences = [-0.952, 0.147, -1.022, -0.43, -0.62, -0.59, -0.49, 0.08, -0.01];
        let ends = Averages::new(&differences).interval(9).unwrap();
        assert!((ends.low + 0.786).abs() < 1e-9 && (ends.high + 0.010).abs() < 1e-9, "{ends:?}");
        assert_eq!(Averages::new(&differences[..5]).interval(5), None);
    }

    #[test]
    fn many_pairs_have_the_same_numbers() {
        let differences: Vec<f64> = (0..300).map(|at| f64::from((at * 37) % 101) / 7.0).collect();
        let listed = Averages::new(&differences);
        let (value, ends) = shift_of_many(&differences).unwrap();
        assert_eq!(Some(value), listed.shift(&vec![1; 300]));
        assert_eq!(Some(ends), listed.interval(300));
        assert_eq!(shift_of_many(&differences[..5]), None);
    }

    #[test]
    fn one_wild_block_moves_little() {
        let calm = shift(&[1.0, 1.1, 0.9, 1.2, 0.8, 1.0]).unwrap();
        let wild = shift(&[1.0, 1.1, 0.9, 1.2, 0.8, 1e6]).unwrap();
        assert!((calm - 1.0).abs() < 1e-12 && (wild - calm).abs() < 0.2, "{calm} {wild}");
    }

    proptest! {
        #[test]
        fn weights_are_repetitions(
            pairs in prop::collection::vec((-50..50i32, 0..4u32), 1..9),
        ) {
            let differences: Vec<f64> = pairs.iter().map(|pair| f64::from(pair.0)).collect();
            let weights: Vec<u32> = pairs.iter().map(|pair| pair.1).collect();
            let times = |(value, weight): (&f64, &u32)| vec![*value; *weight as usize];
            let drawn: Vec<f64> = differences.iter().zip(&weights).flat_map(times).collect();
            let averages = (0..drawn.len())
                .flat_map(|j| (0..=j).map(move |i| (i, j)))
                .map(|(i, j)| f64::midpoint(drawn[i], drawn[j]))
                .collect::<Vec<f64>>();
            prop_assert_eq!(Averages::new(&differences).shift(&weights), median(&averages));
        }

        #[test]
        fn a_block_that_is_slow_for_both_changes_nothing(
            pairs in prop::collection::vec((-50..50i32, -50..50i32), 1..9), by in -1e6..1e6f64,
        ) {
            let differences = |by: f64| -> Vec<f64> {
                pairs.iter().map(|&(a, b)| (f64::from(a) + by) - (f64::from(b) + by)).collect()
            };
            let (still, moved) = (shift(&differences(0.0)), shift(&differences(by)));
            prop_assert!((still.unwrap() - moved.unwrap()).abs() < 1e-6);
        }
    }
}
