// SPDX-License-Identifier: GPL-2.0-only
//! Latency distributions for the charts, in bins of equal ratio.

use std::collections::BTreeMap;

use model::{Histogram, Record};
use serde::Serialize;

pub const BINS_PER_DECADE: f64 = 12.0;

/// One distribution measure of one task group in one cell.
#[derive(Serialize)]
pub struct Distribution {
    name: String,
    group: String,
    /// One per contestant in the comparison's order; empty where there is none.
    contestants: Vec<Pooled>,
}

/// All trials of a contestant together.
#[derive(Default, Serialize)]
struct Pooled {
    /// Bin number (bin `i` starts at `10^(i/12)` ns) and samples; values below 1 are in bin 0.
    bins: Vec<(i32, u64)>,
}

/// The distributions of a cell's `ok` records. Those that lost samples are left out, as in the
/// tables.
pub fn distributions(
    records: &[&Record],
    contestants: &[String],
    wanted: &dyn Fn(&Histogram) -> bool,
) -> Vec<Distribution> {
    let mut pooled: BTreeMap<(&str, &str), Vec<Histogram>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.outcome.is_ok()) {
        let name = &record.trial.contestant.name;
        let Some(place) = contestants.iter().position(|known| known == name) else { continue };
        let complete = record.measured.histograms.iter().filter(|h| h.is_complete() && h.count > 0);
        for histogram in complete.filter(|histogram| wanted(histogram)) {
            let key = (histogram.name.as_str(), histogram.group.as_str());
            let by_contestant =
                pooled.entry(key).or_insert_with(|| vec![Histogram::default(); contestants.len()]);
            by_contestant[place].merge(histogram);
        }
    }
    let distribution = |((name, group), pooled): ((&str, &str), Vec<Histogram>)| Distribution {
        name: name.into(),
        group: group.into(),
        contestants: pooled.iter().map(|whole| Pooled { bins: bins(whole) }).collect(),
    };
    pooled.into_iter().map(distribution).collect()
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

    #[test]
    fn bins_keep_every_sample() {
        let samples: Vec<u64> = (0..3_000).collect();
        let bins = bins(&Histogram::from_samples("latency", "all", &samples));
        assert_eq!(bins.iter().map(|(_, samples)| samples).sum::<u64>(), 3_000);
        assert_eq!(bins[0], (0, 2), "0 and 1 ns share the first bin");
    }
}
