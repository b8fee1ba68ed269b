// SPDX-License-Identifier: GPL-2.0-only
//! The guest: process 1 of the virtual machine.
//!
//! It makes the file systems that programs expect, waits for the kernel's clock, and, where boots
//! are saved, stops the machine: every boot goes on from there. Then it reads its orders, and for
//! each trial: waits until the machine is idle, announces the trial, executes it, sends the record
//! to the host, and kills remaining processes.
//!
//! Input and output at the machine's ports from user space: the debug console, and the files that
//! the host gave to QEMU (`-fw_cfg`).
//!
//! The fw_cfg device belongs to the process of QEMU and not to the guest's memory: a machine that
//! goes on from a saved state reads the files of the new process. The kernel's driver is no
//! substitute: it is a module, and looks only once.

pub(crate) mod setup;

use std::arch::asm;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Context, Result, bail};
use model::{Outcome, Provenance, Record, Trial};

use crate::channel::{self, FrameKind, Orders, PORT};
use crate::initramfs::{BOOT_FILE, Boot};

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
        write(&channel::encode(FrameKind::Failed, format!("{error:#}").as_bytes()));
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
    write(&channel::encode(FrameKind::Hello, boot_id.as_bytes()));
    setup::await_clock();
    for (position, trial) in trials.iter().enumerate() {
        let facts = GuestFacts {
            boot_id: boot_id.clone(),
            boot_position: position as u32,
            accelerator: boot.accelerator.clone(),
            kernel_sha256: boot.kernel_sha256.clone(),
        };
        setup::wait();
        write(&channel::encode(FrameKind::Started, position.to_string().as_bytes()));
        let record = answer(handle, trial, facts);
        write(&channel::encode(FrameKind::Record, &serde_json::to_vec(&record)?));
        setup::kill_everything_else();
    }
    write(&channel::encode(FrameKind::Finished, b""));
    Ok(())
}

/// Returns when the machine goes on.
fn stop_when_ready() -> Result<()> {
    setup::await_clock();
    setup::wait();
    write(&channel::encode(FrameKind::Ready, b""));
    setup::pause()
}

/// The orders. Where boots go on from the same state, random numbers follow from them.
fn read_orders(is_same_state: bool) -> Result<Orders> {
    let packed = read_file(channel::NAME)?;
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

/// Writes the bytes to the debug console, all of them, before it returns.
pub fn write(bytes: &[u8]) {
    with_access(PORT, 1, || {
        // SAFETY: the kernel let us at the port; the registers describe `bytes`, which is only
        // read, and the calling convention keeps the direction flag clear.
        unsafe {
            asm!(
                "rep outsb",
                in("dx") PORT,
                inout("rsi") bytes.as_ptr() => _,
                inout("rcx") bytes.len() => _,
                options(nostack, readonly),
            );
        }
    });
}

/// Fills `into` with what a port gives, byte by byte. The caller has access to the port.
fn read(port: u16, into: &mut [u8]) {
    // SAFETY: the registers describe `into`, which nothing else uses meanwhile.
    unsafe {
        asm!(
            "rep insb",
            in("dx") port,
            inout("rdi") into.as_mut_ptr() => _,
            inout("rcx") into.len() => _,
            options(nostack),
        );
    }
}

/// Writes two bytes to a port, in one instruction. The caller has access to both.
fn write_word(port: u16, word: u16) {
    // SAFETY: the instruction uses these registers only.
    unsafe { asm!("out dx, ax", in("dx") port, in("ax") word, options(nostack)) };
}

/// Does something with access to some ports. It is asked for and given back each time, because a
/// task that holds it costs the kernel more at every switch.
fn with_access<T>(first: u16, count: u16, work: impl FnOnce() -> T) -> T {
    allow(first, count, true);
    let done = work();
    allow(first, count, false);
    done
}

/// Process 1 is root and no lockdown is in force without secure boot, so this cannot be refused;
/// otherwise the instructions above would end process 1, and the kernel would panic with a message.
fn allow(first: u16, count: u16, access: bool) {
    // SAFETY: ioperm changes nothing but this thread's access to these ports.
    unsafe {
        libc::ioperm(
            libc::c_ulong::from(first),
            libc::c_ulong::from(count),
            libc::c_int::from(access),
        )
    };
}

/// A number is written here, in one instruction, and the next port gives that item's bytes.
const SELECTOR: u16 = 0x510;
const DATA: u16 = 0x511;
const PORTS: u16 = 2;

/// Items with fixed numbers.
const SIGNATURE: u16 = 0;
const DIRECTORY: u16 = 0x19;

/// An entry: size (4 bytes), number (2), reserved (2), name; big-endian.
const ENTRY: usize = 64;
const NAME: usize = 8;
/// More is no directory.
const ENTRIES_MAX: u32 = 4096;

pub fn read_file(name: &str) -> Result<Vec<u8>> {
    with_access(SELECTOR, PORTS, || {
        let mut signature = [0; 4];
        read_item(SIGNATURE, &mut signature);
        if &signature != b"QEMU" {
            bail!("the machine has no fw_cfg device");
        }
        let Some((number, size)) = find(name) else {
            bail!("the host has passed no {name}");
        };
        let mut content = vec![0; size];
        read_item(number, &mut content);
        Ok(content)
    })
}

fn find(name: &str) -> Option<(u16, usize)> {
    let mut count = [0; 4];
    read_item(DIRECTORY, &mut count);
    (0..u32::from_be_bytes(count).min(ENTRIES_MAX)).find_map(|_| {
        let mut entry = [0; ENTRY];
        read(DATA, &mut entry);
        parse(&entry, name)
    })
}

fn parse(entry: &[u8; ENTRY], name: &str) -> Option<(u16, usize)> {
    let own = entry[NAME..].split(|byte| *byte == 0).next()?;
    let size = u32::from_be_bytes([entry[0], entry[1], entry[2], entry[3]]) as usize;
    (own == name.as_bytes()).then_some((u16::from_be_bytes([entry[4], entry[5]]), size))
}

fn read_item(number: u16, into: &mut [u8]) {
    write_word(SELECTOR, number);
    read(DATA, into);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_a_name_a_number_and_a_size() {
        let mut entry = [0; ENTRY];
        entry[..6].copy_from_slice(&[0, 0, 1, 2, 0, 0x2e]);
        entry[NAME..NAME + 5].copy_from_slice(b"opt/a");
        assert_eq!(parse(&entry, "opt/a"), Some((0x2e, 258)));
        assert_eq!(parse(&entry, "opt/ab"), None);
        assert_eq!(parse(&entry, "opt"), None);
    }
}
