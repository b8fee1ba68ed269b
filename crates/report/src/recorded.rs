// SPDX-License-Identifier: GPL-2.0-only
//! What a recorded workload does before anything plays it, in words.

use model::metric::Unit;
use model::{Recorded, Workload};
use recording::graph::Graph;

use crate::units::number;

/// A workload that plays a recording.
#[derive(Clone, Debug)]
pub struct RecordedWorkload {
    pub cell: String,
    pub about: String,
    /// Where its tapes come from.
    pub recorded: Recorded,
    /// What they show; or why they are not at hand.
    pub graph: Result<Graph, String>,
}

impl RecordedWorkload {
    /// The workload with its graph; `None` if it plays no recording.
    pub fn new(workload: &Workload, graph: Result<Graph, String>) -> Option<RecordedWorkload> {
        let recorded = workload.recording.clone()?;
        let (cell, about) = (workload.cell(), workload.about.clone());
        Some(RecordedWorkload { cell, about, recorded, graph })
    }
}

/// A time as everywhere in reports.
pub fn time(ns: u64) -> String {
    number(ns as f64, Unit::Nanoseconds)
}

/// A count as everywhere in reports.
pub fn count(value: u64) -> String {
    number(value as f64, Unit::Count)
}

/// How much of all CPUs a group used.
pub fn share(cpu_ns: u64, recorded: &Recorded) -> String {
    let capacity_ns = recorded.length_us as f64 * 1e3 * f64::from(recorded.cpus.max(1));
    format!("{:.1} %", 100.0 * cpu_ns as f64 / capacity_ns.max(1.0))
}
