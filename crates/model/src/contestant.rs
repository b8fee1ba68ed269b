// SPDX-License-Identifier: GPL-2.0-only
//! What is compared: a scheduler of one of four kinds, on a kernel.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Knobs;
use crate::usual::is_default;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contestant {
    /// The label in tables and charts, unique in the experiment.
    pub name: String,
    /// The kernel series that the `vm` backend boots for it, as in `fairground list kernels`:
    /// `6.1`, `6.12`, `7` (the newest 7.x), or a path to an image. On `live` only a kernel's own
    /// scheduler has one, and it is the running kernel's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    pub scheduler: SchedulerChoice,
    /// In the simulator, the file stands for the kernel's own scheduler, which has no costs of
    /// sched_ext.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stands_for_kernel: bool,
}

impl Contestant {
    /// A contestant of no certain kernel.
    pub fn new(name: impl Into<String>, scheduler: SchedulerChoice) -> Contestant {
        Contestant { name: name.into(), kernel: None, scheduler, stands_for_kernel: false }
    }
}

/// The four kinds of scheduler, and a bare name. A backend that cannot run one answers
/// [`crate::Outcome::Unsupported`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum SchedulerChoice {
    /// A portable `.bpf.c` file.
    File {
        /// A built-in scheduler's name (`vtime`) or the path of a `.bpf.c` file.
        file: String,
        /// SHA-256 of the source text, hexadecimal: the trial names the exact bytes.
        sha256: String,
        /// Values that the contestant sets before the scheduler is loaded.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        knobs: Knobs,
        /// What the file's side file sets: values of knobs that `knobs` may override, and calls at
        /// the start.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        settings: Knobs,
    },
    /// An installed sched_ext scheduler: started, awaited until enabled, verified, stopped.
    Program {
        /// The program and its arguments, e.g. `["scx_bpfland", "-s", "5000"]`.
        command: Vec<String>,
        /// The file that stands for it in the simulator; in trials of other backends there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        in_simulator: Option<Box<SchedulerChoice>>,
    },
    /// The fair scheduler that is built into the booted kernel.
    Kernel,
    /// A policy of the kernel, given to every task of the workload that does not choose its own.
    Policy { policy: Policy },
    /// The scheduler that an imported result, or its importer, names. Nobody has checked it.
    Claimed { name: String },
}

impl SchedulerChoice {
    /// A file in which nothing is set.
    pub fn file(file: impl Into<String>, sha256: impl Into<String>) -> SchedulerChoice {
        let (knobs, settings) = (Knobs::new(), Knobs::new());
        SchedulerChoice::File { file: file.into(), sha256: sha256.into(), knobs, settings }
    }

    /// Everything that is set before a file is loaded.
    pub fn values(&self) -> Knobs {
        let Self::File { knobs, settings, .. } = self else { return Knobs::new() };
        settings.iter().chain(knobs).map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Whether it is a file, or a folder, that the user named by its path, and not a built-in one.
    pub fn is_own_file(&self) -> bool {
        let is_path = |file: &str| file.ends_with(".bpf.c") || file.contains('/');
        matches!(self, SchedulerChoice::File { file, .. } if is_path(file))
    }

    /// Whether it needs `CONFIG_SCHED_CLASS_EXT`.
    pub fn is_sched_ext(&self) -> bool {
        matches!(self, Self::File { .. } | Self::Program { .. })
    }
}

/// A Linux scheduling policy with its parameters (`sched(7)`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// `other` (SCHED_OTHER; the default), `batch`, `idle`, `fifo`, `rr` or `deadline`.
    #[serde(default)]
    pub class: PolicyClass,
    /// −20 (most) … 19 (least); for `other` and `batch`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub nice: i32,
    /// 1 … 98, higher wins; for `fifo` and `rr`. Fairground itself has 99.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: u32,
    /// For `deadline`: CPU time that each period grants. For `other` and `batch`: the slice that
    /// the task asks for, 0.1 … 100 ms, instead of the scheduler's own; 0 asks for none (Linux
    /// 6.12 and later, `sched_attr::sched_runtime`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub runtime_us: u64,
    /// For `deadline`: relative deadline; 0 means the period.
    #[serde(default, skip_serializing_if = "is_default")]
    pub deadline_us: u64,
    /// For `deadline`: the period.
    #[serde(default, skip_serializing_if = "is_default")]
    pub period_us: u64,
    /// For `deadline`: the task may use bandwidth that others reserved and do not use (GRUB,
    /// `SCHED_FLAG_RECLAIM`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub reclaim: bool,
}

/// Weights of nice values −20 … 19, each about 1.25 times the next: `sched_prio_to_weight`.
const NICE_TO_WEIGHT: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// SCHED_IDLE's weight.
const IDLE_WEIGHT: u32 = 3;

impl PolicyClass {
    /// Whether its tasks are the fair class's, or sched_ext's.
    pub fn is_fair(self) -> bool {
        matches!(self, PolicyClass::Other | PolicyClass::Batch | PolicyClass::Idle)
    }
}

impl Policy {
    /// Its weight, where nice 0 has 1024.
    pub fn weight(&self) -> u32 {
        match self.class {
            PolicyClass::Idle => IDLE_WEIGHT,
            PolicyClass::Other | PolicyClass::Batch => {
                NICE_TO_WEIGHT[(self.nice.clamp(-20, 19) + 20) as usize]
            }
            _ => 1024,
        }
    }

    /// `p->scx.weight`: the weight on cgroup's scale, where nice 0 is 100.
    pub fn cgroup_weight(&self) -> u32 {
        ((self.weight() * 100 + 512) / 1024).clamp(1, 10_000)
    }
}

/// The six policies that a task can ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyClass {
    /// SCHED_OTHER: the fair class, or sched_ext when one is loaded.
    #[default]
    Other,
    /// SCHED_BATCH.
    Batch,
    /// SCHED_IDLE.
    Idle,
    /// SCHED_FIFO.
    Fifo,
    /// SCHED_RR.
    Rr,
    /// SCHED_DEADLINE.
    Deadline,
}
