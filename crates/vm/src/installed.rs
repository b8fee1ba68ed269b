// SPDX-License-Identifier: GPL-2.0-only
//! Programs of the host that trials need: as contestants and as workloads.
//!
//! [`data_folder`] is for what is expensive to get: kernels, the emulator, saved boots,
//! source trees.

use std::ffi::OsStr;
use std::process::Command;
use std::{fs, io};

use model::{Program, SchedulerChoice, Trial};
use process::installed::{folders, is_executable};

pub use process::installed::{data_folder, find, matches};

/// The programs of a trial, by name or path.
pub fn programs_of(trial: &Trial) -> Vec<&str> {
    let contestant = match &trial.contestant.scheduler {
        SchedulerChoice::Program { command, .. } => command.first(),
        _ => None,
    };
    let workload = trial.workload.program.iter().flat_map(Program::needed).map(|(name, _)| name);
    contestant.into_iter().map(String::as_str).chain(workload).collect()
}

/// Why a trial cannot run in a VM for want of a program; `None` when all are here.
pub fn missing(trial: &Trial) -> Option<String> {
    let missing = programs_of(trial).into_iter().find(|program| find(program).is_none())?;
    let mut needed = trial.workload.program.iter().flat_map(Program::needed);
    let package = needed.find(|(name, _)| *name == missing).map_or("", |(_, package)| package);
    Some(if !package.is_empty() {
        format!("{missing} is not installed; to get it: {}", process::packages::install(package))
    } else {
        not_here(missing)
    })
}

/// What is said of a program that is not installed.
pub fn not_here(program: &str) -> String {
    if program.starts_with("scx_") {
        format!("{program} is not installed; `fairground get {program}` builds it")
    } else {
        format!("{program} is not installed, or not in PATH")
    }
}

/// The first line that a program prints for `--version`.
pub fn version(program: impl AsRef<OsStr>) -> io::Result<String> {
    let output = process::stop::output(Command::new(program).arg("--version"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// The names of the installed sched_ext schedulers, sorted.
pub fn sched_ext() -> Vec<String> {
    let files = folders().into_iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let names = files.flatten().filter(|file| is_executable(&file.path()));
    let names = names.map(|file| file.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("scx_")).collect();
    names.sort();
    names.dedup();
    names
}
