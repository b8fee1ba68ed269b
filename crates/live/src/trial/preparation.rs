// SPDX-License-Identifier: GPL-2.0-only
//! What comes before a trial: reasons why this machine or kernel cannot run it, checked before
//! anything is changed; a working folder for its program, and the files that its preparing commands
//! make there (a clip to play, a source tree without objects).

use std::fs;
use std::path::{Path, PathBuf};

use model::tables::{VERSION_FILE, tree_is_absent};
use model::{Outcome, Policy, SchedulerChoice, Step, Trial};
use process::installed::find;
use tempfile::TempDir;

use crate::facts::{Context, cpus_online};
use crate::loader::{Obstacle, obstacles};
use crate::program::{self, Running};

/// The first obstacle, with a remedy.
pub fn obstacle(trial: &Trial) -> Option<String> {
    let scheduler =
        scheduler_obstacle(&trial.contestant.scheduler).or_else(|| reload_obstacle(trial));
    let program = || trial.workload.program.as_ref().and_then(program::missing);
    scheduler.or_else(program).or_else(|| missing_cpu(trial))
}

/// A difference between the trial's machine and this one that does not prevent the trial.
pub fn differences(trial: &Trial, cpus: u32) -> Option<String> {
    let machine = &trial.machine;
    (machine.cpus != cpus)
        .then(|| format!("machine `{}` has {} CPUs, this one {cpus}", machine.name, machine.cpus))
}

fn scheduler_obstacle(choice: &SchedulerChoice) -> Option<String> {
    if let SchedulerChoice::Program { command, .. } = choice {
        let name = command.first().map_or("", String::as_str);
        if find(name).is_none() {
            return Some(format!(
                "the scheduler `{name}` is not installed here; try: fairground get {name}"
            ));
        }
    }
    if !choice.is_sched_ext() {
        return None;
    }
    let remedy = |obstacle| match obstacle {
        Obstacle::NoSchedExt => Some("use --on vm, or boot another"),
        Obstacle::NotRoot => Some("use sudo, or --on vm"),
        // The loader says these, once it knows the scheduler.
        Obstacle::NoBtf | Obstacle::Taken { .. } => None,
    };
    let worded = |obstacle: Obstacle| {
        let text = obstacle.to_string();
        remedy(obstacle).map(|remedy| format!("{text}; {remedy}"))
    };
    obstacles().into_iter().find_map(worded)
}

fn reload_obstacle(trial: &Trial) -> Option<String> {
    let reloads = trial.workload.reloads > 0 && !trial.contestant.scheduler.is_sched_ext();
    reloads.then(|| "the kernel's own scheduler cannot be reloaded; use a sched_ext one".into())
}

/// A CPU that the workload names and the machine lacks.
fn missing_cpu(trial: &Trial) -> Option<String> {
    let online = cpus_online();
    for group in &trial.workload.control_groups {
        if let Some(cpu) = group.cpus.iter().find(|cpu| !online.contains(cpu)) {
            return Some(format!(
                "the group `{}` wants CPU {cpu}; this machine has {}: {online:?}",
                group.name,
                online.len()
            ));
        }
    }
    let groups = trial.workload.tasks.iter().filter(|group| group.template || group.count > 0);
    for group in groups {
        let mut wanted = group.affinity.clone();
        collect_cpus(&group.steps, &mut wanted);
        if let Some(cpu) = wanted.iter().find(|cpu| !online.contains(cpu)) {
            return Some(format!(
                "tasks of `{}` want CPU {cpu}; this machine has {}: {online:?}",
                group.name,
                online.len()
            ));
        }
    }
    None
}

fn collect_cpus(steps: &[Step], wanted: &mut Vec<u32>) {
    for step in steps {
        match step {
            Step::Affinity(cpus) => wanted.extend(cpus),
            other => collect_cpus(other.inner(), wanted),
        }
    }
}

/// The working folder of a trial's program. A scratch folder is deleted on drop.
pub enum Folder {
    Ours,
    Scratch(TempDir),
    Sources(PathBuf),
}

impl Folder {
    /// Makes or finds the folder. The supervisor calls this, because a worker may die and leave a
    /// scratch folder behind.
    ///
    /// # Errors
    /// The outcome of the trial if there is no such folder.
    pub fn for_trial(trial: &Trial, context: &Context) -> Result<Folder, Outcome> {
        let Some(program) = &trial.workload.program else { return Ok(Folder::Ours) };
        if program.scratch {
            let made = tempfile::Builder::new().prefix("fairground-").tempdir();
            return made.map(Folder::Scratch).map_err(|error| Outcome::Failed {
                reason: format!("no folder for the program: {error}; set TMPDIR to one with space"),
            });
        }
        if program.sources.is_empty() {
            return Ok(Folder::Ours);
        }
        let tree = context.sources.as_ref().map(|sources| sources.join(&program.sources));
        match tree.filter(|tree| tree.join(VERSION_FILE).is_file()) {
            Some(tree) => Ok(Folder::Sources(tree)),
            None => Err(Outcome::Unsupported { reason: tree_is_absent(&program.sources) }),
        }
    }

    /// The path; `None` for the current folder.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Folder::Ours => None,
            Folder::Scratch(folder) => Some(folder.path()),
            Folder::Sources(folder) => Some(folder),
        }
    }
}

/// Name and version of the source tree that the trial's program works in.
pub fn version_of_sources(trial: &Trial, context: &Context) -> Option<(String, String)> {
    let program = trial.workload.program.as_ref().filter(|program| !program.sources.is_empty())?;
    let version = fs::read_to_string(context.folder.as_ref()?.join(VERSION_FILE)).ok()?;
    Some((program.sources.clone(), version.trim().to_owned()))
}

/// Runs the program's preparing commands one after another, as ordinary tasks.
///
/// # Errors
/// The outcome of the trial if a command fails, or if the trial's time is over.
pub fn prepare(trial: &Trial, folder: Option<&Path>) -> Result<(), Outcome> {
    let commands = trial.workload.program.iter().flat_map(|program| &program.prepare);
    commands.into_iter().try_for_each(|command| run(command, folder))
}

fn run(command: &[String], folder: Option<&Path>) -> Result<(), Outcome> {
    let words = command.join(" ");
    let failed =
        |why: String| Outcome::Failed { reason: format!("preparing with `{words}`: {why}") };
    let mut running = Running::hold(command, &Policy::default(), folder)
        .map_err(|error| failed(error.to_string()))?;
    running.release();
    while !running.poll() {
        if !running.wait() {
            return Err(Outcome::Timeout { reason: format!("still preparing with `{words}`") });
        }
    }
    let finished = running.finish();
    match finished.code {
        0 => Ok(()),
        code => {
            let last = model::parsers::last(&finished.stdout, &finished.stderr);
            Err(failed(format!("it ended with {}{last}", super::ending(code))))
        }
    }
}
