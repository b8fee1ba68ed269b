// SPDX-License-Identifier: GPL-2.0-only
//! Running the system's package tools.

use std::ffi::OsStr;
use std::process::Command;

use anyhow::{Result, bail};

/// Runs a command and returns its output. The error holds the last lines of its error output.
pub fn run(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_owned();
    let output = command.output().map_err(|error| missing(&name, error))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        let last: Vec<&str> = words.lines().rev().take(6).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        bail!("{} failed: {}", name.to_string_lossy(), last.join("; "));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn missing(name: &OsStr, error: std::io::Error) -> anyhow::Error {
    anyhow::anyhow!(
        "`{}` cannot be run ({error}): pulling needs Debian's apt",
        name.to_string_lossy()
    )
}
