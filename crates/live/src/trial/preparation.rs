// SPDX-License-Identifier: GPL-2.0-only
//! What a real program needs before its trial can begin: a folder to work in, and what its
//! preparing commands make there (a clip to play, a source tree without objects).

use std::fs;
use std::path::{Path, PathBuf};

use model::{Outcome, Policy, Trial};
use tempfile::TempDir;

use crate::program::Running;
use crate::trial::Context;

/// In a source tree, the file that says which version of what package it is.
pub const VERSION_FILE: &str = ".fairground-version";

/// Where a trial's program works. An empty folder goes when this does.
pub enum Folder {
    /// Where we do.
    Ours,
    /// An empty one.
    Scratch(TempDir),
    /// A source tree.
    Sources(PathBuf),
}

impl Folder {
    /// Makes or finds it; the supervisor does, because a worker may die.
    ///
    /// # Errors
    /// How the trial ends when there is none.
    pub fn of(trial: &Trial, context: &Context) -> Result<Folder, Outcome> {
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
            None => Err(Outcome::Unsupported { reason: no_sources(&program.sources) }),
        }
    }

    /// Its path.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Folder::Ours => None,
            Folder::Scratch(folder) => Some(folder.path()),
            Folder::Sources(folder) => Some(folder),
        }
    }
}

/// What brings a source tree that is not here.
pub fn no_sources(name: &str) -> String {
    format!(
        "the source tree `{name}` is not here; `scripts/sources.sh {name}` gets and configures it"
    )
}

/// Which version of its source tree a program works in, by the tree's name.
pub fn version_of_sources(trial: &Trial, context: &Context) -> Option<(String, String)> {
    let program = trial.workload.program.as_ref().filter(|program| !program.sources.is_empty())?;
    let version = fs::read_to_string(context.folder.as_ref()?.join(VERSION_FILE)).ok()?;
    Some((program.sources.clone(), version.trim().to_owned()))
}

/// Runs a program's preparing commands, one after another, as ordinary tasks.
///
/// # Errors
/// How the trial ends when one of them fails, or when the trial's time is over.
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
    while !running.look() {
        if !running.wait() {
            return Err(Outcome::Timeout { reason: format!("still preparing with `{words}`") });
        }
    }
    let finished = running.finish();
    match finished.code {
        0 => Ok(()),
        code => {
            let last = parsers::last(&finished.stdout, &finished.stderr);
            Err(failed(format!("it ended with {}{last}", super::ending(code))))
        }
    }
}
