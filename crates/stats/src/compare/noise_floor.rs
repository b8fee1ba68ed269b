// SPDX-License-Identifier: GPL-2.0-only
//! The noise floor: the largest difference that two sets of trials show although nothing differs.
//!
//! Between independent trials of one contestant, logarithms of a measure have a standard deviation
//! `s`. The difference between the means of `n` trials and of `n` others then lies within `± t · s
//! · √(2/n)` in 95 % of experiments (Student, "The probable error of a mean", Biometrika 6(1),
//! 1908; `t` with `2n − 2` degrees of freedom). A smaller difference is not distinguishable from
//! none. Under a virtual clock there is no noise: seeds are a parameter.

use std::collections::BTreeMap;

use model::{Clock, MeasureKey, Record, Scatter};
use serde::{Deserialize, Serialize};

use crate::number::distributions::student_quantile;
use crate::records::columns::{Column, Numbers, cells, headlines};

/// The fewest trials from which a scatter is estimated.
pub const TRIALS_FOR_SCATTER: usize = 3;

/// The noise floor of a measure in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// The noise floor: differences within ± this many percent are no larger than those between
    /// trials of the same contestant.
    pub percent: f64,
    /// The number of independent trials that it comes from.
    pub trials: usize,
    /// Whether these were A/A trials before the experiment; else the baseline's own trials.
    pub before: bool,
}

/// The floor for `units` independent trials of either contestant, in percent; `deviation` is that
/// of natural logarithms. `None` for fewer than two trials.
fn floor_percent(deviation: f64, units: usize) -> Option<f64> {
    let degrees = units.checked_sub(1).filter(|&more| more > 0)? * 2;
    let half_width = student_quantile(degrees) * deviation * (2.0 / units as f64).sqrt();
    Some(half_width.exp_m1() * 100.0)
}

/// The pooled standard deviation of natural logarithms within groups of equal trials. `None`
/// with fewer than [`TRIALS_FOR_SCATTER`] trials, and where a number is not above 0.
pub fn deviation(groups: &[Vec<f64>]) -> Option<f64> {
    let trials: usize = groups.iter().map(Vec::len).sum();
    let degrees = trials.checked_sub(groups.iter().filter(|group| !group.is_empty()).count())?;
    if trials < TRIALS_FOR_SCATTER
        || degrees == 0
        || groups.iter().flatten().any(|value| *value <= 0.0)
    {
        return None;
    }
    let squares: f64 = groups.iter().map(|group| squares(group)).sum();
    Some((squares / degrees as f64).sqrt())
}

/// The sum of squared distances of logarithms from their mean.
fn squares(values: &[f64]) -> f64 {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    logarithms.iter().map(|value| (value - mean).powi(2)).sum()
}

/// The scatter between A/A trials, whose contestants are all the same. Only of headline measures
/// with a better direction, and only under a real clock.
pub fn scatter(records: &[Record]) -> Vec<Scatter> {
    let mut all = Vec::new();
    for (key, records) in cells(records) {
        if records[0].trial.clock() == Clock::Virtual {
            continue;
        }
        let numbers = Numbers::new(&records);
        for measure in headlines(&records).into_iter().filter(MeasureKey::judges) {
            let groups = units(&numbers.columns(&measure));
            let Some(deviation) = deviation(&groups) else { continue };
            all.push(Scatter {
                backend: key.backend,
                machine: key.machine.clone(),
                cell: records[0].trial.workload.cell(),
                measure: measure.to_string(),
                deviation,
                trials: groups.iter().map(Vec::len).sum(),
            });
        }
    }
    all
}

fn units(columns: &BTreeMap<String, Column>) -> Vec<Vec<f64>> {
    columns.values().map(|column| column.independent_values(Clock::Real)).collect()
}

/// The noise floor of a row: from A/A trials before the experiment, else from the baseline's own
/// trials.
pub(crate) fn noise(
    before: Option<&Scatter>,
    baseline: &Column,
    measure: &MeasureKey,
    clock: Clock,
) -> Option<Noise> {
    if clock == Clock::Virtual || !measure.judges() {
        return None;
    }
    let own = baseline.independent_values(clock);
    let (deviation, trials) = match before {
        Some(found) => (found.deviation, found.trials),
        None => (deviation(std::slice::from_ref(&own))?, own.len()),
    };
    let percent = floor_percent(deviation, own.len())?;
    Some(Noise { percent, trials, before: before.is_some() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_size::power::normal;
    use model::Seed;

    #[test]
    fn equals_come_out_within_the_floor_as_often_as_promised() {
        let (mut seed, mut within) = (Seed(1), 0);
        let mut trials = || (0..8).map(|_| (normal(&mut seed) * 0.03).exp() * 7.0).collect();
        for _ in 0..2_000 {
            let (ours, base): (Vec<f64>, Vec<f64>) = (trials(), trials());
            let mean = |v: &[f64]| v.iter().map(|x| x.ln()).sum::<f64>() / v.len() as f64;
            let apart = ((mean(&ours) - mean(&base)).exp() - 1.0).abs() * 100.0;
            let deviation = deviation(&[ours, base]).unwrap();
            within += u32::from(apart <= floor_percent(deviation, 8).unwrap());
        }
        assert!((1_860..=1_940).contains(&within), "{within} of 2,000; 1,900 are promised");
    }

    #[test]
    fn a_case_by_hand() {
        // Logarithms 0, 1, 2 about 1: variance 1; t with 4 degrees of freedom is 2.776.
        let values = [0.0_f64, 1.0, 2.0].map(f64::exp).to_vec();
        let found = deviation(&[values]).unwrap();
        assert!((found - 1.0).abs() < 1e-12);
        let percent = floor_percent(0.01, 3).unwrap();
        assert!((percent - 2.2926).abs() < 1e-3, "{percent}");
    }

    #[test]
    fn what_says_nothing_is_nothing() {
        assert_eq!(deviation(&[vec![1.0, 2.0]]), None);
        assert_eq!(deviation(&[vec![1.0], vec![2.0], vec![3.0]]), None);
        assert_eq!(deviation(&[vec![0.0, 1.0, 2.0]]), None);
        assert_eq!((floor_percent(0.1, 1), floor_percent(0.1, 0)), (None, None));
    }
}
