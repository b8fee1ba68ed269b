// SPDX-License-Identifier: GPL-2.0-only
//! Progress of a running experiment. Backends emit these events and never print.

use crate::{Outcome, Trial};

#[derive(Clone, Debug)]
pub enum Progress<'a> {
    Planned {
        trials: usize,
        /// Of these, already in the store (`--resume`).
        done: usize,
    },
    /// A virtual machine is starting.
    BootStarted {
        boot: u32,
        /// The kernel's release.
        kernel: &'a str,
    },
    /// The guest is ready for its first trial.
    Booted {
        boot: u32,
        /// Wall time from the start of QEMU to the guest's first word.
        boot_ms: u64,
    },
    TrialStarted(&'a Trial),
    /// A trial has its record, and the record is in the store.
    TrialFinished(&'a Trial, &'a Outcome),
    /// A notice for the user: KVM does not work, a kernel is missing.
    Note(&'a str),
}
