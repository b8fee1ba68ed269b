// SPDX-License-Identifier: GPL-2.0-only
//! Calls of Slurm's commands.

use std::io;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use execution::refusal::bad_input;

/// What a command prints.
///
/// # Errors
/// When it is not installed, or fails: with what it says.
pub fn output(program: &str, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(program);
    // Formats that the user has set for themselves would change what is printed.
    for name in ["SQUEUE_FORMAT", "SQUEUE_FORMAT2", "SQUEUE_STATES", "SINFO_FORMAT", "SACCT_FORMAT"]
    {
        command.env_remove(name);
    }
    let output = command.args(arguments).stdin(Stdio::null()).output();
    let output = match output {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(bad_input(format!(
                "{program} is not installed; Slurm's commands are in the package slurm-client"
            )));
        }
        output => output.with_context(|| format!("cannot run {program}"))?,
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
        bail!("{program}: {}", said.trim_start_matches(&format!("{program}: ")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
