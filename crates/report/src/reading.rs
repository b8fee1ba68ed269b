// SPDX-License-Identifier: GPL-2.0-only
//! What every form of a report reads from a comparison, computed once.

use stats::{Cell, Comparison, Row};

use crate::cells::same_question;
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
                _ => lines(&headlines, comparison, has_several_backends),
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

/// One headline measure of one workload on one machine, over all settings of its parameters.
#[derive(Clone)]
pub struct WorkloadHeadline<'a> {
    /// The workload's name.
    pub workload: &'a str,
    /// The machine; with its backend, if the comparison has only one.
    pub place: String,
    /// The cells, each with its row of the measure, in the order of the parameters. Cells that
    /// differ only in the backend are neighbours.
    pub rows: Vec<(&'a Cell, &'a Row)>,
}

/// Every headline measure of every workload and machine, in the comparison's order.
pub fn by_workload<'a>(
    questions: &[Vec<&'a Cell>],
    has_several_backends: bool,
) -> Vec<WorkloadHeadline<'a>> {
    let mut headlines: Vec<WorkloadHeadline<'a>> = Vec::new();
    for &cell in questions.iter().flatten() {
        let place = if has_several_backends {
            cell.machine.clone()
        } else {
            format!("{} ({})", cell.machine, cell.backend.word())
        };
        for row in cell.headline() {
            let same = |headline: &&mut WorkloadHeadline<'a>| {
                headline.workload == cell.workload
                    && headline.place == place
                    && headline.rows[0].1.measure == row.measure
            };
            match headlines.iter_mut().find(same) {
                Some(headline) => headline.rows.push((cell, row)),
                None => headlines.push(WorkloadHeadline {
                    workload: &cell.workload,
                    place: place.clone(),
                    rows: vec![(cell, row)],
                }),
            }
        }
    }
    headlines
}
