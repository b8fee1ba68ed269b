// SPDX-License-Identifier: GPL-2.0-only
//! Clamps of the utilisation that a kernel sees, from which its governor chooses frequencies.

use serde::{Deserialize, Serialize};

use crate::usual::is_default;
use crate::{Step, Workload};

/// How the note begins that nothing heeds the clamps of a workload.
pub const NO_CLAMPS: &str = "'uclamp' has no effect";

/// Utilisation clamps (uclamp) of a task or a control group; 1024 is a whole CPU at full speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UtilClamp {
    /// At least this, 0 … 1024; without it, what it was, which is 0 for who has not changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<u32>,
    /// At most this, 0 … 1024; without it, what it was, which is 1024 for who has not changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
}

impl UtilClamp {
    /// Whether it leaves everything as it is.
    pub fn is_none(&self) -> bool {
        is_default(self)
    }
}

impl Workload {
    /// Whether a task or a control group has clamps, or a step sets some.
    pub fn has_clamps(&self) -> bool {
        fn sets(steps: &[Step]) -> bool {
            steps.iter().any(|step| match step {
                Step::Uclamp(_) => true,
                Step::SetGroup(group) => !group.uclamp.is_none(),
                other => sets(other.inner()),
            })
        }
        let of_groups = self.control_groups.iter().any(|group| !group.uclamp.is_none());
        let tasks = &self.tasks;
        of_groups || tasks.iter().any(|task| !task.uclamp.is_none() || sets(&task.steps))
    }
}
