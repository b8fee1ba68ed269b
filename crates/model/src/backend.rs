// SPDX-License-Identifier: GPL-2.0-only
//! What executes trials, and how backends differ: one row of facts for each backend.
//!
//! Other code asks for a property ([`Backend::is_model`],
//! [`Backend::boots_kernels`], …) and does not compare names, so that a new backend is a new row
//! here and a new arm where trials are executed.

use serde::{Deserialize, Serialize};

use crate::{Clock, Machine};

/// What executes trials; the first is the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    #[default]
    Sim,
    /// A real kernel in a virtual machine.
    Vm,
    /// The kernel that this program runs on.
    Live,
    /// Another program's result, read from its file by `fairground import`. It cannot be executed
    /// again.
    Imported,
}

/// Where the kernel of a trial comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kernel {
    Modelled,
    /// A boot starts the one that the contestant names.
    Booted,
    /// The running one; other work of the machine goes on.
    Running,
    /// The one that another program was measured on.
    Foreign,
}

/// How one backend differs from the others.
struct Facts {
    word: &'static str,
    noun: &'static str,
    about: &'static str,
    kernel: Kernel,
    /// `None`: the machine's file chooses.
    clock: Option<Clock>,
    cpus_max: Option<u32>,
}

impl Backend {
    /// The backends that can execute a trial, in the order in which `run` uses them.
    pub const EXECUTING: [Backend; 3] = [Backend::Sim, Backend::Vm, Backend::Live];

    /// The backend without a kernel, whose numbers are compared with a kernel's.
    pub const MODEL: Backend = Backend::Sim;

    fn facts(self) -> Facts {
        match self {
            Backend::Sim => Facts {
                word: "sim",
                noun: "the simulator",
                about: "The simulator",
                kernel: Kernel::Modelled,
                clock: Some(Clock::Virtual),
                cpus_max: None,
            },
            Backend::Vm => Facts {
                word: "vm",
                noun: "a virtual machine",
                about: "Real kernels in virtual machines",
                kernel: Kernel::Booted,
                clock: None,
                // What QEMU's `q35` carries.
                cpus_max: Some(255),
            },
            Backend::Live => Facts {
                word: "live",
                noun: "this machine",
                about: "The kernel that this machine runs",
                kernel: Kernel::Running,
                clock: Some(Clock::Real),
                cpus_max: None,
            },
            Backend::Imported => Facts {
                word: "imported",
                noun: "an imported result",
                about: "Results of other programs",
                kernel: Kernel::Foreign,
                clock: Some(Clock::Real),
                cpus_max: None,
            },
        }
    }

    /// Its name in one word, as in files, options and tables.
    pub fn word(self) -> &'static str {
        self.facts().word
    }

    /// Its name inside a sentence: `the simulator`.
    pub fn noun(self) -> &'static str {
        self.facts().noun
    }

    /// Its description in the help of `--on`, without a full stop.
    pub fn about(self) -> &'static str {
        self.facts().about
    }

    /// Whether a model takes the kernel's place: its numbers are predictions, and it has neither
    /// the kernel's own schedulers nor real programs.
    pub fn is_model(self) -> bool {
        self.facts().kernel == Kernel::Modelled
    }

    /// Whether it starts the kernel that a contestant names, so that trials are grouped by boot.
    pub fn boots_kernels(self) -> bool {
        self.facts().kernel == Kernel::Booted
    }

    /// Whether trials run on the kernel that this program runs on: loading a scheduler there takes
    /// privileges, affects everything else on the machine, and the records hold private facts.
    pub fn uses_running_kernel(self) -> bool {
        self.facts().kernel == Kernel::Running
    }

    /// Whether a trial gets the machine that its file describes. Other backends use the machine
    /// that they are on.
    pub fn shapes_machine(self) -> bool {
        self.is_model() || self.boots_kernels()
    }

    pub fn can_execute(self) -> bool {
        self.facts().kernel != Kernel::Foreign
    }

    /// The clock that measures times on this machine.
    pub fn clock(self, machine: &Machine) -> Clock {
        self.facts().clock.unwrap_or(machine.clock)
    }

    /// The largest machine in CPUs; `None`: no limit of its own.
    pub fn cpus_max(self) -> Option<u32> {
        self.facts().cpus_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_files() {
        for backend in Backend::EXECUTING.into_iter().chain([Backend::Imported]) {
            let json = serde_json::to_string(&backend).unwrap();
            assert_eq!(json, format!("\"{}\"", backend.word()));
        }
    }

    #[test]
    fn there_is_one_model_and_everything_else_is_executed_on_a_kernel() {
        let models: Vec<Backend> =
            Backend::EXECUTING.into_iter().filter(|b| b.is_model()).collect();
        assert_eq!(models, [Backend::MODEL]);
        assert_eq!(Backend::default(), Backend::MODEL);
        assert!(Backend::EXECUTING.into_iter().all(Backend::can_execute));
        assert!(!Backend::Imported.can_execute());
    }
}
