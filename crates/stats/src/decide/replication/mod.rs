// SPDX-License-Identifier: GPL-2.0-only
//! Replication: do the records confirm a published finding?
//!
//! ```text
//! Expectation + records ─► two sides ─► estimate with interval ─► verdict
//! ```
//!
//! The two sides are the trials of two contestants, or of one contestant in two cells, on two
//! machines, or of two of its groups. Each independent unit gives one number: a seed under a
//! virtual clock, a boot (the median of its trials) under a real one. The estimate is the
//! Hodges–Lehmann shift, of logarithms where a ratio is asked for, with its exact
//! [`rank_interval`]; of one side alone it is the median, with its
//! [`quantile`](crate::number::quantile) interval. Trials that did not end well have
//! no number; they are counted and reported.
//!
//! One side of an expectation: the records that belong to it, and its independent numbers.

use std::collections::BTreeMap;

use model::claim::{By, Expectation, Is, Place};
use model::{Backend, Clock, MeasureKey, Outcome, Record};

use crate::number::interval::Interval;
use crate::number::quantile::{self, median};
use crate::rank::rank_sum;
use crate::records::columns::{Column, Numbers};

/// The result of an expectation, a test or a claim; of several the last in this order decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reproduction {
    /// The published direction in the published size.
    Reproduced,
    /// The published direction, in another size.
    DirectionOnly,
    /// The trials show neither the published direction nor its opposite.
    NotReproduced,
    /// It was not measured: no backend of this machine can do it, or the user did not ask for it.
    Untested,
    /// It was measured, and there are no numbers to judge by.
    NoData,
    /// The opposite of what was published.
    Contradicted,
}

impl Reproduction {
    /// All, the best first.
    pub const ALL: [Reproduction; 6] = [
        Self::Reproduced,
        Self::DirectionOnly,
        Self::NotReproduced,
        Self::Untested,
        Self::NoData,
        Self::Contradicted,
    ];

    /// Whether the verdict rests on numbers.
    pub fn has_data(self) -> bool {
        !matches!(self, Reproduction::Untested | Reproduction::NoData)
    }

    pub fn words(self) -> &'static str {
        match self {
            Reproduction::Reproduced => "reproduced",
            Reproduction::DirectionOnly => "direction only",
            Reproduction::NotReproduced => "not reproduced",
            Reproduction::Untested => "not tested",
            Reproduction::NoData => "no data",
            Reproduction::Contradicted => "contradicted",
        }
    }
}

/// A number in the form of [`By`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    pub interval: Interval,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The side that the expectation is about.
    pub of: Side,
    pub over: Option<Side>,
    /// The number; `None` where there is none, see `why`.
    pub estimate: Option<Estimate>,
    pub verdict: Reproduction,
    pub why: Option<String>,
    /// Notes on trials and numbers that were left out.
    pub against: Vec<String>,
}

pub fn judge(expectation: &Expectation, backend: Backend, records: &[Record]) -> Finding {
    let of = Side::new(&expectation.place(), backend, records);
    let over = expectation.other().map(|place| Side::new(&place, backend, records));
    let sides = || [Some(&of), over.as_ref()].into_iter().flatten();
    let mut against: Vec<String> = sides().flat_map(Side::left_out).collect();
    against.dedup();
    let absent = sides().find_map(Side::absence);
    let measured = match absent {
        Some(absence) => Err(absence),
        None => measured(expectation, &of, over.as_ref()),
    };
    let (estimate, verdict, why) = match measured {
        Ok(estimate) => (Some(estimate), verdict(expectation, estimate), None),
        Err((verdict, why)) => (None, verdict, Some(why)),
    };
    Finding { of, over, estimate, verdict, why, against }
}

/// A verdict without a number, and its reason.
pub type Absence = (Reproduction, String);

fn no_data<T>(why: impl Into<String>) -> Result<T, Absence> {
    Err((Reproduction::NoData, why.into()))
}

fn measured(
    expectation: &Expectation,
    of: &Side,
    over: Option<&Side>,
) -> Result<Estimate, Absence> {
    match (expectation.by, over) {
        (By::Value, _) => alone(of),
        (By::Ratio, Some(over)) => ratio(of, over),
        (By::Difference, Some(over)) => difference(&of.units, &over.units),
        (By::Ratio | By::Difference, None) => no_data("there is nothing to compare it with"),
    }
}

/// The median of one side's independent trials, or why they give no interval.
pub fn alone(of: &Side) -> Result<Estimate, Absence> {
    let mut sorted = of.units.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let trials = sorted.len();
    match (median(&sorted), quantile::ranks(trials as u64, 0.5)) {
        (Some(value), Ok((low, high))) => {
            let at = |rank: u64| sorted[rank as usize - 1];
            Ok(Estimate { value, interval: Interval { low: at(low), high: at(high) } })
        }
        (_, Err(needed)) => no_data(format!(
            "{trials} independent trials are too few for an interval; it needs {needed}"
        )),
        (None, _) => no_data("no trial has a number"),
    }
}

fn difference(of: &[f64], over: &[f64]) -> Result<Estimate, Absence> {
    let Some((value, interval)) = rank_sum::shift(of, over) else {
        return no_data(format!(
            "{} and {} independent trials are too few for an interval; it needs 4 and 4",
            of.len(),
            over.len()
        ));
    };
    Ok(Estimate { value, interval })
}

/// The shift of logarithms. Sides that are 0 in all their trials are equal, and their ratio is 1;
/// where some are 0 there is none.
fn ratio(of: &Side, over: &Side) -> Result<Estimate, Absence> {
    let none_above = |side: &Side| side.units.iter().all(|value| *value == 0.0);
    if none_above(of) && none_above(over) {
        let equal = difference(&of.units, &over.units)?;
        return Ok(Estimate { value: equal.value.exp(), interval: exp(equal.interval) });
    }
    for side in [of, over] {
        let low = side.units.iter().filter(|value| **value <= 0.0).count();
        if low > 0 {
            let (name, all) = (&side.contestant, side.units.len());
            return no_data(format!(
                "{name} has 0 in {low} of {all} independent trials, and nothing is a multiple of \
                 it; by = \"difference\" would tell"
            ));
        }
    }
    let logarithms = |side: &Side| side.units.iter().map(|value| value.ln()).collect::<Vec<_>>();
    let shift = difference(&logarithms(of), &logarithms(over))?;
    Ok(Estimate { value: shift.value.exp(), interval: exp(shift.interval) })
}

fn exp(interval: Interval) -> Interval {
    Interval { low: interval.low.exp(), high: interval.high.exp() }
}

/// The rule: `more` and `less` need the whole interval on their side of what is neutral, and the
/// estimate inside the size; `equal` needs the whole interval inside the size.
pub fn verdict(expectation: &Expectation, Estimate { value, interval }: Estimate) -> Reproduction {
    let size = expectation.ends();
    if expectation.is == Is::Equal {
        return match size {
            Some((low, high)) if low <= interval.low && interval.high <= high => {
                Reproduction::Reproduced
            }
            Some((low, high)) if interval.high < low || high < interval.low => {
                Reproduction::Contradicted
            }
            _ => Reproduction::NotReproduced,
        };
    }
    let Some(neutral) = expectation.neutral() else { return Reproduction::NotReproduced };
    let (more, less) = (interval.low > neutral, interval.high < neutral);
    let published = if expectation.is == Is::More { more } else { less };
    if published && size.is_none_or(|(low, high)| low <= value && value <= high) {
        Reproduction::Reproduced
    } else if published {
        Reproduction::DirectionOnly
    } else if more || less {
        Reproduction::Contradicted
    } else {
        Reproduction::NotReproduced
    }
}

/// The result of a test: the worst of its expectations.
pub fn of_test(findings: &[Finding]) -> Reproduction {
    findings.iter().map(|finding| finding.verdict).max().unwrap_or(Reproduction::Untested)
}

/// A claim has the verdict of its first test with data; without any it is "no data" if a test was
/// measured, else "not tested".
pub fn of_claim(tests: &[Reproduction]) -> Reproduction {
    let with_data = tests.iter().copied().find(|verdict| verdict.has_data());
    with_data.or(tests.iter().copied().max()).unwrap_or(Reproduction::Untested)
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    pub contestant: String,
    /// A number for each independent trial, in the measure's unit: a seed under a virtual clock, a
    /// boot under a real one.
    pub units: Vec<f64>,
    pub median: Option<f64>,
    /// All trials, in any outcome.
    pub trials: usize,
    /// Bad outcomes, by outcome and reason.
    pub failed: BTreeMap<String, usize>,
    /// Of those, trials that this kernel or machine cannot run at all.
    pub unsupported: usize,
    /// `ok` trials without a number, by reason.
    pub missing: BTreeMap<String, u32>,
}

impl Side {
    pub(super) fn new(place: &Place<'_>, backend: Backend, records: &[Record]) -> Side {
        let chosen: Vec<&Record> =
            records.iter().filter(|record| holds(place, backend, record)).collect();
        let column = column(place, &chosen);
        let units = column
            .independent_values(chosen.first().map_or(Clock::Real, |record| record.trial.clock()));
        let bad = || chosen.iter().map(|record| &record.outcome).filter(|outcome| !outcome.is_ok());
        let mut failed = BTreeMap::new();
        for outcome in bad() {
            let reason = outcome.reason().lines().next().unwrap_or_default();
            *failed.entry(format!("{}: {reason}", outcome.word())).or_default() += 1;
        }
        let unsupported = |outcome: &&Outcome| matches!(outcome, Outcome::Unsupported { .. });
        Side {
            contestant: place.contestant.into(),
            median: median(&units),
            units,
            trials: chosen.len(),
            failed,
            unsupported: bad().filter(unsupported).count(),
            missing: column.missing,
        }
    }

    /// Why it has no number at all; `None` if it has one.
    pub(super) fn absence(&self) -> Option<Absence> {
        if !self.units.is_empty() {
            return None;
        }
        let (name, reason) = (&self.contestant, self.reason());
        if self.trials == 0 {
            return Some((Reproduction::NoData, format!("there is no trial of {name}")));
        }
        let all_unsupported = self.trials == self.unsupported;
        let verdict = if all_unsupported { Reproduction::Untested } else { Reproduction::NoData };
        Some((verdict, format!("{name} has no number: {reason}")))
    }

    /// Why there is no number, where there is none.
    pub fn reason(&self) -> String {
        let mut reasons = self.failed.keys().chain(self.missing.keys());
        reasons.next().map_or_else(|| "no trial has such a number".into(), String::clone)
    }

    /// What is left out of its numbers, a sentence for each reason; without any see
    /// [`Side::absence`].
    pub(super) fn left_out(&self) -> Vec<String> {
        if self.units.is_empty() {
            return Vec::new();
        }
        let (name, all) = (&self.contestant, self.trials);
        let failed = self.failed.iter().map(|(reason, trials)| {
            format!("{trials} of {all} trials of {name} did not end well ({reason})")
        });
        let missing = self.missing.iter().map(|(reason, trials)| {
            format!("{trials} of {all} trials of {name} have no number ({reason})")
        });
        failed.chain(missing).collect()
    }
}

fn holds(place: &Place<'_>, backend: Backend, record: &Record) -> bool {
    let trial = &record.trial;
    trial.backend == backend
        && trial.contestant.name == place.contestant
        && place.machine.is_none_or(|machine| machine == trial.machine.name)
        && place.cell.is_none_or(|cell| cell == trial.workload.cell())
}

/// The measure's numbers; empty where no record has it.
fn column(place: &Place<'_>, records: &[&Record]) -> Column {
    let Ok(key) = place.measure.parse::<MeasureKey>() else { return Column::default() };
    Numbers::new(records).columns(&key).remove(place.contestant).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use Reproduction::*;

    use super::*;

    #[test]
    fn the_first_test_with_data_speaks_for_the_claim() {
        assert_eq!(of_claim(&[Untested, NoData, DirectionOnly, Contradicted]), DirectionOnly);
        assert_eq!(of_claim(&[Untested, NoData]), NoData);
        assert_eq!(of_claim(&[Untested]), Untested);
        assert_eq!(of_claim(&[]), Untested);
    }
}
