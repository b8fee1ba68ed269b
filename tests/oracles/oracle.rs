// SPDX-License-Identifier: GPL-2.0-only
//! An oracle: runs, and what must hold of their records.

use model::Record;

/// What is known, and how to see it.
#[derive(Clone)]
pub struct Oracle {
    /// The scheduler and the number in its list, `cfs 2`.
    pub name: &'static str,
    /// What must hold, one sentence with its source.
    pub claim: &'static str,
    /// Where it can be seen.
    pub place: Where,
    pub runs: Vec<Run>,
    /// Judges the trials' records, in their order; all ended well. The error says what is seen.
    pub holds: Holds,
}

/// Where an oracle can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// In the simulator, and on a real kernel with one CPU.
    Everywhere,
    /// In the simulator only: several CPUs, or times that a real kernel's own work would blur.
    Simulator,
    /// On a real kernel of before 6.12 only, which throttles real-time tasks.
    OldKernel,
}

/// A scheduler under a workload on a machine.
#[derive(Clone)]
pub struct Run {
    /// As after `--scheduler`: a name with its knobs.
    pub scheduler: &'static str,
    /// A load of `loads.toml` with its parameters, or a workload's TOML text.
    pub workload: &'static str,
    /// CPUs of the machine.
    pub cpus: u32,
    /// Ticks per second in the simulator; real kernels have 250.
    pub hz: u32,
    /// Whether real-time and deadline tasks have a limit.
    pub is_limited: bool,
    /// Whether the kernel's admission control is to refuse it.
    pub is_refused: bool,
}

/// Judges the records of an oracle's runs.
type Holds = fn(&[Record]) -> Result<(), String>;

/// What can be seen in the simulator, and on a real kernel with one CPU.
pub fn everywhere(name: &'static str, claim: &'static str, runs: Vec<Run>, holds: Holds) -> Oracle {
    Oracle { name, claim, place: Where::Everywhere, runs, holds }
}

/// What can be seen in the simulator only.
pub fn simulated(name: &'static str, claim: &'static str, runs: Vec<Run>, holds: Holds) -> Oracle {
    Oracle { name, claim, place: Where::Simulator, runs, holds }
}

/// What can be seen on a real kernel of before 6.12 only.
pub fn on_old_kernels(
    name: &'static str,
    claim: &'static str,
    runs: Vec<Run>,
    holds: Holds,
) -> Oracle {
    Oracle { name, claim, place: Where::OldKernel, runs, holds }
}

impl Run {
    /// On one CPU with 250 ticks per second.
    pub fn new(scheduler: &'static str, workload: &'static str) -> Run {
        Run { scheduler, workload, cpus: 1, hz: 250, is_limited: true, is_refused: false }
    }

    /// … where real-time and deadline tasks may have all of it.
    pub fn unlimited(scheduler: &'static str, workload: &'static str) -> Run {
        Run { is_limited: false, ..Run::new(scheduler, workload) }
    }
}

/// An oracle of a file's own functions: what they answer.
macro_rules! facts {
    ($file:expr, $name:literal, $claim:literal, $($fact:expr),* $(,)?) => {
        crate::oracle::Oracle {
            name: $name,
            claim: $claim,
            place: crate::oracle::Where::Simulator,
            runs: vec![crate::oracle::Run::new($file, "short")],
            holds: |records| crate::look::printed_all(&records[0], &[$($fact),*]),
        }
    };
}
pub(crate) use facts;
