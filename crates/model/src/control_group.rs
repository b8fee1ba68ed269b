// SPDX-License-Identifier: GPL-2.0-only
//! Control groups of a workload: tasks that share a weight and limits, as cgroup v2 has them.

use serde::{Deserialize, Serialize};

use crate::Trial;
use crate::contestant::Policy;
use crate::usual::is_default;
use crate::util_clamp::UtilClamp;

/// How the note begins that a scheduler disregards the control groups of its workload.
pub const NO_GROUP_CALLBACKS: &str = "the scheduler has no callbacks for control groups";

/// A scheduler that looks at control groups has at least one of these callbacks.
pub const GROUP_CALLBACKS: [&str; 3] = ["cgroup_init", "cgroup_move", "cgroup_set_weight"];

/// What a user should know of a scheduler that is not told of the trial's control groups.
pub fn note_on_groups(trial: &Trial, is_told: bool) -> Option<String> {
    (!trial.workload.control_groups.is_empty() && !is_told)
        .then(|| format!("{NO_GROUP_CALLBACKS}: their weights and quotas have no effect"))
}

/// A control group (`[[group]]`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlGroup {
    /// Its path below the workload's own group, e.g. `session/game`. Parents without a table of
    /// their own have the usual weight and no limits.
    pub name: String,
    /// `cpu.weight`, 1 … 10,000; without it and without `nice`, 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// `cpu.weight.nice`: the weight of a task with this nice value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nice: Option<i32>,
    /// `cpu.idle`: the group runs only where nobody else wants to, as SCHED_IDLE tasks do.
    #[serde(default, skip_serializing_if = "is_default")]
    pub idle: bool,
    /// `cpu.max`: the CPU time that the group may use in each period, all CPUs together; without
    /// it, no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_us: Option<u64>,
    /// The period of the quota; without it, 100 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_us: Option<u64>,
    /// `cpu.max.burst`: what the group may save of earlier periods.
    #[serde(default, skip_serializing_if = "is_default")]
    pub burst_us: u64,
    /// `cpuset.cpus`: the CPUs that its tasks may use; empty: those of its parent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
    /// `cpu.uclamp.min` and `cpu.uclamp.max`, for all of its tasks.
    #[serde(default, skip_serializing_if = "is_default")]
    pub uclamp: UtilClamp,
    /// It is not there at the beginning; a step `make_group` makes it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub absent: bool,
}

impl ControlGroup {
    /// The weight that these settings choose.
    pub fn chosen_weight(&self) -> Option<u32> {
        let of_nice = |nice| Policy { nice, ..Policy::default() }.cgroup_weight();
        self.weight.or(self.nice.map(of_nice))
    }
}
