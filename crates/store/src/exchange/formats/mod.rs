// SPDX-License-Identifier: GPL-2.0-only
//! Records in the formats of other tools. Each writes to the given writer.

pub mod csv;
pub mod ftrace;
pub mod hgrm;

use std::collections::BTreeMap;

use model::trace::{Trace, TraceTask};

/// Process number → task. Number 0 is every CPU's idle task.
fn tasks(trace: &Trace) -> BTreeMap<u32, &TraceTask> {
    trace.tasks.iter().map(|task| (task.pid, task)).collect()
}
