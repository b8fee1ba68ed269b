// SPDX-License-Identifier: GPL-2.0-only
//! Preparation of a real program's trial: a working folder, and the files that its
//! preparing commands make there (a clip to play, a source tree without objects).

use std::fs;
use std::path::{Path, PathBuf};

use model::source_tree::{self, VERSION_FILE};
use model::{Outcome, Policy, Trial};
use tempfile::TempDir;

use crate::facts::Context;
use crate::program::Running;

/// The working folder of a trial's program. A scratch folder is deleted on drop.
pub enum Folder {
    Ours,
    Scratch(TempDir),
    /// A source tree.
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
            None => Err(Outcome::Unsupported { reason: source_tree::absent(&program.sources) }),
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
