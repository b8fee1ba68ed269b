// SPDX-License-Identifier: GPL-2.0-only
//! Medians and shifts with their intervals, from runs and the boots that they belong to.

use model::Seed;

use crate::bootstrap::Clusters;
use crate::comparison::{Interval, PValue, Shift};
use crate::hodges_lehmann::Differences;
use crate::interval::expanded_percentile;
use crate::median::weighted;
use crate::rank_sum::rank_sum;

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
    let mut weights = Vec::new();
    let replicate = |_| {
        clusters.resample(&mut seed, &mut weights);
        order.median(&weights)
    };
    let mut replicates: Vec<f64> = (0..resamples).filter_map(replicate).collect();
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
    mut seed: Seed,
) -> Option<Shift> {
    let (our_values, base_values) = (numbers(ours), numbers(baseline));
    let differences = Differences::new(&our_values, &base_values);
    let order = Ascending::new(&base_values);
    let of =
        |ours: &[u32], base: &[u32]| Some((differences.shift(ours, base)?, order.median(base)?));
    let (value, base) = of(&vec![1; our_values.len()], &vec![1; base_values.len()])?;
    let (our_boots, base_boots) = (clusters(ours), clusters(baseline));
    let (mut w, mut v) = (Vec::new(), Vec::new());
    let replicate = |_| {
        our_boots.resample(&mut seed, &mut w);
        base_boots.resample(&mut seed, &mut v);
        of(&w, &v)
    };
    let replicates: Vec<(f64, f64)> = (0..resamples).filter_map(replicate).collect();
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
