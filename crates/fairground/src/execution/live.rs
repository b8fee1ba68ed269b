// SPDX-License-Identifier: GPL-2.0-only
//! Trials on this machine's kernel, one after another.

use std::fs;

use live::facts::Context;
use model::{Progress, Trial};

use super::sink::Sink;
use super::{VERSION, locations, unsupported};
use crate::advice::host::running_kernel;

/// Runs the trials in order until the sink says stop.
pub fn run(trials: &[Trial], sink: &Sink<'_>) {
    if trials.is_empty() {
        return;
    }
    let running = running_kernel();
    for (position, trial) in trials.iter().enumerate() {
        if sink.is_stopped() {
            return;
        }
        sink.progress(&Progress::TrialStarted(trial));
        let record = match running.why_not(&trial.contestant) {
            Some(other) => unsupported(trial.clone(), &other),
            None => live::trial::supervise(trial, &context(position as u32), sink.stop()),
        };
        // An interrupted trial has no record; `--resume` runs it again.
        if !sink.is_stopped() || record.outcome.is_ok() {
            sink.record(record);
        }
    }
}

/// The context of a trial: this boot, and the trial's position in it.
pub fn context(boot_position: u32) -> Context {
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    Context {
        accelerator: "none".into(),
        kernel_sha256: String::new(),
        boot_id: boot_id.trim().into(),
        boot_position,
        in_guest: false,
        virtual_clock: false,
        calibration_rounds_per_ms: None,
        calls: Default::default(),
        fairground: VERSION.into(),
        sources: locations::source_trees(),
        folder: None,
    }
}
