// SPDX-License-Identifier: GPL-2.0-only
//! Medians and shifts with their intervals, from runs and the boots that they belong to.

use model::Seed;

use crate::bootstrap::Clusters;
use crate::comparison::{Interval, PValue, Shift};
use crate::hodges_lehmann::Differences;
use crate::interval::expanded_percentile;
use crate::median::weighted;
use crate::rank_sum::rank_sum;
use crate::side_by_side::{Drawn, MOST_WEIGHT, batches, medians};

/// Which runs belong to which boot.
pub(crate) fn clusters<K: Ord>(runs: &[(K, f64)]) -> Clusters {
    Clusters::new(runs.iter().map(|(boot, _)| boot))
}

fn numbers<K>(runs: &[(K, f64)]) -> Vec<f64> {
    runs.iter().map(|(_, value)| *value).collect()
}

/// The interval of the median over runs.
pub(crate) fn median_interval<K: Ord>(
    runs: &[(K, f64)],
    resamples: u32,
    mut seed: Seed,
) -> Option<Interval> {
    let (order, clusters) = (Ascending::new(&numbers(runs)), clusters(runs));
    let resamples = if order.are_equal() { resamples.min(1) } else { resamples };
    let mut replicates: Vec<f64> = if clusters.most_draws() <= MOST_WEIGHT {
        let mut drawn = Drawn::nothing(runs.len());
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

/// Values in ascending order, each with the run that it belongs to.
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
        weighted(self.0.iter().map(|&(value, run)| (value, u64::from(weights[run]))), total)
    }
}

/// The shift against the baseline, both sides resampled; `None` when a side has no number.
pub(crate) fn shift<K: Ord>(
    ours: &[(K, f64)],
    baseline: &[(K, f64)],
    resamples: u32,
    seed: Seed,
) -> Option<Shift> {
    let (our_values, base_values) = (numbers(ours), numbers(baseline));
    let differences = Differences::new(&our_values, &base_values);
    let order = Ascending::new(&base_values);
    let ones = |runs: usize| vec![1; runs];
    let value = differences.shift(&ones(our_values.len()), &ones(base_values.len()))?;
    let base = order.median(&ones(base_values.len()))?;
    let (our_boots, base_boots) = (clusters(ours), clusters(baseline));
    let alike = differences.are_equal() && order.are_equal();
    let resamples = if alike { resamples.min(1) } else { resamples };
    let replicates =
        Both { differences, order, ours: &our_boots, base: &base_boots }.draw(resamples, seed);
    let units = our_boots.units().min(base_boots.units());
    let percents = replicates.iter().map(|&(shift, base)| percent(shift, base));
    let mut percents: Option<Vec<f64>> = percents.collect();
    let mut shifts: Vec<f64> = replicates.iter().map(|&(shift, _)| shift).collect();
    Some(Shift {
        value,
        interval: expanded_percentile(&mut shifts, units),
        percent: percent(value, base),
        percent_interval: percents.as_mut().and_then(|p| expanded_percentile(p, units)),
    })
}

/// Two sides that are resampled together.
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
        let mut ours = Drawn::nothing(self.ours.runs());
        let mut base = Drawn::nothing(self.base.runs());
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

/// The exact rank-sum test of the two sides' boots, not yet corrected; `None` when a side has no
/// number. That contestants of one block share its boot and its seed is left aside: where it makes
/// them alike, the test is the more careful for it.
pub(crate) fn p_value<K: Ord>(ours: &[(K, f64)], baseline: &[(K, f64)]) -> Option<PValue> {
    let units = |runs: &[(K, f64)]| clusters(runs).unit_values(&numbers(runs));
    let (ours, baseline) = (units(ours), units(baseline));
    let raw = rank_sum(&ours, &baseline)?.two_sided();
    Some(PValue { raw, adjusted: raw, comparisons: 1, units: ours.len().min(baseline.len()) })
}
