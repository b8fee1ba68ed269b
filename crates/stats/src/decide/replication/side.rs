// SPDX-License-Identifier: GPL-2.0-only
//! One side of an expectation: the records that belong to it, and its independent numbers.

use std::collections::BTreeMap;

use model::claim::Place;
use model::{Backend, Clock, MeasureKey, Outcome, Record};

use super::{Absence, Reproduction};
use crate::number::median::median;
use crate::records::columns::{Column, Numbers};

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
