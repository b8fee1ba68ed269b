// SPDX-License-Identifier: GPL-2.0-only
//! Numbers to print next to published ones: a median for each contestant, without a verdict.

use crate::number::interval::Interval;
use std::collections::BTreeSet;

use model::claim::{Beside, Place};
use model::{Backend, Record};
use serde::{Deserialize, Serialize};

use super::{Side, alone};

/// One contestant's number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Number {
    pub contestant: String,
    /// The median of the independent trials in the measure's unit, or why there is none.
    pub median: Result<f64, String>,
    /// The spread of the trials.
    pub spread: Option<Spread>,
    /// Independent trials.
    pub trials: usize,
}

/// The uncertainty of a median.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Spread {
    /// Its 95 % interval of order statistics.
    Interval(Interval),
    /// The smallest and the largest trial, if there are too few for an interval.
    Range(Interval),
}

/// The numbers of all contestants, by name.
pub fn beside(one: &Beside, backend: Backend, records: &[Record]) -> Vec<Number> {
    let names: BTreeSet<&str> =
        records.iter().map(|record| record.trial.contestant.name.as_str()).collect();
    let place = |contestant| Place {
        measure: &one.measure,
        contestant,
        cell: one.cell.as_deref(),
        machine: one.machine.as_deref(),
    };
    names.into_iter().map(|name| number(Side::new(&place(name), backend, records))).collect()
}

fn number(side: Side) -> Number {
    let median = side.median.ok_or_else(|| side.reason());
    Number { spread: spread(&side), trials: side.units.len(), contestant: side.contestant, median }
}

fn spread(side: &Side) -> Option<Spread> {
    if let Ok(estimate) = alone(side) {
        return Some(Spread::Interval(estimate.interval));
    }
    let low = side.units.iter().copied().min_by(f64::total_cmp)?;
    let high = side.units.iter().copied().max_by(f64::total_cmp)?;
    Some(Spread::Range(Interval { low, high }))
}
