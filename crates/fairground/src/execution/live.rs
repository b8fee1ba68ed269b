// SPDX-License-Identifier: GPL-2.0-only
//! Trials by the live backend: on this machine's kernel, one after another, and inside a virtual
//! machine, where process 1 executes the packed ones.

use std::fs;
use std::sync::atomic::AtomicBool;

use live::facts::Context;
use model::{Clock, Progress, Record, Trial};
use vm::guest::GuestFacts;
use vm::packing;

use super::sink::Sink;
use super::{VERSION, locations, objects, tapes, unsupported};
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
        boot_id: boot_id.trim().into(),
        boot_position,
        fairground: VERSION.into(),
        sources: locations::source_trees(),
        ..Context::default()
    }
}

/// Serves the packed trials, then powers the machine off.
pub fn serve() -> ! {
    // SAFETY: process 1 has a single thread here.
    unsafe { std::env::set_var(compile::OBJECTS_VARIABLE, objects::GUEST_FOLDER) };
    vm::guest::run(&mut answer)
}

fn answer(trial: &Trial, facts: GuestFacts) -> Record {
    let context = Context {
        accelerator: facts.accelerator,
        kernel_sha256: facts.kernel_sha256,
        boot_id: facts.boot_id,
        boot_position: facts.boot_position,
        in_guest: true,
        virtual_clock: trial.machine.clock == Clock::Virtual,
        fairground: VERSION.into(),
        sources: Some(packing::GUEST_FOLDER.into()),
        ..Context::default()
    };
    // There is no Ctrl-C in a guest: the host ends the whole machine.
    let mut trial = trial.clone();
    tapes::take_from_guest(&mut trial);
    live::trial::supervise(&trial, &context, &AtomicBool::new(false))
}
