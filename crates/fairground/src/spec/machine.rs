// SPDX-License-Identifier: GPL-2.0-only
//! A machine file → [`model::Machine`].

use std::path::Path;

use model::Machine;

use super::SpecError;
use super::source::Document;
use crate::assets::{self, Asset, Kind};

/// The machine file that stands for the machine that we are on.
pub const HERE: &str = "here";
/// The most CPUs of a machine: what QEMU's `q35` and the kernel's defaults carry.
const CPUS_MAX: u32 = 255;
/// The least memory in MiB that a kernel with its initramfs boots in.
const MEMORY_MIB_MIN: u32 = 128;

/// Reads a machine by name or path; `cpus = 0` stands for `host_cpus`.
///
/// # Errors
/// No such file, syntax, numbers out of range.
pub fn load(name: &str, base: &Path, host_cpus: u32) -> Result<Machine, SpecError> {
    read(&assets::find(Kind::Machine, name, base)?, host_cpus)
}

/// Reads a machine's file.
///
/// # Errors
/// Syntax, numbers out of range.
pub fn read(asset: &Asset, host_cpus: u32) -> Result<Machine, SpecError> {
    let mut document = Document::parse(&asset.label, &asset.text)?;
    document.set_name(&asset.stem)?;
    let machine: Machine = document.read()?;
    if machine.cpus > CPUS_MAX {
        let message = format!("{} CPUs are too many for a virtual machine", machine.cpus);
        let hint = format!("write 1 … {CPUS_MAX}, or 0 for as many as this machine has");
        return Err(document.places.error("cpus", message).hint(hint));
    }
    if machine.memory_mib < MEMORY_MIB_MIN {
        let message = format!("{} MiB are too little to boot", machine.memory_mib);
        let hint = format!("write {MEMORY_MIB_MIN} or more");
        return Err(document.places.error("memory_mib", message).hint(hint));
    }
    let cpus = if machine.cpus == 0 { host_cpus.max(1) } else { machine.cpus };
    Ok(Machine { cpus, ..machine })
}
