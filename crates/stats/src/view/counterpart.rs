// SPDX-License-Identifier: GPL-2.0-only
//! Whether a copy behaves as its original: a scheduler's file beside the kernel's own scheduler
//! that it is written after, on the same backend, machines, loads and seeds.
//!
//! The figures and tolerances are those of [`agreement`](mod@crate::view::agreement). A difference is the
//! sum of two: what the copy does differently, and what sched_ext and another kernel cost.

use std::collections::BTreeMap;

use model::{Backend, Record};

use crate::records::columns::cells;
use crate::view::agreement::{Agreement, compare_cell};

/// Sets contestants beside those that they stand for, on one backend. `pairs` has the original's
/// name by the copy's; a figure's contestant is the copy.
pub fn counterparts(
    records: &[Record],
    backend: Backend,
    pairs: &BTreeMap<String, String>,
) -> Agreement {
    let mut figures = Vec::new();
    for (_, all) in cells(records).into_iter().filter(|(key, _)| key.backend == backend) {
        for (copy, original) in pairs {
            let of = |name: &String| -> Vec<&Record> {
                let wanted = |record: &&&Record| record.trial.contestant.name == *name;
                all.iter().filter(wanted).copied().collect()
            };
            let (theirs, ours) = (of(original), of(copy));
            if !theirs.is_empty() && !ours.is_empty() {
                figures.extend(compare_cell(&theirs, &ours, |_| copy.clone()));
            }
        }
    }
    Agreement { reference: backend, model: backend, figures, signs: Vec::new() }
}
