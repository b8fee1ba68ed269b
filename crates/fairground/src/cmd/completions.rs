// SPDX-License-Identifier: GPL-2.0-only
//! `fairground completions SHELL`

use std::process::ExitCode;

use anyhow::Result;
use clap_complete::Shell;

use crate::output;

/// Options of `completions`.
#[derive(clap::Args)]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Prints the script.
///
/// # Errors
/// When standard output is closed.
pub fn run(args: Args) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "fairground", &mut script);
    output::print(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}
