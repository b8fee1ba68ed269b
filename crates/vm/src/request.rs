// SPDX-License-Identifier: GPL-2.0-only
//! A planned boot: the request, the events for the caller, and the settings that all attempts
//! share.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::{Machine, Record, Trial};

use crate::Kernel;
use crate::emulator::Emulator;
use crate::qemu::Accelerator;

pub struct BootRequest<'a> {
    pub kernel: &'a Kernel,
    /// CPUs, topology, memory and clock of the virtual machine.
    pub machine: &'a Machine,
    /// Number of the boot in the plan.
    pub boot: u32,
    /// The trials, in the order in which they run.
    pub trials: &'a [Trial],
    /// The program that becomes `/init`; its `main` must call [`crate::guest::run`].
    pub executable: &'a Path,
    /// Programs that the workloads name; packed with their shared libraries.
    pub programs: Vec<String>,
    /// Paths of programs that those programs start; packed in the same way.
    pub parts: Vec<String>,
    /// Further files: absolute path in the guest, and content.
    pub files: Vec<(String, Vec<u8>)>,
    /// The emulator; machines with a real clock do not use it.
    pub emulator: Option<&'a Emulator>,
    /// Where states of guests are kept, see [`crate::saved`]; `None`: nowhere.
    pub saved: Option<PathBuf>,
    /// What is done already; the default for a boot that has not begun.
    pub resume: Resume,
}

impl<'a> BootRequest<'a> {
    /// A boot that has not begun, of a guest that has nothing but the program.
    pub fn new(
        kernel: &'a Kernel,
        machine: &'a Machine,
        trials: &'a [Trial],
        executable: &'a Path,
    ) -> BootRequest<'a> {
        BootRequest {
            kernel,
            machine,
            boot: trials.first().map_or(0, |trial| trial.boot),
            trials,
            executable,
            programs: Vec::new(),
            parts: Vec::new(),
            files: Vec::new(),
            emulator: None,
            saved: None,
            resume: Resume::default(),
        }
    }
}

/// Where a boot that was interrupted goes on.
///
/// Under the virtual clock the trials that ran before in the same boot are part of a trial's
/// conditions: page tables, caches of the kernel, the phase of its timers. So a boot that was
/// interrupted is repeated from its first trial, and only the missing records are new.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    /// Index of the trial with which the guest begins.
    pub first: usize,
    /// Number of trials that have a record.
    pub answered: usize,
    /// Number of guests that this boot has used up before.
    pub attempt: u32,
    /// Why the one before ended.
    pub note: Option<String>,
}

/// What [`crate::run_trials`] reports to its caller.
#[derive(Clone, Debug)]
pub enum Event {
    /// The guest sent its first frame.
    Booted {
        /// Wall time since QEMU was started, ms.
        boot_ms: u64,
        /// SHA-256 of the guest's file system, see [`crate::initramfs::Image`].
        image_sha256: String,
    },
    TrialStarted(usize),
    /// The record of the trial with this index.
    Record(usize, Box<Record>),
    /// The trial with this index, which has a record, ran again because its boot was repeated.
    Repeated(usize, Box<Record>),
    Note(String),
}

/// What all attempts to run a boot's trials share.
pub(crate) struct Setup<'a> {
    pub request: &'a BootRequest<'a>,
    pub accelerator: Accelerator,
    /// The emulator, if it executes this machine; else the installed QEMU does.
    pub emulator: Option<&'a Emulator>,
    /// First line of `qemu --version`.
    pub qemu_version: String,
    /// See [`crate::qemu::firmware`].
    pub firmware: String,
    /// Longest silence before the first trial and between trials.
    pub silence_max: Duration,
    /// Whether guests stop when they are ready, so that they can be saved.
    pub pauses: Cell<bool>,
}
