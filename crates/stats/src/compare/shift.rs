// SPDX-License-Identifier: GPL-2.0-only
//! Medians and shifts with their intervals, from trials with their boots and blocks.

use model::Seed;
use serde::{Deserialize, Serialize};

use crate::compare::evidence::{Evidence, PValue};
use crate::compare::verdict::{is_beyond, log_ratio, log_ratio_of_percent};
use crate::number::interval::{Interval, expanded_percentile};
use crate::number::quantile::{self, median, weighted};
use crate::rank::selection::{self, Averages, PairTable, Table};
use crate::rank::{hodges_lehmann, rank_sum};
use crate::records::columns::{Column, Sample, boots, sample_values};
use crate::records::pairing::MatchedPairs;
use crate::resample::{Clusters, LANES, MOST_WEIGHT, Resampling, medians};

/// A difference between a contestant and the baseline, with its intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shift {
    /// The shift in the row's unit; below 0: the contestant's values are lower.
    pub value: f64,
    pub interval: Option<Interval>,
    /// The shift in percent of the baseline's median; `None` when that is 0.
    pub percent: Option<f64>,
    /// Its interval, with the baseline's median resampled too.
    pub percent_interval: Option<Interval>,
    /// The number of matched pairs that it was computed from; `None` if all trials were compared
    /// with all trials of the baseline.
    #[serde(default, rename = "pairs")]
    pub matched_pairs: Option<usize>,
    /// If all matched pairs differ in one direction, the pair that differs least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_pair: Option<LeastPair>,
}

/// What every matched pair differs by at least; below 0: the contestant's values are lower.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeastPair {
    /// In the row's unit.
    pub value: f64,
    /// The ratio to the baseline's value of the same pair in percent; `None` from 0 and to 0.
    pub percent: Option<f64>,
}

impl Shift {
    /// The shift in the opposite direction, with its intervals.
    pub fn turned(self) -> Shift {
        let turn = |ends: Interval| Interval { low: -ends.high, high: -ends.low };
        Shift {
            value: -self.value,
            interval: self.interval.map(turn),
            percent: self.percent.map(|value| -value),
            percent_interval: self.percent_interval.map(turn),
            matched_pairs: self.matched_pairs,
            least_pair: self.least_pair.map(|pair| LeastPair {
                value: -pair.value,
                percent: pair.percent.map(|value| -value),
            }),
        }
    }

    /// The interval that verdicts and tables use: in percent, or in the unit if there is none.
    pub fn shown_interval(&self) -> Option<Interval> {
        self.percent_interval.or(self.interval)
    }

    /// Whether the shift, or every matched pair, differs by more than this margin in percent. From
    /// a baseline of 0 there is no percent, and every difference does.
    pub fn is_beyond(&self, margin_percent: f64) -> bool {
        let beyond = |percent: f64| is_beyond(log_ratio_of_percent(percent), margin_percent);
        self.percent.map_or(self.value != 0.0, beyond) || self.all_pairs_beyond(margin_percent)
    }

    /// Whether every matched pair differs by more than this margin, all in one direction. Where
    /// blocks differ much, this can hold of a small shift in percent of the median.
    pub fn all_pairs_beyond(&self, margin_percent: f64) -> bool {
        let beyond = |percent: f64| is_beyond(log_ratio_of_percent(percent), margin_percent);
        self.least_pair.is_some_and(|pair| pair.percent.is_none_or(beyond))
    }
}

/// Samples with more trials are not resampled, nor those with more differences between them, nor
/// more pairs: a resample costs as much as there are of them. Intervals by ranks need no
/// distribution either, and so many values make them as narrow.
const RESAMPLED_TRIALS: usize = 10_000;
const RESAMPLED_DIFFERENCES: usize = 1_000_000;
const RESAMPLED_PAIRS: usize = 500;

/// The interval of the median over trials. That of many is by order statistics.
pub(crate) fn median_interval(column: &Column, resamples: u32, seed: Seed) -> Option<Interval> {
    if column.samples.len() > RESAMPLED_TRIALS {
        return median_of_many(&column.samples).map(|(_, interval)| interval);
    }
    let order = Ascending::new(&column.values());
    let clusters = boots(&column.samples);
    let resampling = Resampling {
        samples: [&clusters],
        resamples: if order.are_equal() { resamples.min(1) } else { resamples },
        in_batches: clusters.most_draws() <= MOST_WEIGHT,
    };
    let mut replicates = resampling.replicates(
        seed,
        |[drawn]| medians(&order.0, drawn),
        |[weights]| order.median(weights),
    );
    expanded_percentile(&mut replicates, clusters.units())
}

/// Values in ascending order, each with the trial that it belongs to.
struct Ascending(Vec<(f64, usize)>);

impl Ascending {
    fn new(values: &[f64]) -> Ascending {
        let mut sorted: Vec<_> = values.iter().copied().zip(0..).collect();
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        Ascending(sorted)
    }

    /// Whether every resample has the same median, so that one is as good as all.
    fn are_equal(&self) -> bool {
        let ends = self.0.first().zip(self.0.last());
        ends.is_none_or(|((low, _), (high, _))| low.total_cmp(high).is_eq())
    }

    fn median(&self, weights: &[u32]) -> Option<f64> {
        let total = weights.iter().map(|&weight| u64::from(weight)).sum();
        weighted(self.0.iter().map(|&(value, trial)| (value, u64::from(weights[trial]))), total)
    }
}

/// The shift against the baseline; `None` if the contestant or the baseline has no number. Matched
/// pairs are not affected by differences between blocks, and the differences of all trials hardly
/// by single outliers. If trials are matched, the narrower of the two intervals is taken, but that
/// of the pairs if all of them agree and the other one contains 0. Choosing the narrower one could
/// cost coverage; `make validate-statistics` measures how much.
pub(crate) fn shift(
    ours: &[Sample],
    baseline: &[Sample],
    pairs: Option<&MatchedPairs>,
    resamples: u32,
    seed: Seed,
) -> Option<Shift> {
    let of_all = shift_of_all(ours, baseline, resamples, seed)?;
    let of_pairs = pairs.and_then(|pairs| shift_of_pairs(pairs, resamples, seed));
    let least_pair = pairs.and_then(least_pair);
    let is_open = of_all.shown_interval().is_none_or(|ends| ends.low <= 0.0 && ends.high >= 0.0);
    let takes = |pairs: &Shift| (least_pair.is_some() && is_open) || is_narrower(pairs, &of_all);
    let chosen = of_pairs.filter(takes).unwrap_or(of_all);
    Some(Shift { least_pair, ..chosen })
}

/// The pair that differs least; `None` if not all pairs differ in one direction.
fn least_pair(pairs: &MatchedPairs) -> Option<LeastPair> {
    let all = || pairs.differences.iter().zip(&pairs.base);
    let agree = all().all(|(&apart, _)| apart > 0.0) || all().all(|(&apart, _)| apart < 0.0);
    let least = |of: &dyn Fn(f64, f64) -> f64| {
        let sizes = all().map(|(&apart, &base)| of(apart, base));
        sizes.min_by(|a, b| a.abs().total_cmp(&b.abs()))
    };
    let value = least(&|apart, _| apart).filter(|_| agree)?;
    let ratio = least(&|apart, base| log_ratio(base, base + apart))?;
    Some(LeastPair { value, percent: ratio.is_finite().then(|| ratio.exp_m1() * 100.0) })
}

/// Compared in percent, which verdicts use, if both have percents.
fn is_narrower(of_pairs: &Shift, of_all: &Shift) -> bool {
    let narrower = |pairs: Option<Interval>, all: Option<Interval>| {
        pairs.zip(all).map(|(pairs, all)| pairs.width() <= all.width())
    };
    narrower(of_pairs.percent_interval, of_all.percent_interval)
        .or_else(|| narrower(of_pairs.interval, of_all.interval))
        .unwrap_or(false)
}

/// The median of many trials, with its interval from one number for each boot.
fn median_of_many(trials: &[Sample]) -> Option<(f64, Interval)> {
    let values = sample_values(trials);
    let value = median(&values)?;
    let interval = quantile::median_interval(&boots(trials).unit_values(&values))?;
    Some((value, interval.with(value)))
}

/// The shift of many trials: the same number as of few, with the interval of the rank-sum test,
/// from one number for each boot.
fn shift_of_many(ours: &[Sample], baseline: &[Sample]) -> Option<Shift> {
    let value = PairTable::new(&sample_values(ours), &sample_values(baseline)).median()?;
    let units = |trials: &[Sample]| boots(trials).unit_values(&sample_values(trials));
    let interval = rank_sum::shift(&units(ours), &units(baseline));
    let interval = interval.map(|(_, interval)| interval.with(value));
    let base = median(&sample_values(baseline))?;
    Some(by_ranks(value, interval, base, median_of_many(baseline).map(|(_, ends)| ends)))
}

/// A shift by ranks. In percent, both the shift and the baseline's median may be anywhere in their
/// intervals; where the baseline's contains 0, there is no interval in percent.
fn by_ranks(value: f64, interval: Option<Interval>, base: f64, of_base: Option<Interval>) -> Shift {
    let of_base = of_base.filter(|ends| ends.low > 0.0 || ends.high < 0.0);
    let percents = interval.zip(of_base).map(|(ends, of_base)| {
        let bases = [of_base.low.abs(), of_base.high.abs()];
        let of = |end: f64| bases.map(|base| 100.0 * end / base);
        let ([a, b], [c, d]) = (of(ends.low), of(ends.high));
        Interval { low: a.min(b), high: c.max(d) }
    });
    Shift {
        value,
        interval,
        percent: percent(value, base),
        percent_interval: percents,
        matched_pairs: None,
        least_pair: None,
    }
}

/// The shift of matched pairs; `None` if they are too few for an interval.
fn shift_of_pairs(pairs: &MatchedPairs, resamples: u32, seed: Seed) -> Option<Shift> {
    if pairs.differences.len() > RESAMPLED_PAIRS {
        let (value, interval) = selection::shift_of_many(&pairs.differences)?;
        let of_base = quantile::median_interval(&pairs.base);
        let shift = by_ranks(value, Some(interval), median(&pairs.base)?, of_base);
        return Some(Shift { matched_pairs: Some(pairs.differences.len()), ..shift });
    }
    let averages = Averages::new(&pairs.differences);
    let interval = averages.interval(pairs.differences.len())?;
    let order = Ascending::new(&pairs.base);
    let ones = vec![1; pairs.base.len()];
    let (value, base) = (averages.shift(&ones)?, order.median(&ones)?);
    let alike = order.are_equal() && averages.are_equal();
    let clusters = Clusters::new(0..pairs.base.len());
    let resampling = Resampling {
        samples: [&clusters],
        resamples: if alike { resamples.min(1) } else { resamples },
        in_batches: Averages::are_few(pairs.base.len()),
    };
    let replicates = resampling.replicates(
        seed,
        |[drawn]| side_by_side(averages.shifts(drawn), medians(&order.0, drawn)),
        |[weights]| Some((averages.shift(weights)?, order.median(weights)?)),
    );
    let drawn = summary(value, base, &replicates, ones.len());
    // The baseline's median is uncertain as well, so the interval in percent may be wider, but
    // never narrower.
    let exact = percent(interval.low, base).zip(percent(interval.high, base));
    let percents = drawn.percent_interval.zip(exact).map(|(drawn, (low, high))| Interval {
        low: low.min(drawn.low),
        high: high.max(drawn.high),
    });
    let interval = Some(interval);
    Some(Shift { interval, percent_interval: percents, matched_pairs: Some(ones.len()), ..drawn })
}

fn shift_of_all(ours: &[Sample], baseline: &[Sample], resamples: u32, seed: Seed) -> Option<Shift> {
    let longer = ours.len().max(baseline.len());
    if longer > RESAMPLED_TRIALS || ours.len() * baseline.len() > RESAMPLED_DIFFERENCES {
        return shift_of_many(ours, baseline);
    }
    let (our_values, base_values) = (sample_values(ours), sample_values(baseline));
    let differences = hodges_lehmann::Differences::new(&our_values, &base_values);
    let order = Ascending::new(&base_values);
    let ones = |trials: usize| vec![1; trials];
    let value = differences.shift(&ones(our_values.len()), &ones(base_values.len()))?;
    let base = order.median(&ones(base_values.len()))?;
    let (our_boots, base_boots) = (boots(ours), boots(baseline));
    let alike = differences.are_equal() && order.are_equal();
    let most = our_boots.most_draws() * base_boots.most_draws();
    let resampling = Resampling {
        samples: [&our_boots, &base_boots],
        resamples: if alike { resamples.min(1) } else { resamples },
        in_batches: differences.are_few() && most <= MOST_WEIGHT,
    };
    let replicates = resampling.replicates(
        seed,
        |[ours, base]| side_by_side(differences.shifts(ours, base), medians(&order.0, base)),
        |[ours, base]| Some((differences.shift(ours, base)?, order.median(base)?)),
    );
    let units = our_boots.units().min(base_boots.units());
    Some(summary(value, base, &replicates, units))
}

/// A shift with its intervals, from resamples of this many independent units.
fn summary(value: f64, base: f64, replicates: &[(f64, f64)], units: usize) -> Shift {
    let percents = replicates.iter().map(|&(shift, base)| percent(shift, base));
    let mut percents: Option<Vec<f64>> = percents.collect();
    let mut shifts: Vec<f64> = replicates.iter().map(|&(shift, _)| shift).collect();
    Shift {
        value,
        interval: expanded_percentile(&mut shifts, units),
        percent: percent(value, base),
        percent_interval: percents.as_mut().and_then(|p| expanded_percentile(p, units)),
        matched_pairs: None,
        least_pair: None,
    }
}

/// Each shift with the baseline's median of the same resample.
fn side_by_side(shifts: [f64; LANES], bases: [f64; LANES]) -> [(f64, f64); LANES] {
    std::array::from_fn(|lane| (shifts[lane], bases[lane]))
}

/// In percent of the baseline; `None` when that is 0.
fn percent(shift: f64, baseline: f64) -> Option<f64> {
    (baseline != 0.0).then(|| 100.0 * shift / baseline.abs())
}

/// The p value as if it were the only comparison; `None` if the contestant or the baseline has no
/// number.
pub(crate) fn p_value(
    ours: &[Sample],
    baseline: &[Sample],
    pairs: Option<&MatchedPairs>,
) -> Option<PValue> {
    let units = |trials: &[Sample]| boots(trials).unit_values(&sample_values(trials));
    let (ours, baseline) = (units(ours), units(baseline));
    let evidence = Evidence::from_samples(&ours, &baseline, pairs)?;
    let raw = evidence.p(1);
    let units = ours.len().min(baseline.len());
    Some(PValue { raw, adjusted: raw, comparisons: 1, units, evidence })
}
