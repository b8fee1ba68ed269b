// SPDX-License-Identifier: GPL-2.0-only
//! Series of a contestant in a cell: for each interval the median over the trials, and the lowest
//! and the highest trial.
//!
//! Trials may differ in length, and longer ones have wider intervals; all are brought to the
//! widest. Every series is a mean over its interval, so a wider interval has the mean of its parts,
//! each weighted by its length.

use model::series::{Definition, SERIES};
use model::{Record, Series};

use crate::number::median::median;

/// A series over several trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    pub definition: &'static Definition,
    pub trials: usize,
    pub interval_ns: u64,
    /// Where the longest trial ended, ns.
    pub end_ns: u64,
    /// For each interval the median over the trials that got there; it ends where fewer than half
    /// of them did.
    pub median: Vec<f64>,
    pub low: Vec<f64>,
    pub high: Vec<f64>,
}

/// The series of a contestant's trials that ended well, with no more intervals than `points_max`;
/// those that no trial has are left out.
pub fn bands(trials: &[&Record], points_max: usize) -> Vec<Band> {
    let trials = trials.iter().filter(|trial| trial.outcome.is_ok());
    let trials: Vec<&Record> = trials.copied().collect();
    SERIES.iter().filter_map(|definition| band(definition, &trials, points_max)).collect()
}

fn band(definition: &'static Definition, trials: &[&Record], points_max: usize) -> Option<Band> {
    let found = trials.iter().filter_map(|trial| trial.measured.series(definition.name));
    let found: Vec<&Series> = found.filter(|series| !series.values.is_empty()).collect();
    let mut interval_ns = found.iter().map(|series| series.interval_ns).max()?;
    let end_ns = found.iter().map(|series| series.end_ns).max()?;
    while points(end_ns, interval_ns) > points_max.max(1) {
        interval_ns *= 2;
    }
    let resampled: Vec<Vec<f64>> =
        found.iter().map(|series| resample(series, interval_ns)).collect();
    let mut band = Band {
        definition,
        trials: found.len(),
        interval_ns,
        end_ns,
        median: Vec::new(),
        low: Vec::new(),
        high: Vec::new(),
    };
    for index in 0..points(end_ns, interval_ns) {
        let there: Vec<f64> =
            resampled.iter().filter_map(|trial| trial.get(index).copied()).collect();
        let Some(middle) = median(&there) else { break };
        if 2 * there.len() < found.len() {
            break;
        }
        band.median.push(middle);
        band.low.push(there.iter().copied().fold(f64::INFINITY, f64::min));
        band.high.push(there.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    }
    Some(band)
}

/// Intervals of a trial: a short rest is a part of the last one, as in a record.
fn points(end_ns: u64, interval_ns: u64) -> usize {
    ((end_ns + interval_ns / 2) / interval_ns).max(1) as usize
}

/// The means over wider intervals.
fn resample(series: &Series, interval_ns: u64) -> Vec<f64> {
    let count = points(series.end_ns, interval_ns);
    let mut sums = vec![(0.0, 0.0); count];
    for (index, value) in series.values.iter().enumerate() {
        let (begin_ns, end_ns) = series.interval(index);
        let at = ((begin_ns / interval_ns) as usize).min(count - 1);
        let length = end_ns.saturating_sub(begin_ns) as f64;
        sums[at].0 += value * length;
        sums[at].1 += length;
    }
    sums.into_iter().map(|(sum, length)| if length > 0.0 { sum / length } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(interval_ns: u64, end_ns: u64, values: &[f64]) -> Series {
        let (name, values) = ("busy_share".into(), values.to_vec());
        Series { name, interval_ns, end_ns, values, missing: None }
    }

    fn record(series: Vec<Series>) -> Record {
        let (trial, outcome) = (model::Trial::default(), model::Outcome::Ok);
        let mut record = Record::without_measurement(trial, outcome, Default::default());
        record.measured.series = series;
        record
    }

    #[test]
    fn wider_intervals_are_means_weighed_by_length() {
        // The last of three intervals is almost one and a half times as long.
        let narrow = series(10, 34, &[0.2, 0.4, 0.8]);
        assert_eq!(resample(&narrow, 10), [0.2, 0.4, 0.8]);
        let wide = resample(&narrow, 20);
        assert!((wide[0] - 0.3).abs() < 1e-12 && (wide[1] - 0.8).abs() < 1e-12, "{wide:?}");
        assert_eq!(resample(&narrow, 80).len(), 1);
    }

    #[test]
    fn trials_of_different_lengths_share_their_intervals() {
        let trials = [
            record(vec![series(10, 40, &[0.0, 0.2, 0.4, 0.6])]),
            record(vec![series(10, 20, &[0.4, 0.6])]),
            record(vec![series(20, 100, &[0.3, 0.5, 0.5, 0.5, 0.5])]),
        ];
        let trials: Vec<&Record> = trials.iter().collect();
        let bands = bands(&trials, 60);
        let [band] = bands.as_slice() else { panic!("one series: {bands:?}") };
        assert_eq!((band.trials, band.interval_ns, band.end_ns), (3, 20, 100));
        assert_eq!(band.median, [0.3, 0.5], "the third interval has one trial of three");
        assert_eq!((band.low[0], band.high[0]), (0.1, 0.5));
    }

    #[test]
    fn what_no_trial_has_is_left_out() {
        assert_eq!(bands(&[], 60), []);
        let missing = record(model::series::missing("no probes"));
        assert_eq!(bands(&[&missing], 60), []);
        let mut failed = record(vec![series(10, 10, &[1.0])]);
        failed.outcome = model::Outcome::Failed { reason: "x".into() };
        assert_eq!(bands(&[&failed], 60), []);
    }
}
