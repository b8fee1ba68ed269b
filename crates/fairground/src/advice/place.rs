// SPDX-License-Identifier: GPL-2.0-only
//! The machine of a race if the user names none.

use std::fs::OpenOptions;

use anyhow::{Context, Result};
use model::Backend;
use vm::kernels;

use super::race::VM_KERNEL;
use crate::execution::locations::data_folder;
use crate::output;
use spec::machine::HERE;

/// One CPU that counts instructions.
const COUNTING: &str = "uniprocessor";

/// The machine's name; and why it is not this one, if the user did not name it.
///
/// # Errors
/// When there is no data folder, or this program's own file is not found.
pub fn machine(backend: Backend, named: Option<&str>) -> Result<(String, Option<String>)> {
    match (named, backend) {
        (Some(named), _) => Ok((named.into(), None)),
        (None, backend) if backend.boots_kernels() => virtual_machine(),
        (None, _) => Ok((HERE.into(), None)),
    }
}

/// A machine that is emulated in real time shows the speed of the emulation and what else the
/// host does. With counted instructions numbers are exact, but only one CPU can be emulated.
fn virtual_machine() -> Result<(String, Option<String>)> {
    let Some(why) = without_kvm()? else { return Ok((HERE.into(), None)) };
    output::tell(format_args!(
        "KVM does not work ({why}): on one CPU in virtual time; --machine here emulates all in \
         real time"
    ));
    Ok((COUNTING.into(), Some("KVM does not work here".into())))
}

/// Why KVM does not work. Without a kernel to try, what the device says is believed; the campaign
/// downloads the kernel.
fn without_kvm() -> Result<Option<String>> {
    let Ok(kernel) = kernels::find(&data_folder()?, VM_KERNEL) else {
        let device = OpenOptions::new().read(true).write(true).open("/dev/kvm");
        return Ok(device.err().map(|error| format!("/dev/kvm: {error}")));
    };
    let executable = std::env::current_exe().context("cannot find this program's own file")?;
    Ok(vm::kvm(&kernel, &executable).err().map(|why| why.short()))
}
