// SPDX-License-Identifier: GPL-2.0-only
//! The commands that load a scheduler on this machine, for the answer's lines on how to switch.

use std::path::Path;

use live::facts::active;
use model::{Contestant, SchedulerChoice};
use report::switching::{self, Obstacle};
use vm::installed;

use super::host::{Host, SchedExt};
use crate::command_line::quoted;
use spec::contestant;

/// Where `sudo` and services look for programs.
const FOLDERS: [&str; 4] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"];

/// Lines for a user who wants to switch to this contestant; commands are indented.
pub fn switch(recommended: &Contestant, host: &Host) -> Vec<String> {
    let obstacle = obstacle(host);
    match &recommended.scheduler {
        SchedulerChoice::Kernel => switching::to_the_kernels_own(),
        SchedulerChoice::Policy { policy } => switching::to_policy(policy),
        SchedulerChoice::Claimed { name } => switching::to_a_claimed_name(name),
        SchedulerChoice::Program { command, .. } => {
            let mut lines = switching::by_command(&of_program(command), "", obstacle.as_ref());
            lines.extend(by_loader(command));
            lines
        }
        SchedulerChoice::File { file, .. } => {
            let option = contestant::option(recommended, true).unwrap_or_else(|| file.clone());
            // A service starts in `/`.
            let is_relative = file.contains('/') && !file.starts_with('/');
            let service_options = if is_relative { " --same-dir" } else { "" };
            switching::by_command(&of_file(&option), service_options, obstacle.as_ref())
        }
    }
}

/// What to type for scx_loader, where its client is installed: it starts the scheduler that its
/// service finds by name, and with every boot if its file says so.
pub fn by_loader(command: &[String]) -> Vec<String> {
    let Some((program, arguments)) = command.split_first() else { return Vec::new() };
    let Some((name, _)) = spec::today::named(program) else { return Vec::new() };
    // `--args` separates arguments by commas.
    let can_be_told = !arguments.iter().any(|argument| argument.contains(','));
    if installed::find("scxctl").is_none() || !can_be_told {
        return Vec::new();
    }
    let mut lines = vec!["scx_loader is here, too, and starts the one that is installed:".into()];
    let is_found = FOLDERS.iter().any(|folder| Path::new(folder).join(name).is_file());
    if let (false, Some(path)) = (is_found, installed::find(program)) {
        let path = quoted(&path.display().to_string());
        lines.push(format!("  sudo install {path} /usr/local/bin/{name}"));
    }
    // `start` is refused while a scheduler is loaded.
    let verb = if active().sched_ext_state == "enabled" { "switch" } else { "start" };
    let short = name.strip_prefix("scx_").unwrap_or(name);
    let options = match arguments {
        [] => String::new(),
        all => format!(" {}", quoted(&format!("--args={}", all.join(",")))),
    };
    lines.push(format!("  scxctl {verb} --sched {short}{options}"));
    lines.push(format!(
        "With every boot: default_sched = \"{name}\" in /etc/scx_loader/config.toml"
    ));
    lines
}

/// The command that starts a program, as `sudo` finds it.
pub fn of_program(command: &[String]) -> String {
    let Some((program, arguments)) = command.split_first() else { return String::new() };
    let called = installed::find(program).and_then(|path| callable(&path));
    let words = std::iter::once(called.unwrap_or_else(|| program.clone()));
    let words = words.chain(arguments.iter().cloned()).map(|word| quoted(&word));
    words.collect::<Vec<_>>().join(" ")
}

/// The command that loads a scheduler's file, written as for `--scheduler`.
fn of_file(option: &str) -> String {
    let own = std::env::current_exe().ok().and_then(|path| callable(&path));
    let program = own.unwrap_or_else(|| "fairground".into());
    format!("{} load {}", quoted(&program), quoted(option))
}

/// How `sudo` and a service call the program: its path, unless they find its name.
fn callable(path: &Path) -> Option<String> {
    let folder = path.parent()?.to_str()?;
    let called = if FOLDERS.contains(&folder) { Path::new(path.file_name()?) } else { path };
    Some(called.to_str()?.to_owned())
}

fn obstacle(host: &Host) -> Option<Obstacle> {
    match &host.sched_ext {
        SchedExt::Absent => Some(Obstacle::NoSchedExt(host.release.clone())),
        SchedExt::Taken(name) => Some(Obstacle::Loaded(name.clone())),
        SchedExt::Free => None,
    }
}
