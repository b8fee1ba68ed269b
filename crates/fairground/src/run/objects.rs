// SPDX-License-Identifier: GPL-2.0-only
//! The trials' scheduler files, compiled: all of them before the first trial runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use compile::{Compiled, Source};
use model::{SchedulerChoice, Trial};

use crate::exit::bad_input;

/// Compiled schedulers by the SHA-256 of their source.
pub type Objects = BTreeMap<String, Compiled>;

/// Sources of schedulers by their SHA-256.
pub type Sources = BTreeMap<String, Source>;

/// Where the guest finds the objects.
pub const GUEST_FOLDER: &str = "/objects";

/// Compiles every scheduler file of the trials, or finds it compiled. `sources` are those that the
/// plan was made from; a trial that came from elsewhere names its file.
///
/// # Errors
/// When one does not compile, or its text is not the one that the trial was planned with.
pub fn compile(trials: &[Trial], sources: &Sources) -> Result<Objects> {
    let mut objects = Objects::new();
    for trial in trials {
        if let SchedulerChoice::File { file, sha256, .. } = &trial.contestant.scheduler
            && !objects.contains_key(sha256)
        {
            objects.insert(sha256.clone(), object(file, sha256, sources)?);
        }
    }
    Ok(objects)
}

fn object(file: &str, sha256: &str, sources: &Sources) -> Result<Compiled> {
    if let Some(object) = compile::find_object(sha256) {
        return Ok(object);
    }
    if let Some(source) = sources.get(sha256) {
        return Ok(compile::compile(source)?);
    }
    let source = compile::resolve(file, Path::new(""))?;
    if source.sha256 != sha256 {
        return Err(bad_input(format!(
            "{file}: its SHA-256 is {}, the trial was planned with {sha256}; plan again",
            source.sha256
        )));
    }
    Ok(compile::compile(&source)?)
}

/// The objects as files of the guest, so that it needs no compiler.
///
/// # Errors
/// When the temporary folder cannot be written.
pub fn guest_files(objects: &Objects) -> Result<Vec<(String, Vec<u8>)>> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    for object in objects.values() {
        compile::write_object(folder.path(), object)
            .context("cannot write a compiled scheduler")?;
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(folder.path())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        files.push((format!("{GUEST_FOLDER}/{name}"), fs::read(entry.path())?));
    }
    files.sort();
    Ok(files)
}
