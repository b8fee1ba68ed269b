// SPDX-License-Identifier: GPL-2.0-only
//! Medians and shifts with their intervals, from trials with their boots and blocks.

use model::Seed;
use serde::{Deserialize, Serialize};

use crate::compare::evidence::{Evidence, PValue};
use crate::number::interval::{Interval, expanded_percentile};
use crate::number::median::weighted;
use crate::rank::hodges_lehmann::Differences;
use crate::rank::walsh::Averages;
use crate::records::columns::Sample;
use crate::records::pairing::MatchedPairs;
use crate::resample::batched_medians::{Drawn, MOST_WEIGHT, batches, medians};
use crate::resample::bootstrap::Clusters;

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
        }
    }
}

/// Which trials belong to which boot.
pub(crate) fn clusters<K: Ord>(trials: &[(K, f64)]) -> Clusters {
    Clusters::new(trials.iter().map(|(boot, _)| boot))
}

fn numbers<K>(trials: &[(K, f64)]) -> Vec<f64> {
    trials.iter().map(|(_, value)| *value).collect()
}

/// The interval of the median over trials.
pub(crate) fn median_interval<K: Ord>(
    trials: &[(K, f64)],
    resamples: u32,
    mut seed: Seed,
) -> Option<Interval> {
    let (order, clusters) = (Ascending::new(&numbers(trials)), clusters(trials));
    let resamples = if order.are_equal() { resamples.min(1) } else { resamples };
    let mut replicates: Vec<f64> = if clusters.most_draws() <= MOST_WEIGHT {
        let mut drawn = Drawn::nothing(trials.len());
        batches(resamples, |lanes| {
            drawn.clear();
            (0..lanes).for_each(|lane| drawn.draw(&clusters, &mut seed, lane));
            medians(&order.0, &drawn)
        })
    } else {
        let mut weights = Vec::new();
        let replicate = |_| {
            clusters.resample(&mut seed, &mut weights);
            order.median(&weights)
        };
        (0..resamples).filter_map(replicate).collect()
    };
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
/// by single outliers. If trials are matched, the narrower of the two intervals is taken. Choosing
/// the narrower one could cost coverage; `make validate-statistics` measures how much.
pub(crate) fn shift(
    ours: &[Sample],
    baseline: &[Sample],
    pairs: Option<&MatchedPairs>,
    resamples: u32,
    seed: Seed,
) -> Option<Shift> {
    let of_all = shift_of_all(&by_boot(ours), &by_boot(baseline), resamples, seed)?;
    let of_pairs = pairs.and_then(|pairs| shift_of_pairs(pairs, resamples, seed));
    let narrower = of_pairs.filter(|pairs| is_narrower(pairs, &of_all));
    Some(narrower.unwrap_or(of_all))
}

/// Compared in percent, which verdicts use, if both have percents.
fn is_narrower(one: &Shift, other: &Shift) -> bool {
    let widths = |one: Option<Interval>, other: Option<Interval>| {
        let width = |it: Interval| it.high - it.low;
        one.zip(other).map(|(one, other)| width(one) <= width(other))
    };
    widths(one.percent_interval, other.percent_interval)
        .or_else(|| widths(one.interval, other.interval))
        .unwrap_or(false)
}

pub(crate) fn by_boot(samples: &[Sample]) -> Vec<(&(u32, String), f64)> {
    samples.iter().map(|sample| (&sample.boot, sample.value)).collect()
}

/// The shift of matched pairs; `None` if they are too few for an interval.
fn shift_of_pairs(pairs: &MatchedPairs, resamples: u32, seed: Seed) -> Option<Shift> {
    let averages = Averages::new(&pairs.differences);
    let interval = averages.interval(pairs.differences.len())?;
    let order = Ascending::new(&pairs.base);
    let ones = vec![1; pairs.base.len()];
    let (value, base) = (averages.shift(&ones)?, order.median(&ones)?);
    let alike = order.are_equal() && averages.are_equal();
    let resamples = if alike { resamples.min(1) } else { resamples };
    let replicates = resampled(&averages, &order, resamples, seed);
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

/// Shifts, each with the baseline's median of the same pairs.
fn resampled(
    averages: &Averages,
    order: &Ascending,
    resamples: u32,
    mut seed: Seed,
) -> Vec<(f64, f64)> {
    let pairs = order.0.len();
    let clusters = Clusters::new(0..pairs);
    if Averages::are_few(pairs) {
        let mut drawn = Drawn::nothing(pairs);
        return batches(resamples, |lanes| {
            drawn.clear();
            (0..lanes).for_each(|lane| drawn.draw(&clusters, &mut seed, lane));
            let (shifts, bases) = (averages.shifts(&drawn), medians(&order.0, &drawn));
            std::array::from_fn(|lane| (shifts[lane], bases[lane]))
        });
    }
    let mut weights = Vec::new();
    let replicate = |_| {
        clusters.resample(&mut seed, &mut weights);
        Some((averages.shift(&weights)?, order.median(&weights)?))
    };
    (0..resamples).filter_map(replicate).collect()
}

fn shift_of_all<K: Ord>(
    ours: &[(K, f64)],
    baseline: &[(K, f64)],
    resamples: u32,
    seed: Seed,
) -> Option<Shift> {
    let (our_values, base_values) = (numbers(ours), numbers(baseline));
    let differences = Differences::new(&our_values, &base_values);
    let order = Ascending::new(&base_values);
    let ones = |trials: usize| vec![1; trials];
    let value = differences.shift(&ones(our_values.len()), &ones(base_values.len()))?;
    let base = order.median(&ones(base_values.len()))?;
    let (our_boots, base_boots) = (clusters(ours), clusters(baseline));
    let alike = differences.are_equal() && order.are_equal();
    let resamples = if alike { resamples.min(1) } else { resamples };
    let replicates =
        Both { differences, order, ours: &our_boots, base: &base_boots }.draw(resamples, seed);
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
    }
}

/// Two samples that are resampled together.
struct Both<'a> {
    differences: Differences,
    /// The baseline's values.
    order: Ascending,
    ours: &'a Clusters,
    base: &'a Clusters,
}

impl Both<'_> {
    /// Shifts, each with the baseline's median of the same resample.
    fn draw(&self, resamples: u32, seed: Seed) -> Vec<(f64, f64)> {
        let most = self.ours.most_draws() * self.base.most_draws();
        match self.differences.are_few() && most <= MOST_WEIGHT {
            true => self.many_at_a_time(resamples, seed),
            false => self.one_by_one(resamples, seed),
        }
    }

    fn many_at_a_time(&self, resamples: u32, mut seed: Seed) -> Vec<(f64, f64)> {
        let mut ours = Drawn::nothing(self.ours.trials());
        let mut base = Drawn::nothing(self.base.trials());
        batches(resamples, |lanes| {
            ours.clear();
            base.clear();
            for lane in 0..lanes {
                ours.draw(self.ours, &mut seed, lane);
                base.draw(self.base, &mut seed, lane);
            }
            let shifts = self.differences.shifts(&ours, &base);
            let bases = medians(&self.order.0, &base);
            std::array::from_fn(|lane| (shifts[lane], bases[lane]))
        })
    }

    fn one_by_one(&self, resamples: u32, mut seed: Seed) -> Vec<(f64, f64)> {
        let (mut ours, mut base) = (Vec::new(), Vec::new());
        let replicate = |_| {
            self.ours.resample(&mut seed, &mut ours);
            self.base.resample(&mut seed, &mut base);
            Some((self.differences.shift(&ours, &base)?, self.order.median(&base)?))
        };
        (0..resamples).filter_map(replicate).collect()
    }
}

/// In percent of the baseline; `None` when that is 0.
fn percent(shift: f64, baseline: f64) -> Option<f64> {
    (baseline != 0.0).then(|| 100.0 * shift / baseline.abs())
}

/// The p value as if it were the only comparison; `None` if the
/// contestant or the baseline has no number.
pub(crate) fn p_value(
    ours: &[Sample],
    baseline: &[Sample],
    pairs: Option<&MatchedPairs>,
) -> Option<PValue> {
    let units = |trials: &[Sample]| {
        let trials = by_boot(trials);
        clusters(&trials).unit_values(&numbers(&trials))
    };
    let (ours, baseline) = (units(ours), units(baseline));
    let evidence = Evidence::from_samples(&ours, &baseline, pairs)?;
    let raw = evidence.p(1);
    let units = ours.len().min(baseline.len());
    Some(PValue { raw, adjusted: raw, comparisons: 1, units, evidence })
}
