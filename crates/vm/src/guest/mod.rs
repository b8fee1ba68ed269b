// SPDX-License-Identifier: GPL-2.0-only
//! The guest: process 1 of the virtual machine.
//!
//! It makes the file systems that programs expect, waits for the kernel's clock, and, where boots
//! are saved, stops the machine: every boot goes on from there. Then it reads its orders, and for
//! each trial: waits until the machine is idle, announces the trial, executes it, sends the record
//! to the host, and kills remaining processes.

pub(crate) mod idle;
mod port;
mod setup;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Context, Result};
use model::{Outcome, Provenance, Record, Trial};

use crate::channel::{self, FrameKind};
use crate::initramfs::{BOOT_FILE, Boot};
use crate::orders::{self, Orders};

/// Facts about the boot, and the place of the next trial in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFacts {
    /// The kernel's `boot_id`; under a virtual clock the host's number for the boot.
    pub boot_id: String,
    /// Trials that ran in this boot before this one.
    pub boot_position: u32,
    /// `kvm` or `tcg`.
    pub accelerator: String,
    /// SHA-256 of the kernel image.
    pub kernel_sha256: String,
}

/// Whether this process is a guest's `/init`, so that `main` must call [`run`].
pub fn is_init() -> bool {
    std::process::id() == 1 && std::env::args_os().next().is_some_and(|name| name == "/init")
}

/// Runs all trials of the boot and powers the machine off. `handle` answers one trial; a panic in
/// it is that trial's failure. After each trial every process but this one is killed.
pub fn run(handle: &mut dyn FnMut(&Trial, GuestFacts) -> Record) -> ! {
    if let Err(error) = run_trials(handle) {
        port::write(&channel::encode(FrameKind::Failed, format!("{error:#}").as_bytes()));
    }
    setup::power_off()
}

fn run_trials(handle: &mut dyn FnMut(&Trial, GuestFacts) -> Record) -> Result<()> {
    let boot: Boot = serde_json::from_slice(&fs::read(BOOT_FILE)?).context(BOOT_FILE)?;
    setup::make_usable(&boot.path)?;
    if boot.pauses {
        stop_when_ready()?;
    }
    let Orders { boot_id, trials, objects } = read_orders(boot.pauses)?;
    for (path, content) in objects {
        fs::write(&path, content).with_context(|| format!("writing {path} in the guest"))?;
    }
    let boot_id = match boot_id {
        Some(boot_id) => boot_id,
        None => fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned(),
    };
    port::write(&channel::encode(FrameKind::Hello, boot_id.as_bytes()));
    idle::await_clock();
    for (position, trial) in trials.iter().enumerate() {
        let facts = GuestFacts {
            boot_id: boot_id.clone(),
            boot_position: position as u32,
            accelerator: boot.accelerator.clone(),
            kernel_sha256: boot.kernel_sha256.clone(),
        };
        idle::wait();
        port::write(&channel::encode(FrameKind::Started, position.to_string().as_bytes()));
        let record = answer(handle, trial, facts);
        port::write(&channel::encode(FrameKind::Record, &serde_json::to_vec(&record)?));
        setup::kill_everything_else();
    }
    port::write(&channel::encode(FrameKind::Finished, b""));
    Ok(())
}

/// Returns when the machine goes on.
fn stop_when_ready() -> Result<()> {
    idle::await_clock();
    idle::wait();
    port::write(&channel::encode(FrameKind::Ready, b""));
    idle::pause()
}

/// The orders. Where boots go on from the same state, random numbers follow from them.
fn read_orders(is_same_state: bool) -> Result<Orders> {
    let packed = port::read_file(orders::NAME)?;
    if is_same_state {
        setup::seed_random_numbers(&packed)?;
    }
    Orders::decode(&packed)
}

fn answer(
    handle: &mut dyn FnMut(&Trial, GuestFacts) -> Record,
    trial: &Trial,
    facts: GuestFacts,
) -> Record {
    let provenance = Provenance {
        boot_id: facts.boot_id.clone(),
        boot_position: facts.boot_position,
        ..Provenance::default()
    };
    catch_unwind(AssertUnwindSafe(|| handle(trial, facts))).unwrap_or_else(|_| {
        let reason = "fairground itself panicked in the guest; please report it".to_owned();
        Record::without_measurement(trial.clone(), Outcome::Failed { reason }, provenance)
    })
}
