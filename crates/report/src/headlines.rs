// SPDX-License-Identifier: GPL-2.0-only
//! The headline measures of a comparison, workload by workload.

use stats::{Cell, Row};

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
