// SPDX-License-Identifier: GPL-2.0-only
//! Latency distributions for the charts: percentile curves with bands over trials, and log bins.

use std::collections::BTreeMap;

use model::{Histogram, Record};
use serde::Serialize;
use stats::number::quantile::{curve, samples_needed};

use super::short_number::Short;

/// Decades of `1/(1−p)`: to p99.99999.
const DECADES: u32 = 7;

/// Bins of the distribution chart per decade of nanoseconds.
pub const BINS_PER_DECADE: f64 = 12.0;

/// One distribution measure of one task group in one cell.
#[derive(Serialize)]
pub struct Distribution {
    name: String,
    group: String,
    /// One per contestant in the comparison's order; empty where there is none.
    contestants: Vec<Pooled>,
}

/// All trials of a contestant together. The curve's points are at `x = 1/(1−p)` in equal steps of
/// its logarithm.
#[derive(Default, Serialize)]
struct Pooled {
    samples: u64,
    trials: usize,
    pooled: Vec<Short>,
    /// The lowest and the highest quantile of a single trial, up to the last quantile for which
    /// every trial has samples.
    low: Vec<Short>,
    high: Vec<Short>,
    /// Bin number (bin `i` starts at `10^(i/12)` ns) and samples; values below 1 are in bin 0.
    bins: Vec<(i32, u64)>,
}

/// The distributions of a cell's `ok` records. Those that lost samples are left out, as in the
/// tables.
pub fn distributions(
    records: &[&Record],
    contestants: &[String],
    points_per_decade: u32,
    wanted: &dyn Fn(&Histogram) -> bool,
) -> Vec<Distribution> {
    let mut trials: BTreeMap<(&str, &str), Vec<Vec<&Histogram>>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.outcome.is_ok()) {
        let name = &record.trial.contestant.name;
        let Some(place) = contestants.iter().position(|c| c == name) else { continue };
        let whole = record.measured.histograms.iter().filter(|h| h.is_complete() && h.count > 0);
        let whole = whole.filter(|histogram| wanted(histogram));
        for histogram in whole {
            let key = (histogram.name.as_str(), histogram.group.as_str());
            let by_contestant =
                trials.entry(key).or_insert_with(|| vec![Vec::new(); contestants.len()]);
            by_contestant[place].push(histogram);
        }
    }
    let distribution =
        |((name, group), trials): ((&str, &str), Vec<Vec<&Histogram>>)| Distribution {
            name: name.into(),
            group: group.into(),
            contestants: trials.iter().map(|trials| pool(trials, points_per_decade)).collect(),
        };
    trials.into_iter().map(distribution).collect()
}

fn pool(trials: &[&Histogram], points: u32) -> Pooled {
    let mut whole = Histogram::default();
    trials.iter().for_each(|trial| whole.merge(trial));
    let fewest = trials.iter().map(|trial| trial.count).min().unwrap_or(0);
    let band: Vec<Vec<u64>> =
        trials.iter().map(|trial| curve(trial, &grid(fewest, points))).collect();
    let across = |pick: fn(u64, u64) -> u64| {
        let at = |point| band.iter().map(|trial: &Vec<u64>| trial[point]).reduce(pick).unwrap_or(0);
        (0..band.first().map_or(0, Vec::len)).map(|point| Short(at(point) as f64)).collect()
    };
    Pooled {
        samples: whole.count,
        trials: trials.len(),
        pooled: curve(&whole, &grid(whole.count, points))
            .into_iter()
            .map(|v| Short(v as f64))
            .collect(),
        low: across(u64::min),
        high: across(u64::max),
        bins: bins(&whole),
    }
}

/// The quantiles at equal steps of `log(1/(1−p))`, up to the last one that the number of samples
/// supports.
fn grid(samples: u64, per_decade: u32) -> Vec<f64> {
    let points = 0..=(per_decade * DECADES);
    let quantiles = points.map(|i| 1.0 - 10f64.powf(-f64::from(i) / f64::from(per_decade)));
    quantiles
        .take_while(|&quantile| quantile < 0.8 || samples_needed(quantile) <= samples)
        .collect()
}

fn bins(histogram: &Histogram) -> Vec<(i32, u64)> {
    let mut bins: BTreeMap<i32, u64> = BTreeMap::new();
    for &(value, samples) in &histogram.buckets {
        let bin = ((value.max(1) as f64).log10() * BINS_PER_DECADE).floor() as i32;
        *bins.entry(bin).or_default() += samples;
    }
    bins.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform(count: u64) -> Histogram {
        let buckets = (1..=count).map(|value| (value, 1)).collect();
        Histogram { count, min: 1, max: count, buckets, ..Histogram::default() }
    }

    #[test]
    fn a_curve_ends_where_the_samples_do() {
        let last = |samples| *grid(samples, 28).last().unwrap();
        assert!(last(368) >= 0.98 && last(368) <= 0.99);
        assert!(last(3_688) > 0.998 && last(3_688) <= 0.9990001);
        assert!(grid(u64::MAX, 28).len() <= 200);
    }

    #[test]
    fn pools_keep_every_sample_and_bands_hold_the_trials() {
        let (short, long) = (uniform(1_000), uniform(2_000));
        let pooled = pool(&[&short, &long], 28);
        assert_eq!(pooled.samples, 3_000);
        assert_eq!(pooled.bins.iter().map(|(_, samples)| samples).sum::<u64>(), 3_000);
        assert!(pooled.pooled.len() > pooled.low.len());
        for (low, high) in pooled.low.iter().zip(&pooled.high) {
            assert!(low.0 <= high.0);
        }
    }
}
