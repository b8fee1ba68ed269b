// SPDX-License-Identifier: GPL-2.0-only
//! Does a scheduler's file behave as its counterpart, the kernel's own scheduler that it was
//! written after? Both run on the same backend, machines, workloads and seeds.
//!
//! The figures and tolerances are those of [`agreement`](mod@crate::view::agreement). A difference
//! is the sum of two: what the file does differently, and what sched_ext and another kernel cost.

use std::collections::BTreeMap;

use model::{Backend, Record};

use crate::records::columns::cells;
use crate::view::agreement::{Agreement, compare_cell};

/// Compares files with their counterparts on one backend. `pairs` has the counterpart's name by the
/// file's; the contestant of a figure is the file.
pub fn counterparts(
    records: &[Record],
    backend: Backend,
    pairs: &BTreeMap<String, String>,
) -> Agreement {
    let mut figures = Vec::new();
    for (_, all) in cells(records).into_iter().filter(|(key, _)| key.backend == backend) {
        for (file, counterpart) in pairs {
            let records_of = |name: &String| -> Vec<&Record> {
                let wanted = |record: &&&Record| record.trial.contestant.name == *name;
                all.iter().filter(wanted).copied().collect()
            };
            let (theirs, ours) = (records_of(counterpart), records_of(file));
            if !theirs.is_empty() && !ours.is_empty() {
                figures.extend(compare_cell(&theirs, &ours, |_| file.clone()));
            }
        }
    }
    Agreement { reference: backend, model: backend, figures, signs: Vec::new() }
}
