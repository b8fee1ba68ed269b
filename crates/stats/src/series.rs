// SPDX-License-Identifier: GPL-2.0-only
//! Statistics of ordered numbers: a measure's values in time, or over the steps of a ramp.
//!
//! Change points of a series of trials or sessions: where its level jumps.
//!
//! Of all ways to cut the series into segments this finds the one with the least sum of squares
//! about the segments' means, plus a penalty for each cut. PELT finds it exactly, and drops starts
//! that cannot win any more (Killick, Fearnhead, Eckley, "Optimal detection of changepoints with a
//! linear computational cost", JASA 107(500), 2012).
//!
//! The values must be in the order in which they were measured. It sees jumps, not trends: a slow
//! drift is cut into steps.
//!
//! Series of a contestant in a cell: for each interval the median over the trials, and the lowest
//! and the highest trial.
//!
//! Trials may differ in length, and longer ones have wider intervals; all are brought to the
//! widest. Every series is a mean over its interval, so a wider interval has the mean of its parts,
//! each weighted by its length.

use model::series::{Definition, SERIES};
use model::{Record, Series};

use crate::number::quantile::{NORMAL_SCALE, median};

/// No segment is shorter: one trial alone is an outlier, not a level.
const SHORTEST: usize = 2;

/// Levels that differ by less than this part of the last one are one level.
const SAME_LEVEL: f64 = 0.01;

/// The penalty for a cut, as a multiple of variance · ln n. The criterion of Schwarz (1978) has 2
/// for a mean and a place; series of trials are short and their variance is estimated poorly, so
/// that 2 would find a change in every fifth series without one.
const PENALTY: f64 = 5.0;

/// More trials than this are looked at as means of equally many neighbours: without any jump, time
/// grows with their square.
const MOST: usize = 1_000;

/// The starts of all segments but the first, ascending. The variance inside segments is estimated
/// from the differences between neighbours, which jumps hardly touch.
pub fn change_points(values: &[f64]) -> Vec<usize> {
    let n = values.len() as f64;
    let steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let Some(step) = median(&steps) else { return Vec::new() };
    let deviation = step * NORMAL_SCALE / std::f64::consts::SQRT_2;
    pelt(values, PENALTY * deviation * deviation * n.ln())
}

/// Whether a level of the series differs from its last one by more than [`SAME_LEVEL`].
pub fn level_changes(values: &[f64]) -> bool {
    let neighbours = values.chunks(values.len().div_ceil(MOST).max(1));
    let means = neighbours.map(|few| few.iter().sum::<f64>() / few.len() as f64);
    let values: &[f64] = &means.collect::<Vec<f64>>();
    let mut ends = change_points(values);
    ends.push(values.len());
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let levels = starts
        .zip(&ends)
        .map(|(start, &end)| values[start..end].iter().sum::<f64>() / (end - start) as f64);
    let levels: Vec<f64> = levels.collect();
    let last = levels[levels.len() - 1];
    levels.iter().any(|level| (level - last).abs() > SAME_LEVEL * last.abs())
}

/// The cuts with the least penalised sum of squares; `penalty` is in the values' unit, squared. A
/// cut must gain more than rounding can.
pub fn pelt(values: &[f64], penalty: f64) -> Vec<usize> {
    let sums = Sums::new(values);
    let penalty = penalty + 1e-9 * sums.cost(0, values.len());
    // For each end: the least cost up to there, and the start of the last segment.
    let mut best: Vec<(f64, usize)> = vec![(-penalty, 0)];
    best.resize(values.len() + 1, (f64::INFINITY, 0));
    // Each start with the end from which on it cannot win any more.
    let mut starts: Vec<(usize, usize)> = Vec::new();
    for end in SHORTEST..=values.len() {
        starts.push((end - SHORTEST, usize::MAX));
        starts.retain(|&(_, hopeless)| end < hopeless);
        let reach = |start: usize| (best[start].0 + sums.cost(start, end), start);
        let reached: Vec<(f64, usize)> = starts.iter().map(|&(start, _)| reach(start)).collect();
        let least = reached.iter().min_by(|a, b| a.0.total_cmp(&b.0));
        let Some(&(cost, start)) = least else { continue };
        best[end] = (cost + penalty, start);
        // A start that costs more than the best here, even with a cut here for nothing, never
        // catches up, once the segment after that cut is long enough.
        for ((_, hopeless), (reached, _)) in starts.iter_mut().zip(&reached) {
            if *reached > cost + penalty {
                *hopeless = (*hopeless).min(end + SHORTEST);
            }
        }
    }
    cuts(&best)
}

/// The way back from the end.
fn cuts(best: &[(f64, usize)]) -> Vec<usize> {
    let last = |end: usize| Some(best[end].1).filter(|&start| start > 0);
    let mut cuts: Vec<usize> =
        std::iter::successors(last(best.len() - 1), |&end| last(end)).collect();
    cuts.reverse();
    cuts
}

/// Sums from the first value on, about the first value so that they stay precise.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn new(values: &[f64]) -> Sums {
        let origin = values.first().copied().unwrap_or_default();
        let mut sums = vec![(0.0, 0.0)];
        sums.extend(values.iter().scan((0.0, 0.0), |sum, value| {
            let value = value - origin;
            *sum = (sum.0 + value, sum.1 + value * value);
            Some(*sum)
        }));
        Sums(sums)
    }

    /// The sum of squares about the mean of the values from `start` to before `end`.
    fn cost(&self, start: usize, end: usize) -> f64 {
        let ((from, from_squares), (to, to_squares)) = (self.0[start], self.0[end]);
        let n = (end - start).max(1) as f64;
        (to_squares - from_squares - (to - from) * (to - from) / n).max(0.0)
    }
}

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
    use model::Seed;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn jumps_are_found_where_they_are() {
        let level = |level: f64, n: usize| (0..n).map(move |i| level + [0.1, -0.2, 0.15][i % 3]);
        let series: Vec<f64> = level(5.0, 7).chain(level(9.0, 6)).chain(level(2.0, 9)).collect();
        assert_eq!(change_points(&series), [7, 13]);
        assert_eq!(change_points(&[5.0, 5.0, 5.0, 9.0, 9.0, 9.0]), [3]);
        assert_eq!(change_points(&[5.0; 9]), [] as [usize; 0]);
        assert_eq!((change_points(&[]), change_points(&[1.0])), (vec![], vec![]));
        assert!(level_changes(&series) && !level_changes(&[5.0; 9]) && !level_changes(&[]));
        assert!(!level_changes(&[5.0, 5.0, 5.0, 5.04, 5.04, 5.04]), "less than 1 %");
    }

    /// Normal series without a change: the penalty keeps false alarms rare.
    #[test]
    fn flat_series_are_seldom_cut() {
        let mut seed = Seed(9);
        let mut normal =
            || (0..12).map(|_| seed.below(1 << 30) as f64 / 2f64.powi(30)).sum::<f64>();
        for n in [10, 20, 60] {
            let cut = (0..1_000).filter(|_| {
                let series: Vec<f64> = (0..n).map(|_| normal()).collect();
                !change_points(&series).is_empty()
            });
            let cut = cut.count();
            println!("{n} trials: {cut} of 1000 flat series cut");
            assert!(cut <= 100, "{n}: {cut}");
        }
    }

    /// Every way to cut, one by one.
    fn exhaustive(values: &[f64], penalty: f64) -> f64 {
        let sums = Sums::new(values);
        let n = values.len();
        let cost = |set: u32| {
            let cuts = (1..n).filter(|at| set >> at & 1 == 1);
            let ends: Vec<usize> = std::iter::once(0).chain(cuts).chain([n]).collect();
            let fits = ends.windows(2).all(|pair| pair[1] - pair[0] >= SHORTEST);
            let cost: f64 = ends.windows(2).map(|pair| sums.cost(pair[0], pair[1])).sum();
            if fits { cost + penalty * (ends.len() - 2) as f64 } else { f64::INFINITY }
        };
        (0u32..1 << n).step_by(2).map(cost).fold(f64::INFINITY, f64::min)
    }

    proptest! {
        #[test]
        fn no_other_way_to_cut_is_better(
            values in prop::collection::vec(-9.0..9.0f64, 4..12), penalty in 0.5..60.0f64,
        ) {
            let sums = Sums::new(&values);
            let cuts = pelt(&values, penalty);
            let ends: Vec<usize> =
                std::iter::once(0).chain(cuts).chain([values.len()]).collect();
            let ours: f64 = ends.windows(2).map(|pair| sums.cost(pair[0], pair[1])).sum();
            let ours = ours + penalty * (ends.len() - 2) as f64;
            prop_assert!(ours <= exhaustive(&values, penalty) + 1e-6);
        }
    }

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
