// SPDX-License-Identifier: GPL-2.0-only
//! Which headline measure separates two contestants best, for each pair of contestants.
//!
//! A measure separates two contestants if every trial of one is below every trial of the other.
//! With n and m trials, chance alone does this in 2 of (n + m choose n) cases (Mann and Whitney,
//! "On a Test of Whether one of Two Random Variables is Stochastically Larger than the Other",
//! Annals of Mathematical Statistics 18(1), 1947, the outermost value of U). The chance is
//! corrected for the number of measures that are looked at (Bonferroni).

use std::collections::BTreeMap;

use model::metric::Unit;
use model::{Clock, MeasureKey, Record};
use serde::{Deserialize, Serialize};

use crate::compare::comparison::{Cell, Comparison};
use crate::compare::verdict::differ;
use crate::number::quantile::median;
use crate::rank::rank_sum::{ALPHA, smallest};
use crate::records::columns::{Column, Numbers, cells};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Separation {
    /// The contestant that comes first in [`Comparison::contestants`].
    pub one: String,
    pub other: String,
    /// The number of headline measures that both contestants have.
    pub looked_at: usize,
    /// The measure that separates them best; `None` if no measure separates them.
    pub evidence: Option<Separator>,
}

/// A measure in which two contestants do not overlap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Separator {
    /// The cell with its machine, [`Cell::label`].
    pub cell: String,
    pub measure: MeasureKey,
    pub unit: Unit,
    pub one: f64,
    pub other: f64,
}

/// Every pair of contestants, in their order. The comparison must be of these records.
pub fn separations(records: &[Record], comparison: &Comparison) -> Vec<Separation> {
    let looks = looks(records, comparison);
    let names = &comparison.contestants;
    let mut separations = Vec::new();
    for (place, first) in names.iter().enumerate() {
        separations.extend(names[place + 1..].iter().map(|second| judge(first, second, &looks)));
    }
    separations
}

/// A headline measure of a cell, with every contestant's trials.
struct Look<'a> {
    cell: &'a Cell,
    measure: MeasureKey,
    unit: Unit,
    sides: BTreeMap<String, TrialRange>,
}

struct TrialRange {
    low: f64,
    high: f64,
    median: f64,
    /// Independent trials: under a real clock those of one boot are not.
    trials: usize,
}

fn looks<'a>(records: &[Record], comparison: &'a Comparison) -> Vec<Look<'a>> {
    let mut looks = Vec::new();
    for (cell, records) in comparison.cells.iter().zip(cells(records).values()) {
        let numbers = Numbers::new(records);
        for row in cell.headline() {
            let sides = numbers.columns(&row.measure).into_iter();
            let sides = sides.filter_map(|(name, column)| Some((name, side(&column, cell.clock)?)));
            let (measure, unit) = (row.measure.clone(), row.unit);
            looks.push(Look { cell, measure, unit, sides: sides.collect() });
        }
    }
    looks
}

fn side(column: &Column, clock: Clock) -> Option<TrialRange> {
    let values = column.values();
    Some(TrialRange {
        low: values.iter().copied().reduce(f64::min)?,
        high: values.iter().copied().reduce(f64::max)?,
        median: median(&values)?,
        trials: column.seeds_or_boots(clock),
    })
}

fn judge(one: &str, other: &str, looks: &[Look]) -> Separation {
    let both =
        looks.iter().filter_map(|look| Some((look, look.sides.get(one)?, look.sides.get(other)?)));
    let both: Vec<_> = both.collect();
    let looked_at = both.len();
    let best = both
        .into_iter()
        .filter(|(_, a, b)| tells(a, b, looked_at))
        .max_by(|x, y| gap(x.1, x.2).total_cmp(&gap(y.1, y.2)));
    let evidence = best.map(|(look, a, b)| Separator {
        cell: look.cell.label(),
        measure: look.measure.clone(),
        unit: look.unit,
        one: a.median,
        other: b.median,
    });
    Separation { one: one.into(), other: other.into(), looked_at, evidence }
}

/// The difference of the medians, as a part of the larger.
fn gap(a: &TrialRange, b: &TrialRange) -> f64 {
    let larger = a.median.abs().max(b.median.abs());
    if larger > 0.0 { (a.median - b.median).abs() / larger } else { 0.0 }
}

fn tells(a: &TrialRange, b: &TrialRange, looked_at: usize) -> bool {
    let separate = a.high < b.low || b.high < a.low;
    let is_no_chance = smallest(a.trials, b.trials) * looked_at as f64 <= ALPHA;
    separate && differ(a.median, b.median) && is_no_chance
}

/// The number of trials of each of two contestants that are needed to separate them by one of this
/// many measures.
pub fn trials_needed(measures: usize) -> usize {
    let too_few = |trials: &usize| smallest(*trials, *trials) * measures as f64 > ALPHA;
    (1..).find(|trials| !too_few(trials)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(values: [f64; 2], trials: usize) -> TrialRange {
        let [low, high] = values;
        TrialRange { low, high, median: f64::midpoint(low, high), trials }
    }

    #[test]
    fn more_measures_need_more_trials() {
        assert_eq!([1, 23, 24, 80].map(trials_needed), [4, 6, 7, 7]);
    }

    #[test]
    fn only_trials_that_do_not_overlap_and_are_enough_tell() {
        let (low, high) = (side([1.0, 2.0], 6), side([3.0, 4.0], 6));
        assert!(tells(&low, &high, 20) && tells(&high, &low, 20));
        assert!(!tells(&low, &high, 30), "2 of 924, thirty times, is too often");
        assert!(!tells(&low, &side([2.0, 4.0], 6), 1), "they touch");
        assert!(!tells(&side([1.0, 2.0], 3), &side([3.0, 4.0], 3), 1), "too few");
        assert!(!tells(&side([1000.0, 1000.0], 6), &side([1001.0, 1001.0], 6), 1), "not worth it");
        assert!(!tells(&side([0.0, 0.0], 6), &side([0.0, 0.0], 6), 1), "the same");
    }
}
