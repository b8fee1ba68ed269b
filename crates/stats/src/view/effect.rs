// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduler changes of its base: the original beside the file that was written after it.
//!
//! Kernels differ, and sched_ext costs something, so a file's numbers are not its original's. What
//! readers ask is whether the file tells the same story: does it make a measure larger or smaller
//! than the file's own base does, where the original does so against the kernel without its patch,
//! and by how much?

use std::collections::BTreeMap;

use model::metric::Unit;
use model::{Backend, MeasureKey, Record};

use crate::number::quantile::median;
use crate::records::columns::{Columns, cells, columns, headlines};

/// A change of less than this part is none.
const MOVES: f64 = 0.05;
/// Two changes whose quotient is within this factor have the same size.
const SAME_SIZE: f64 = 1.25;

/// A number without and with a scheduler's changes: medians over the trials of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    pub base: f64,
    pub changed: f64,
}

impl Change {
    /// How many times as large the number is; `None` against a base of 0, unless both are 0.
    pub fn factor(self) -> Option<f64> {
        match (self.base == 0.0, self.changed == 0.0) {
            (true, true) => Some(1.0),
            (true, false) => None,
            _ => Some(self.changed / self.base),
        }
    }

    /// Whether the number changes by more than 5 %.
    pub fn moves(self) -> bool {
        (self.changed - self.base).abs() > MOVES * self.base.abs()
    }

    /// 1.0 for a larger number, −1.0 for a smaller one, 0.0 for the same.
    fn sign(self) -> f64 {
        let difference = self.changed - self.base;
        if difference == 0.0 { 0.0 } else { difference.signum() }
    }
}

/// One headline measure of one cell: what an original changes, and what its file changes.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectPair {
    /// The cell's name, `wake_under_hogs hogs=3`.
    pub cell: String,
    pub machine: String,
    pub file: String,
    pub original: String,
    pub measure: MeasureKey,
    pub unit: Unit,
    pub in_original: Change,
    pub in_file: Change,
}

impl EffectPair {
    /// Whether either of the two changes the number by more than 5 %.
    pub fn moves(&self) -> bool {
        self.in_original.moves() || self.in_file.moves()
    }

    /// Whether both change it in the same direction.
    pub fn has_same_sign(&self) -> bool {
        self.in_original.sign() == self.in_file.sign()
    }

    /// Whether both multiply it by the same within a factor of 1.25; from 0, whether they lead to
    /// the same within that factor.
    pub fn has_same_size(&self) -> bool {
        let near = |a: f64, b: f64| a > 0.0 && (a / b).max(b / a) <= SAME_SIZE;
        match (self.in_original.factor(), self.in_file.factor()) {
            (Some(original), Some(file)) => original == file || near(original, file),
            (None, None) => near(self.in_original.changed, self.in_file.changed),
            _ => false,
        }
    }
}

/// The effects on all headline measures whose four numbers are known, by cell, measure and file.
/// `counterparts` has the original's name by the file's, `bases` the base's by the name of what
/// changes it.
pub fn effects(
    records: &[Record],
    backend: Backend,
    counterparts: &BTreeMap<String, String>,
    bases: &BTreeMap<String, String>,
) -> Vec<EffectPair> {
    let mut effects = Vec::new();
    for (key, all) in cells(records).into_iter().filter(|(key, _)| key.backend == backend) {
        let columns = columns(&all);
        for measure in headlines(&all) {
            let change = |name| change(&columns, &measure, bases.get(name)?, name);
            effects.extend(counterparts.iter().filter_map(|(file, original)| {
                Some(EffectPair {
                    cell: all[0].trial.workload.cell(),
                    machine: key.machine.clone(),
                    file: file.clone(),
                    original: original.clone(),
                    measure: measure.clone(),
                    unit: measure.unit_and_direction().0,
                    in_original: change(original)?,
                    in_file: change(file)?,
                })
            }));
        }
    }
    effects
}

/// A measure of two contestants; `None` if one has no number.
fn change(columns: &Columns, measure: &MeasureKey, base: &str, changed: &str) -> Option<Change> {
    let of = |contestant: &str| median(&columns.get(measure)?.get(contestant)?.values());
    Some(Change { base: of(base)?, changed: of(changed)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(in_original: [f64; 2], in_file: [f64; 2]) -> EffectPair {
        let change = |[base, changed]: [f64; 2]| Change { base, changed };
        EffectPair {
            cell: "frames".into(),
            machine: "one".into(),
            file: "bore".into(),
            original: "bore-6.7.3".into(),
            measure: "deadline_miss_ratio player".parse().expect("a measure"),
            unit: Unit::Ratio,
            in_original: change(in_original),
            in_file: change(in_file),
        }
    }

    #[test]
    fn bases_may_differ_when_the_changes_are_alike() {
        let alike = effect([100.0, 50.0], [300.0, 160.0]);
        assert!(alike.moves() && alike.has_same_sign() && alike.has_same_size());
        let weaker = effect([100.0, 50.0], [300.0, 200.0]);
        assert!(weaker.has_same_sign() && !weaker.has_same_size());
        let other = effect([100.0, 50.0], [300.0, 301.0]);
        assert!(other.moves() && !other.has_same_sign() && !other.has_same_size());
    }

    #[test]
    fn five_percent_are_no_change() {
        assert!(!effect([100.0, 105.0], [100.0, 95.0]).moves());
        assert!(effect([100.0, 105.1], [100.0, 100.0]).moves());
    }

    #[test]
    fn nothing_that_becomes_something_has_no_factor() {
        let both = effect([0.0, 0.5], [0.0, 0.1]);
        assert!(both.moves() && both.has_same_sign() && !both.has_same_size());
        assert!(effect([0.0, 0.5], [0.0, 0.45]).has_same_size());
        assert_eq!(both.in_file.factor(), None);
        let one = effect([0.0, 0.5], [0.0, 0.0]);
        assert!(one.moves() && !one.has_same_sign() && !one.has_same_size());
        let none = effect([0.0, 0.0], [0.0, 0.0]);
        assert!(!none.moves() && none.has_same_size());
    }
}
