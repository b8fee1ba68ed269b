// SPDX-License-Identifier: GPL-2.0-only
//! Why: one question, resolved from one file.

use serde::{Deserialize, Serialize};

use crate::{Backend, Contestant, Machine, Workload};

/// An experiment with everything that its file refers to already read: contestants × workloads ×
/// machines × repeats. The plan is a pure function of it and a seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The file's stem.
    pub name: String,
    /// The question that it answers, one sentence.
    pub question: String,
    /// Who answers unless `--on` says otherwise.
    pub backend: Backend,
    /// The name of the contestant that the others are compared with.
    pub baseline: String,
    /// The competitors.
    pub contestants: Vec<Contestant>,
    /// The cells: every workload with every combination of its parameters.
    pub workloads: Vec<Workload>,
    /// The machines.
    pub machines: Vec<Machine>,
    /// How many blocks (one fresh boot of every kernel each), i.e. boots per contestant and cell.
    pub blocks: u32,
    /// How many runs of each cell inside one boot.
    pub runs_per_boot: u32,
    /// Wall-clock limit of each trial.
    pub timeout_ms: u64,
    /// Which cells are traced in their first block: `["wake_under_hogs hogs=3"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<String>,
}
