// SPDX-License-Identifier: GPL-2.0-only
//! Sessions of a workload: tasks that the kernel's autogroup puts together, as those of a terminal.

use serde::{Deserialize, Serialize};

use crate::usual::is_default;

/// How the note begins that a scheduler disregards the sessions of its workload.
pub const NO_SESSIONS: &str = "the scheduler does not look at the sessions of tasks";

/// A session (`[[session]]`), which `setsid` begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskSession {
    /// Its name in `session = …` of tasks.
    pub name: String,
    /// What is written to `/proc/PID/autogroup`, −20 … 19: where autogroup is on, the session has
    /// the weight of a task with this nice value.
    #[serde(default, skip_serializing_if = "is_default")]
    pub nice: i32,
}
