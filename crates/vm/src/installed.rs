// SPDX-License-Identifier: GPL-2.0-only
//! Programs of the host that trials need: as contestants and as workloads.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use model::{Program, SchedulerChoice, Trial};

/// The programs of a trial, by name or path.
pub fn programs_of(trial: &Trial) -> Vec<&str> {
    let contestant = match &trial.contestant.scheduler {
        SchedulerChoice::Program { command } => command.first(),
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
    Some(match (package, missing.starts_with("scx_")) {
        ("", true) => {
            format!("{missing} is not installed; `cargo install {missing}` builds it")
        }
        ("", false) => format!("{missing} is not installed, or not in PATH"),
        (package, _) => format!("{missing} is not installed; `apt install {package}` brings it"),
    })
}

/// Finds a program as a shell does, and where `cargo install` puts it. Of several that a pattern
/// stands for, it is the last one.
pub fn find(program: &str) -> Option<PathBuf> {
    if program.contains('*') {
        return matches(program).into_iter().rfind(|path| is_executable(path));
    }
    if program.contains('/') {
        return is_executable(Path::new(program)).then(|| program.into());
    }
    folders().into_iter().map(|folder| folder.join(program)).find(|path| is_executable(path))
}

/// The paths that a pattern stands for, sorted.
pub fn matches(pattern: &str) -> Vec<PathBuf> {
    glob::glob(pattern).map(|paths| paths.flatten().collect()).unwrap_or_default()
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

fn folders() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let cargo = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
    env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/usr/local/bin".into()])
        .chain(cargo.map(|cargo| cargo.join("bin")))
        .collect()
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_its_last_program() {
        let folder = tempfile::tempdir().unwrap();
        for (version, mode) in [("14", 0o755), ("15", 0o755), ("16", 0o644)] {
            let path = folder.path().join(version);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("server"), "").unwrap();
            let allowed = fs::Permissions::from_mode(mode);
            fs::set_permissions(path.join("server"), allowed).unwrap();
        }
        let pattern = format!("{}/*/server", folder.path().display());
        assert_eq!(find(&pattern), Some(folder.path().join("15/server")));
        assert_eq!((matches(&pattern).len(), find(&format!("{pattern}x"))), (3, None));
    }
}
