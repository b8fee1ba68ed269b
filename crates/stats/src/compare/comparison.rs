// SPDX-License-Identifier: GPL-2.0-only
//! The result of a comparison: plain data that reports read and JSON carries.
//!
//! ```text
//! Comparison ─ Cell (workload + parameters + machine) ─ Row (measure) ─ Entry (contestant)
//! ```
//!
//! Families of comparisons, within which Holm's correction holds, and the verdicts that follow.
//!
//! A family is one question to a reader: one measure of one workload on one machine,
//! for all contestants against the baseline and over all settings of the workload's parameters. In
//! each family the chance of even one false claim is at most 5 %. A report has many families and
//! states their number.

use std::collections::BTreeMap;

use model::metric::{Direction, Unit};
use model::{Backend, Clock, MeasureKey, Seed};
use serde::{Deserialize, Serialize};

use crate::compare::evidence::{self, Noise, PValue};
use crate::compare::leaders::Leaders;
use crate::compare::shift::Shift;
use crate::compare::verdict::{Verdict, judge};
use crate::number::interval::Interval;
use crate::rank::rank_sum::units_needed;
use crate::records::pairing::SeedCounts;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The contestant that the others are compared with.
    pub baseline: String,
    /// All contestants in the order of tables, the baseline first.
    pub contestants: Vec<String>,
    /// Those of them that are files of the user's own, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<String>,
    /// One part per cell, ordered by workload, parameters, machine.
    pub cells: Vec<Cell>,
    /// What a reader must know before relying on the numbers: missing blocks, lost samples, single
    /// boots.
    pub notes: Vec<String>,
    pub records: usize,
    /// The confidence of every interval, 0 … 1.
    pub confidence: f64,
    /// Bootstrap resamples behind every interval.
    pub resamples: u32,
    pub seed: Seed,
}

/// One workload with its parameters on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The cell's name, `wake_under_hogs hogs=24`.
    pub name: String,
    pub workload: String,
    /// The workload's description, one sentence.
    pub about: String,
    pub parameters: BTreeMap<String, i64>,
    pub machine: String,
    pub backend: Backend,
    /// The clock of the trials. Under a virtual clock every number is exact, and only seeds differ.
    pub clock: Clock,
    /// Headline measures first, in the workload's order.
    pub rows: Vec<Row>,
    pub outcomes: Vec<OutcomeCount>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub measure: MeasureKey,
    pub unit: Unit,
    pub direction: Direction,
    /// Whether it is a headline measure of the workload.
    pub headline: bool,
    /// One entry per contestant of [`Comparison::contestants`], in that order.
    pub entries: Vec<Entry>,
    /// The best contestants. Only of headline measures with a better direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaders: Option<Leaders>,
    /// The noise floor. Only of headline measures with a better direction, and only under a real
    /// clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub contestant: String,
    /// Trials with a number. Under a virtual clock repeats of one trial count once.
    pub trials: usize,
    pub boots: usize,
    /// The median over trials.
    pub median: Option<f64>,
    /// The median's interval: cluster bootstrap, expanded percentile.
    pub interval: Option<Interval>,
    /// Hodges–Lehmann shift against the baseline, of pairs where blocks are whole; `None` for the
    /// baseline itself.
    pub shift: Option<Shift>,
    /// The baseline's shift against this contestant, where a verdict may need it.
    #[serde(skip)]
    pub shift_from_baseline: Option<Shift>,
    /// The chance of such a difference without a real one; `None` with too few trials for any
    /// claim.
    pub p_value: Option<PValue>,
    /// Under a virtual clock: seed by seed against the baseline.
    #[serde(rename = "pairs")]
    pub by_seed: Option<SeedCounts>,
    pub verdict: Verdict,
    /// Why `ok` trials have no number here, and how many.
    pub missing: BTreeMap<String, u32>,
}

/// How one contestant's trials in one cell ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutcomeCount {
    pub contestant: String,
    /// `ok`, `timeout`, … as in [`model::Outcome::word`].
    pub outcome: String,
    /// The reason in one line, empty for `ok`.
    pub reason: String,
    pub trials: usize,
}

impl Cell {
    /// The cell with its machine, unique in a comparison.
    pub fn label(&self) -> String {
        let backend = self.backend.word();
        format!("{} on {} ({backend})", self.name, self.machine)
    }

    pub fn headline(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.headline)
    }

    /// The first headline measure with a better direction for which any contestant has a number:
    /// the cell's main measure.
    pub fn primary(&self) -> Option<&Row> {
        self.headline().find(|row| row.judges() && row.is_measured())
    }
}

impl Row {
    /// Whether one direction is better than the other.
    pub fn judges(&self) -> bool {
        self.direction != Direction::Neutral
    }

    /// Whether any contestant has a number.
    pub fn is_measured(&self) -> bool {
        self.entries.iter().any(|entry| entry.median.is_some())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Family {
    pub workload: String,
    pub machine: String,
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
