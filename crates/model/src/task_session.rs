// SPDX-License-Identifier: GPL-2.0-only
//! Sessions of a workload: tasks that the kernel's autogroup puts together, as those of a terminal.

use serde::{Deserialize, Serialize};

use crate::Trial;
use crate::usual::is_default;

/// How the note begins that a scheduler disregards the sessions of its workload.
pub const NO_SESSIONS: &str = "the scheduler does not look at the sessions of tasks";

/// What a user should know of a scheduler that does not look at the trial's sessions.
pub fn note_on_sessions(trial: &Trial, sees: bool) -> Option<String> {
    let (machine, workload) = (&trial.machine, &trial.workload);
    let counts = machine.autogroup && workload.control_groups.is_empty();
    (counts && !workload.sessions.is_empty() && !sees)
        .then(|| format!("{NO_SESSIONS}: the machine's autogroup has no effect"))
}

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
