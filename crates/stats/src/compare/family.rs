// SPDX-License-Identifier: GPL-2.0-only
//! Families of comparisons, within which Holm's correction holds, and the verdicts that follow.
//!
//! A family is one question to a reader: one measure of one workload on one machine,
//! for all contestants against the baseline and over all settings of the workload's parameters. In
//! each family the chance of even one false claim is at most 5 %. A report has many families and
//! states their number.

use std::collections::BTreeMap;

use model::{Backend, MeasureKey};

use crate::compare::comparison::{Cell, Row};
use crate::compare::evidence;
use crate::compare::evidence::PValue;
use crate::compare::shift::Shift;
use crate::compare::verdict::{Verdict, judge};
use crate::rank::holm::units_needed;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Family {
    pub workload: String,
    pub machine: String,
    /// The backend that the trials ran on.
    pub backend: Backend,
    pub measure: MeasureKey,
}

impl Family {
    fn new(cell: &Cell, row: &Row) -> Family {
        Family {
            workload: cell.workload.clone(),
            machine: cell.machine.clone(),
            backend: cell.backend,
            measure: row.measure.clone(),
        }
    }
}

/// The families of the selected rows with the number of their comparisons. Comparisons that cannot
/// make a claim do not count.
pub fn families(cells: &[Cell], wanted: impl Fn(&Row) -> bool) -> BTreeMap<Family, usize> {
    let mut families = BTreeMap::new();
    for cell in cells {
        for row in cell.rows.iter().filter(|row| wanted(row)) {
            let comparisons = row.entries.iter().filter(|entry| entry.p_value.is_some()).count();
            *families.entry(Family::new(cell, row)).or_default() += comparisons;
        }
    }
    families.retain(|_, comparisons| *comparisons > 0);
    families
}

/// Corrects every p value for its family.
pub(crate) fn correct(cells: &mut [Cell]) {
    let mut families: BTreeMap<Family, Vec<&mut PValue>> = BTreeMap::new();
    for cell in cells {
        let row_families: Vec<Family> =
            cell.rows.iter().map(|row| Family::new(cell, row)).collect();
        for (row, family) in cell.rows.iter_mut().zip(row_families) {
            let values = row.entries.iter_mut().filter_map(|entry| entry.p_value.as_mut());
            families.entry(family).or_default().extend(values);
        }
    }
    families.values_mut().for_each(|family| evidence::correct(family));
}

/// Gives every entry but the baseline's its verdict, and the leaders what follows from it.
pub(crate) fn judge_all(cells: &mut [Cell]) {
    for row in cells.iter_mut().flat_map(|cell| &mut cell.rows) {
        let baseline = row.entries.iter().find(|entry| entry.verdict == Verdict::Baseline);
        let baseline_trials = baseline.map_or(0, |entry| entry.trials);
        for entry in row.entries.iter_mut().filter(|entry| entry.verdict != Verdict::Baseline) {
            let trials = entry.trials.min(baseline_trials);
            let p = entry.p_value.map(|p| p.adjusted);
            let said = |shift: &Option<Shift>| {
                judge(shift.as_ref(), p, entry.by_seed, trials, row.direction)
            };
            let verdict = said(&entry.shift);
            entry.verdict = if verdict.needs_both_sides() {
                verdict.agreed(said(&entry.shift_from_baseline))
            } else {
                verdict
            };
        }
        let entries = &row.entries;
        row.leaders = row.leaders.take().map(|found| found.judged_by(entries, row.direction));
    }
}

/// A note on the families of headline measures with too many comparisons for their trials, in which
/// no claim is possible.
pub(crate) fn powerless(cells: &[Cell]) -> Option<String> {
    let mut hopeless: BTreeMap<Family, (usize, usize)> = BTreeMap::new();
    for cell in cells {
        for row in cell.headline() {
            let family = Family::new(cell, row);
            for p in row.entries.iter().filter_map(|entry| entry.p_value) {
                let most = hopeless.entry(family.clone()).or_insert((0, p.comparisons));
                most.0 = most.0.max(p.units);
            }
        }
    }
    hopeless.retain(|_, (units, comparisons)| units_needed(*comparisons) > *units);
    let (family, (units, comparisons)) = hopeless.first_key_value()?;
    Some(format!(
        "No claim is possible in {} famil{} of comparisons, first `{}` of `{}`: {comparisons} \
         comparisons need {} independent trials of each contestant, and there are {units}.",
        hopeless.len(),
        if hopeless.len() == 1 { "y" } else { "ies" },
        family.measure,
        family.workload,
        units_needed(*comparisons),
    ))
}
