// SPDX-License-Identifier: GPL-2.0-only
//! The tables of a workload beside its tasks: control groups, as cgroup v2 has them; sessions,
//! which the kernel's autogroup puts together; mutexes; interrupts; a real program.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::contestant::Policy;
use crate::usual::is_default;
use crate::{Step, Trial, Workload};

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

/// A mutex. One without a table has the protocol `none`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutex {
    /// Its name in `lock`, `unlock`, `wait` and `sync`.
    pub name: String,
    /// `none`, `inherit` or `ceiling`. `inherit` (priority inheritance): while tasks wait for the
    /// mutex, its holder has at least the priority of the first of them. Real-time tasks are first,
    /// in the order of their priorities, then the others, in order of arrival. A release gives it
    /// to the first. `ceiling` (priority protection): who takes it has at least the priority
    /// `ceiling` from then on, until it has released it.
    #[serde(default)]
    pub protocol: Protocol,
    /// For `ceiling`: the highest priority of the tasks that take it, 1 … 98. Only tasks of the
    /// classes `fifo` and `rr` take such mutexes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ceiling: u32,
}

/// Which priority the holder of a mutex gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// None.
    #[default]
    None,
    /// That of the tasks that wait for it.
    Inherit,
    /// The mutex's own.
    Ceiling,
}

/// Interrupts that come at a fixed rate (`[[interrupt]]`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterruptLoad {
    /// The time from one interrupt of a CPU to its next, 10 µs at least.
    pub every_us: u64,
    /// How long the CPU works for each one, at most nine tenths of `every_us`.
    pub length_us: u64,
    /// The CPUs that are interrupted; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
}

/// A real program as a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The program and its arguments; found by `PATH`.
    pub command: Vec<String>,
    /// The parser of its output, e.g. `hackbench`; `none`: only its run time is measured.
    pub parser: String,
    /// Its Debian package, for the message when it is missing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub package: String,
    /// Further programs that it or its preparation starts, with their Debian packages: `{ gcc =
    /// "gcc" }`. A path may be a pattern; the program is its last match in order of names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub needs: BTreeMap<String, String>,
    /// Commands that run to their end, one after another, before the scheduler under test is
    /// loaded and anything is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<Vec<String>>,
    /// The control group that it starts in, with all that it starts; empty: the workload's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The session that it starts in, with all that it starts; empty: none of the workload's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// Whether it and its preparation work in an empty folder of their own, which is deleted after
    /// the trial.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scratch: bool,
    /// The source tree that it and its preparation work in, by the name under which
    /// `scripts/sources.sh` has put it into Fairground's home; empty: none. The VM has those for
    /// which that script lists what a build reads.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sources: String,
    /// Other files that the program needs in the VM. A path may be a folder, which stands for all
    /// files in it, or a pattern such as `/usr/share/postgresql/*`, which stands for its last match
    /// in order of names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// In a source tree that workloads compile, the file with its version. A folder without it is no
/// source tree.
pub const VERSION_FILE: &str = ".fairground-version";

/// Why a trial cannot run without the tree of this name, and what brings it.
pub fn tree_is_absent(name: &str) -> String {
    format!(
        "the source tree `{name}` is not here; `scripts/sources.sh {name}` gets and configures it"
    )
}

impl Program {
    /// Every program that it needs, itself first, with the Debian package that brings it (empty
    /// where unknown).
    pub fn needed(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = self.command.first().map(|name| (name.as_str(), self.package.as_str()));
        let others = self.needs.iter().map(|(name, package)| (name.as_str(), package.as_str()));
        own.into_iter().chain(others)
    }
}
