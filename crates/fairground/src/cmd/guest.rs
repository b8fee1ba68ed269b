// SPDX-License-Identifier: GPL-2.0-only
//! `fairground guest`: the first process of a virtual machine.

use std::process::ExitCode;

use anyhow::Result;
use execution::in_guest;

use crate::exit::bad_input;

/// Options of `guest`: none, the kernel starts it.
#[derive(clap::Args)]
pub struct Args {}

/// Serves the trials that the host has packed, and powers the machine off.
///
/// # Errors
/// When it is not process 1: it would mount file systems over those of a running machine.
pub fn run(_: Args) -> Result<ExitCode> {
    if !vm::guest::is_init() {
        return Err(bad_input("`guest` is for process 1 of a virtual machine; use `trial`"));
    }
    in_guest::serve()
}
