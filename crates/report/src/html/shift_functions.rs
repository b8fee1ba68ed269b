// SPDX-License-Identifier: GPL-2.0-only
//! The shift function of headline distributions for the charts: how far each contestant is from the
//! baseline at each quantile. It costs a resampling for each quantile, so only headline measures
//! have one.

use std::collections::{BTreeMap, BTreeSet};

use model::{Clock, Histogram, Record};
use serde::Serialize;
use stats::compare::shift_function::{
    Contestant, QuantileShift, TrialDistribution, shift_functions,
};
use stats::rank::rank_sum;
use stats::resample::Clusters;
use stats::{Cell, Comparison, Interval};

use super::page_data::Short;

/// The quantiles of every trial; if a trial has too few samples for the last ones, the line ends
/// earlier.
pub const QUANTILES: [f64; 13] =
    [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999];

/// Half of the tables' resamples: a picture is read to two digits.
const RESAMPLES: u32 = 1_000;

/// One distribution of one cell.
#[derive(Clone, Serialize)]
pub struct Shifts {
    name: String,
    group: String,
    /// The number of comparisons that the marks are corrected for.
    comparisons: usize,
    /// Whether there are enough trials for any mark.
    can_claim: bool,
    /// By contestant, then by [`QUANTILES`]; empty for the baseline and where there are no trials.
    contestants: Vec<Vec<Option<At>>>,
}

/// In percent of the baseline's quantile, its interval; in nanoseconds, its interval; the corrected
/// p value.
type At = (Option<Short>, Option<[Short; 2]>, Short, Option<[Short; 2]>, Option<Short>);

/// The distributions of every cell, in the comparison's order.
pub fn shifts(comparison: &Comparison, records_of: &[Vec<&Record>]) -> Vec<Vec<Shifts>> {
    let cells = comparison.cells.iter().zip(records_of);
    cells.map(|(cell, records)| of_cell(comparison, cell, records)).collect()
}

fn of_cell(comparison: &Comparison, cell: &Cell, records: &[&Record]) -> Vec<Shifts> {
    let wanted: BTreeSet<(&str, &str)> = cell
        .headline()
        .filter(|row| row.measure.statistic.is_some())
        .map(|row| (row.measure.name.as_str(), row.measure.group.as_str()))
        .collect();
    let trials = trials(cell, records, &wanted);
    trials
        .into_iter()
        .filter_map(|(key, trials)| of_measure(comparison, cell, key, trials))
        .collect()
}

/// A contestant's trials; those of one boot have its number.
type TrialDistributions<'a> = BTreeMap<&'a str, Vec<TrialDistribution<'a>>>;

/// The distributions of `ok` records, by measure and contestant. Under a virtual clock a repeated
/// trial is the same measurement again, and counts once.
fn trials<'a>(
    cell: &Cell,
    records: &[&'a Record],
    wanted: &BTreeSet<(&str, &str)>,
) -> BTreeMap<(&'a str, &'a str), TrialDistributions<'a>> {
    let mut found: BTreeMap<(&str, &str), TrialDistributions> = BTreeMap::new();
    let (mut boots, mut seen) = (BTreeMap::new(), BTreeSet::new());
    for record in records.iter().filter(|record| record.outcome.is_ok() && !wanted.is_empty()) {
        if cell.clock == Clock::Virtual && !seen.insert(record.trial.id()) {
            continue;
        }
        let next = boots.len() as u32;
        let boot = (record.trial.boot, record.provenance.boot_id.as_str());
        let boot = *boots.entry(boot).or_insert(next);
        let whole = |histogram: &&Histogram| histogram.count > 0 && histogram.is_complete();
        for histogram in record.measured.histograms.iter().filter(whole) {
            let key = (histogram.name.as_str(), histogram.group.as_str());
            if wanted.contains(&key) {
                let by_contestant = found.entry(key).or_default();
                let trials = by_contestant.entry(&record.trial.contestant.name).or_default();
                trials.push(TrialDistribution {
                    boot,
                    pairing_key: record.trial.pairing_key(),
                    histogram,
                });
            }
        }
    }
    found
}

fn of_measure(
    comparison: &Comparison,
    cell: &Cell,
    (name, group): (&str, &str),
    mut trials: TrialDistributions,
) -> Option<Shifts> {
    let baseline = trials.remove(comparison.baseline.as_str())?;
    let others: Vec<Contestant> =
        trials.into_iter().map(|(name, trials)| Contestant { name, trials }).collect();
    let seed = comparison.seed.derive(&format!("shifts of {name} {group} in {}", cell.label()));
    let all = shift_functions(&others, &baseline, &QUANTILES, RESAMPLES, seed);
    let steps_of = |wanted: &String| {
        let place = others.iter().position(|contestant| contestant.name == wanted.as_str());
        place.map(|place| all[place].iter().map(at).collect()).unwrap_or_default()
    };
    let comparisons = all.iter().flatten().filter(|step| step.p_adjusted.is_some()).count();
    if comparisons == 0 {
        return None;
    }
    let most = others.iter().map(|contestant| units(&contestant.trials)).max().unwrap_or(0);
    let possible = rank_sum::can_claim(most, units(&baseline), comparisons);
    Some(Shifts {
        name: name.into(),
        group: group.into(),
        comparisons,
        can_claim: possible,
        contestants: comparison.contestants.iter().map(steps_of).collect(),
    })
}

/// Independent trials: boots, or the trials themselves where all are of one boot.
fn units(trials: &[TrialDistribution]) -> usize {
    Clusters::new(trials.iter().map(|trial| trial.boot)).units()
}

fn at(step: &QuantileShift) -> Option<At> {
    let shift = step.shift.as_ref().ok()?;
    let ends = |ends: Interval| [Short(ends.low), Short(ends.high)];
    Some((
        shift.percent.map(Short),
        shift.percent_interval.map(ends),
        Short(shift.value),
        shift.interval.map(ends),
        step.p_adjusted.map(Short),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_of_one_boot_are_one_unit() {
        let histogram = Histogram::from_samples("latency", "all", &[1, 2, 3]);
        let trial = |boot| TrialDistribution {
            boot,
            pairing_key: Some((0, model::Seed(1))),
            histogram: &histogram,
        };
        assert_eq!(units(&[trial(1), trial(1), trial(2)]), 2);
        assert_eq!(units(&[trial(1), trial(1)]), 2, "of one boot, the trials are all there is");
        assert_eq!(units(&[]), 0);
    }

    #[test]
    fn quantiles_ascend_as_the_statistic_wants_them() {
        assert!(QUANTILES.is_sorted());
    }
}
