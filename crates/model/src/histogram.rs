// SPDX-License-Identifier: GPL-2.0-only
//! Full-range latency histograms.
//!
//! The buckets of a histogram in few bytes: most records are made of little else.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Name;

/// A distribution with three significant digits in HdrHistogram's layout (`lowest` 1 ns, 2048
/// sub-buckets), kept sparse: readable in JSON, mergeable, and without an upper limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Histogram {
    /// The measure's name, see [`crate::metric::MEASURES`].
    pub name: Name,
    /// Of tasks, or `all`.
    pub group: Name,
    /// How many samples were taken, counted apart from the buckets.
    pub count: u64,
    /// The smallest sample, exact; 0 when empty.
    pub min: u64,
    /// The largest sample, exact; 0 when empty.
    pub max: u64,
    /// `[lowest value of the bucket, samples in it]`, ascending, no empty ones.
    pub buckets: Buckets,
}

impl Histogram {
    pub fn from_samples(name: &str, group: &str, samples: &[u64]) -> Histogram {
        let mut buckets = std::collections::BTreeMap::new();
        for &sample in samples {
            *buckets.entry(lowest_equivalent(sample)).or_default() += 1;
        }
        Histogram {
            name: name.into(),
            group: group.into(),
            count: samples.len() as u64,
            min: samples.iter().copied().min().unwrap_or(0),
            max: samples.iter().copied().max().unwrap_or(0),
            buckets: buckets.into_iter().collect(),
        }
    }

    /// Whether every sample is in a bucket. A record whose histograms fail this is not trusted.
    pub fn is_complete(&self) -> bool {
        self.samples() == Some(self.count)
    }

    /// How many samples are in the buckets; `None` if no number holds as many.
    pub(crate) fn samples(&self) -> Option<u64> {
        self.buckets.iter().try_fold(0u64, |sum, (_, samples)| sum.checked_add(samples))
    }

    /// The smallest bucket value below or at which at least `quantile` (0 … 1) of the samples lie;
    /// `None` when empty. The relative error is at most 1/1024 (the bucket's width).
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let rank = ((quantile * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut seen = 0;
        for (value, samples) in self.buckets.iter() {
            seen += samples;
            if seen >= rank {
                return Some(value.clamp(self.min, self.max));
            }
        }
        Some(self.max)
    }

    /// As [`Histogram::quantile`], for a histogram whose largest samples were only counted: exact
    /// for all ranks below them. `None` beyond them, and where fewer than four samples are expected
    /// above the quantile, too few for any claim about it.
    pub fn quantile_of_cut(&self, quantile: f64) -> Option<u64> {
        let kept: u64 = self.buckets.iter().map(|(_, samples)| samples).sum();
        let rank = (quantile * self.count as f64).ceil() as u64;
        let enough = (1.0 - quantile) * self.count as f64 >= 4.0;
        if enough && rank <= kept && kept <= self.count { self.quantile(quantile) } else { None }
    }

    /// The mean of the bucket values, in the samples' unit; `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        let sum: f64 = self.buckets.iter().map(|(value, n)| value as f64 * n as f64).sum();
        (self.count > 0).then(|| sum / self.count as f64)
    }

    /// Adds another histogram's samples; name and group stay.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        let mut merged: std::collections::BTreeMap<u64, u64> = self.buckets.iter().collect();
        for (value, samples) in other.buckets.iter() {
            *merged.entry(value).or_default() += samples;
        }
        self.buckets = merged.into_iter().collect();
    }
}

/// HdrHistogram at three significant digits gives each of the first values a bucket of its own.
const SUB_BUCKETS: u64 = 2048;

/// Each further power of two has half as many.
const HALF: u64 = SUB_BUCKETS / 2;

/// The place of a value's bucket in an array of all buckets.
#[inline]
pub fn bucket(value: u64) -> usize {
    let shift = 64 - (value | (SUB_BUCKETS - 1)).leading_zeros() - SUB_BUCKETS.trailing_zeros();
    (u64::from(shift) * HALF + (value >> shift)) as usize
}

/// The inverse of [`bucket`].
pub fn lowest_value(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket / HALF).saturating_sub(1);
    (bucket - shift * HALF) << shift
}

/// HdrHistogram's `lowest_equivalent` with a unit of 1.
pub fn lowest_equivalent(value: u64) -> u64 {
    lowest_value(bucket(value))
}

/// [`Histogram::buckets`] from the samples in each place of the array.
pub fn filled_buckets(samples: impl Iterator<Item = u64>) -> Buckets {
    let filled = samples.enumerate().filter(|&(_, samples)| samples > 0);
    filled.map(|(bucket, samples)| (lowest_value(bucket), samples)).collect()
}

/// `(lowest value of the bucket, samples in it)` in the order in which they were added. Each is
/// kept as what it adds to the value before, and its samples, as numbers of variable length
/// (LEB128).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Buckets(Box<[u8]>);

impl Buckets {
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (mut rest, mut value) = (&self.0[..], 0_u64);
        std::iter::from_fn(move || {
            let step = number(&mut rest)?;
            value = value.wrapping_add(step);
            Some((value, number(&mut rest)?))
        })
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(u64, u64)> for Buckets {
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(buckets: I) -> Buckets {
        let (mut bytes, mut before) = (Vec::new(), 0_u64);
        for (value, samples) in buckets {
            append(&mut bytes, value.wrapping_sub(before));
            append(&mut bytes, samples);
            before = value;
        }
        Buckets(bytes.into())
    }
}

impl From<Vec<(u64, u64)>> for Buckets {
    fn from(buckets: Vec<(u64, u64)>) -> Buckets {
        buckets.into_iter().collect()
    }
}

impl PartialEq<Vec<(u64, u64)>> for Buckets {
    fn eq(&self, other: &Vec<(u64, u64)>) -> bool {
        self.iter().eq(other.iter().copied())
    }
}

fn append(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The first number, which is taken off.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
        shift += 7;
    }
}

impl fmt::Debug for Buckets {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_list().entries(self.iter()).finish()
    }
}

impl Serialize for Buckets {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Buckets {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Buckets, D::Error> {
        Vec::deserialize(from).map(|buckets: Vec<(u64, u64)>| buckets.into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn histogram(samples: &[u64]) -> Histogram {
        let mut whole = Histogram::default();
        for &sample in samples {
            whole.merge(&Histogram {
                count: 1,
                min: sample,
                max: sample,
                buckets: vec![(lowest_equivalent(sample), 1)].into(),
                ..Histogram::default()
            });
        }
        whole
    }

    #[test]
    fn quantiles_are_order_statistics() {
        let thousand = histogram(&(1..=1000).collect::<Vec<_>>());
        assert!(thousand.is_complete());
        assert_eq!(thousand.quantile(0.0), Some(1));
        assert_eq!(thousand.quantile(0.5), Some(500));
        assert_eq!(thousand.quantile(0.99), Some(990));
        assert_eq!(thousand.quantile(1.0), Some(1000));
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn buckets_keep_three_significant_digits() {
        assert_eq!(lowest_equivalent(2047), 2047);
        assert_eq!(lowest_equivalent(2049), 2048);
        assert_eq!(
            (bucket(2047), bucket(2049), bucket(4095), bucket(4096)),
            (2047, 2048, 3071, 3072)
        );
        for value in [1, 999, 5_001, 123_456_789, u64::MAX / 3] {
            let lowest = lowest_equivalent(value);
            assert!(lowest <= value && value - lowest <= value / 1024, "{value} -> {lowest}");
        }
    }

    #[test]
    fn what_a_cut_tail_leaves_is_exact() {
        let whole = histogram(&(1..=1000).collect::<Vec<_>>());
        let mut cut = whole.clone();
        cut.buckets = cut.buckets.iter().filter(|&(value, _)| value <= 950).collect();
        for quantile in [0.01, 0.5, 0.95] {
            assert_eq!(cut.quantile_of_cut(quantile), whole.quantile(quantile));
        }
        assert_eq!(cut.quantile_of_cut(0.951), None);
        assert_eq!(whole.quantile_of_cut(0.999), None, "too few samples");
        assert_eq!(Histogram::default().quantile_of_cut(0.5), None);
    }

    #[test]
    fn a_lost_sample_is_noticed() {
        let mut lossy = histogram(&[1, 2, 3]);
        lossy.count = 4;
        assert!(!lossy.is_complete());
    }

    proptest! {
        /// Those of strangers need not ascend.
        #[test]
        fn any_buckets_come_back(list in prop::collection::vec(any::<(u64, u64)>(), 0..9)) {
            let buckets: Buckets = list.clone().into();
            prop_assert_eq!(buckets.iter().collect::<Vec<_>>(), list.clone());
            let json = serde_json::to_string(&buckets).unwrap();
            prop_assert_eq!(&json, &serde_json::to_string(&list).unwrap());
            prop_assert_eq!(serde_json::from_str::<Buckets>(&json).unwrap(), buckets);
        }
    }

    #[test]
    fn usual_buckets_need_few_bytes() {
        let buckets: Buckets = (0..100).map(|at| (5_000 + at * 8, at % 50 + 1)).collect();
        assert!(buckets.0.len() <= 201, "{}", buckets.0.len());
    }
}
