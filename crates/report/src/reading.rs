// SPDX-License-Identifier: GPL-2.0-only
//! What every form of a report reads from a comparison, computed once.

use stats::{Cell, Comparison};

use crate::cells::same_question;
use crate::headlines::{WorkloadHeadline, by_workload};
use crate::leaders::{WorkloadLeaders, lines};

/// A comparison with what follows from it.
pub(crate) struct Reading<'a> {
    pub comparison: &'a Comparison,
    /// Groups of cells that differ only in the backend, see [`same_question`].
    pub questions: Vec<Vec<&'a Cell>>,
    /// Whether cells differ in machine or backend, so that a cell's name alone is ambiguous.
    pub has_several_places: bool,
    pub has_several_backends: bool,
    pub headlines: Vec<WorkloadHeadline<'a>>,
    /// Nothing of a contestant alone.
    pub leaders: Vec<WorkloadLeaders>,
}

impl<'a> Reading<'a> {
    pub fn new(comparison: &'a Comparison) -> Reading<'a> {
        let has_several_backends = differ(comparison, |cell| cell.backend);
        let questions = same_question(comparison);
        let headlines = by_workload(&questions, has_several_backends);
        Reading {
            comparison,
            has_several_places: differ(comparison, |cell| (&cell.machine, cell.backend)),
            has_several_backends,
            leaders: match comparison.contestants.len() {
                0 | 1 => Vec::new(),
                _ => lines(&headlines, &comparison.baseline, has_several_backends),
            },
            headlines,
            questions,
        }
    }

    /// The name of a cell, as long as it has to be.
    pub fn label(&self, cell: &Cell) -> String {
        if self.has_several_places { cell.label() } else { cell.name.clone() }
    }
}

fn differ<'a, T: PartialEq>(comparison: &'a Comparison, property: fn(&'a Cell) -> T) -> bool {
    let mut values = comparison.cells.iter().map(property);
    let first = values.next();
    values.any(|value| Some(value) != first)
}
