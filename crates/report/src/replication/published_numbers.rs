// SPDX-License-Identifier: GPL-2.0-only
//! Measured numbers next to the published ones, as tables: a row for each measure in a cell, a
//! column for each contestant.

use std::collections::BTreeSet;

use model::MeasureKey;
use model::claim::Beside;
use model::metric::Unit;
use stats::decide::replication::{Number, Spread};

use super::judged::Tested;
use super::phrases::{plain, short};
use crate::units;

/// One measure in a cell.
pub(crate) struct PublishedRow {
    /// `policies cpu=1000`.
    pub cell: String,
    /// `completion`.
    pub measure: String,
    /// In the order of [`columns`]; empty where the contestant was not measured.
    pub numbers: Vec<String>,
}

/// The contestants of a test's table, in order.
pub(crate) fn columns(tested: &Tested) -> Vec<&str> {
    let names = tested.beside.iter().flatten().map(|number| number.contestant.as_str());
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The table's rows; none without numbers.
pub(crate) fn rows(tested: &Tested) -> Vec<PublishedRow> {
    let columns = columns(tested);
    let besides = &tested.test.beside;
    let cells: Vec<&str> = besides.iter().filter_map(|one| one.cell.as_deref()).collect();
    let row = |(one, numbers): (&Beside, &Vec<Number>)| {
        let cell = |name: &&str| {
            let number = numbers.iter().find(|number| number.contestant == **name);
            number.map(|number| said(one, number)).unwrap_or_default()
        };
        let key = one.measure.parse::<MeasureKey>();
        PublishedRow {
            cell: short(one.cell.as_deref().unwrap_or_default(), &cells),
            measure: key.map_or_else(|_| one.measure.clone(), |key| units::measure(&key)),
            numbers: columns.iter().map(cell).collect(),
        }
    };
    besides.iter().zip(&tested.beside).map(row).collect()
}

/// `13.4 s [13.1, 13.9], published 13.132 s`.
fn said(one: &Beside, number: &Number) -> String {
    let key = one.measure.parse::<MeasureKey>();
    let unit = key.map_or(Unit::Count, |key| key.unit_and_direction().0);
    let ours = match &number.median {
        Ok(median) => format!("{}{}", units::number(*median, unit), spread(number, *median, unit)),
        Err(why) => format!("missing: {why}"),
    };
    let unit = one.unit.as_deref().unwrap_or_default();
    match one.published.get(&number.contestant) {
        Some(value) => format!("{ours}; published {} {unit}", plain(*value)),
        None => ours,
    }
}

fn spread(number: &Number, median: f64, unit: Unit) -> String {
    match number.spread {
        Some(Spread::Interval(ends)) => format!(" {}", units::interval(ends, median, unit)),
        Some(Spread::Range(ends)) if number.trials > 1 => {
            let (low, high) = (units::number(ends.low, unit), units::number(ends.high, unit));
            format!(" ({low} … {high})")
        }
        Some(Spread::Range(_)) => " (one trial)".into(),
        None => String::new(),
    }
}
