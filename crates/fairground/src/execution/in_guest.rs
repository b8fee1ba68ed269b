// SPDX-License-Identifier: GPL-2.0-only
//! Inside a virtual machine: process 1 executes the packed trials with the live backend.

use std::sync::atomic::AtomicBool;

use live::facts::Context;
use model::{Clock, Record, Trial};
use vm::guest::GuestFacts;
use vm::packing;

use super::{VERSION, objects, tapes};

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
        calibration_rounds_per_ms: None,
        calls: Default::default(),
        fairground: VERSION.into(),
        sources: Some(packing::GUEST_FOLDER.into()),
        ..Context::default()
    };
    // There is no Ctrl-C in a guest: the host ends the whole machine.
    let mut trial = trial.clone();
    tapes::take_from_guest(&mut trial);
    live::trial::supervise(&trial, &context, &AtomicBool::new(false))
}
