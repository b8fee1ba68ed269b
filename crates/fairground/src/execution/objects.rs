// SPDX-License-Identifier: GPL-2.0-only
//! The trials' scheduler files, all compiled before the first trial runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result};
use compile::native::{self, Form, Native};
use compile::{CompileError, Compiled, Source};
use model::{SchedulerChoice, Trial};
use spec::assets::{note_outside, note_shadowed};
use spec::contestant::OPTION;
use spec::source::{near, quoted};
use store::SchedulerSource;

use super::interrupt;
use super::sink::ObjectHashes;
use crate::exit::{Interrupted, bad_input};
use crate::output;

/// Compiled schedulers by the SHA-256 of their source.
pub type Objects = BTreeMap<String, Compiled>;

/// Schedulers for the simulator by the SHA-256 of their source, or what it lacks for them.
pub type Natives = BTreeMap<String, Result<Native, String>>;

/// Sources of schedulers by their SHA-256.
pub type Sources = BTreeMap<String, Source>;

pub const GUEST_FOLDER: &str = vm::initramfs::OBJECTS_FOLDER;

/// The scheduler that a user names: a built-in one, or a file relative to `base`.
///
/// # Errors
/// There is none; the message says which name was meant.
pub fn named(file: &str, base: &Path) -> Result<Source, String> {
    let found = compile::resolve(file, base);
    if let Some(builtin) = found.as_ref().ok().filter(|_| !compile::is_path(file)) {
        let own = ["./", "./schedulers/"].map(|folder| format!("{folder}{file}.bpf.c").into());
        note_shadowed("scheduler", file, OPTION, &builtin.text, &own);
    }
    if let Ok(own) = &found {
        note_outside(file, &own.outside());
    }
    found.map_err(|error| {
        let builtin = compile::builtin();
        let names = builtin.iter().map(|source| source.name.as_str());
        match near(file, names).as_slice() {
            [] => error.to_string(),
            _ if file.contains('/') => error.to_string(),
            close => format!("no scheduler '{file}'; did you mean {}?", quoted(close, " or ")),
        }
    })
}

/// The texts of schedulers as stores keep them.
pub fn texts<'a>(sources: impl IntoIterator<Item = &'a Source>) -> Vec<SchedulerSource> {
    let text = |source: &Source| SchedulerSource {
        sha256: source.sha256.clone(),
        name: source.name.clone(),
        files: compile::files(source),
    };
    sources.into_iter().map(text).filter(SchedulerSource::is_genuine).collect()
}

/// The scheduler of a trial in the simulator; `None` for policies of the kernel.
///
/// # Errors
/// The scheduler uses what the simulator lacks.
pub fn native_of<'a>(trial: &Trial, natives: &'a Natives) -> Result<Option<&'a Native>, &'a str> {
    let SchedulerChoice::File { sha256, .. } = &trial.contestant.scheduler else { return Ok(None) };
    let native = natives.get(&native::key(sha256, form_of(trial)));
    native.map(Result::as_ref).transpose().map_err(String::as_str)
}

fn form_of(trial: &Trial) -> Form {
    if trial.races { Form::Interleaved } else { Form::Usual }
}

/// Everything that trials need before the first of them can start.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    /// For real kernels.
    pub bpf: Objects,
    /// For the simulator.
    pub native: Natives,
}

impl Prepared {
    /// What records say of the objects.
    pub fn hashes(&self) -> ObjectHashes {
        let hash = |object: &[u8]| model::trial::sha256_hex(object)[..16].to_owned();
        let native = self.native.iter().filter_map(|(sha256, native)| {
            Some(((true, sha256.clone()), hash(&native.as_ref().ok()?.object)))
        });
        let bpf = self.bpf.iter();
        let bpf = bpf.map(|(sha256, bpf)| ((false, sha256.clone()), hash(&bpf.object)));
        native.chain(bpf).collect()
    }
}

/// Compiles every scheduler file of the trials for the backends that run it, or finds it compiled.
/// `sources` are those that the plan was made from; a trial that came from elsewhere names its
/// file.
pub fn prepare(trials: &[Trial], sources: &Sources) -> Result<Prepared> {
    let stop = interrupt::flag()?;
    let mut prepared = Prepared::default();
    for trial in trials {
        let SchedulerChoice::File { file, sha256, .. } = &trial.contestant.scheduler else {
            continue;
        };
        let simulated = trial.backend.is_model();
        let key = native::key(sha256, form_of(trial));
        if simulated && !prepared.native.contains_key(&key) {
            let source = source(file, sha256, sources)?;
            let native = match native::native_as(&source, form_of(trial)) {
                Err(error) if error.unsupported => Err(format!("{error}; try it with `--on vm`")),
                other => Ok(other?),
            };
            let knobs = trial.contestant.scheduler.values();
            if let Some(note) = native.as_ref().ok().and_then(|native| native.facts.note(&knobs)) {
                output::tell_once(&format!("{file}: {note}"));
            }
            prepared.native.insert(key, native);
        }
        if !simulated && !prepared.bpf.contains_key(sha256) {
            prepared.bpf.insert(sha256.clone(), object(file, sha256, sources)?);
        }
    }
    if stop.load(Ordering::SeqCst) {
        return Err(Interrupted.into());
    }
    Ok(prepared)
}

/// Prepares trials of a larger plan, whose guests carry these schedulers.
pub fn prepare_part(
    trials: &[Trial],
    carried: &BTreeSet<(String, String)>,
    sources: &Sources,
) -> Result<Prepared> {
    let mut prepared = prepare(trials, sources)?;
    for (file, sha256) in carried {
        if !prepared.bpf.contains_key(sha256) {
            prepared.bpf.insert(sha256.clone(), object(file, sha256, sources)?);
        }
    }
    Ok(prepared)
}

pub fn object(file: &str, sha256: &str, sources: &Sources) -> Result<Compiled> {
    if let Some(object) = compile::find_object(sha256) {
        return Ok(object);
    }
    Ok(compiled(&source(file, sha256, sources)?)?)
}

/// Compiles it, or ends the program at Ctrl-C: nothing is there that could be lost.
pub fn compiled(source: &Source) -> Result<Compiled, CompileError> {
    let stop = interrupt::flag();
    let compiled = compile::compile(source);
    let is_asked = stop.is_ok_and(|stop| stop.load(Ordering::SeqCst));
    if is_asked {
        output::tell(format_args!("fairground: {Interrupted}"));
        std::process::exit(interrupt::EXIT_CODE.into());
    }
    if let Ok(compiled) = &compiled {
        tell_warnings(compiled);
    }
    compiled
}

/// Shows the first of the compiler's warnings, and how many more there are; once for each text.
pub fn tell_warnings(compiled: &Compiled) {
    const SHOWN: usize = 5;
    compiled.warnings.iter().take(SHOWN).for_each(|line| output::tell_once(line));
    let more = compiled.warnings.len().saturating_sub(SHOWN);
    if more > 0 {
        output::tell_once(&format!("{}: {more} more warnings", compiled.name));
    }
}

fn source(file: &str, sha256: &str, sources: &Sources) -> Result<Source> {
    if let Some(source) = sources.get(sha256) {
        let mut source = source.clone();
        // Another file may have the same text; messages name the one that was given.
        let is_one_file = file.ends_with(".bpf.c") && !file.contains('+');
        if is_one_file && !Path::new(&source.path).ends_with(file.trim_start_matches("./")) {
            source.path = file.to_owned();
        }
        return Ok(source);
    }
    let source = compile::resolve(file, Path::new(""))?;
    if source.sha256 != sha256 {
        return Err(bad_input(format!(
            "{file}: its SHA-256 is {}, the trial was planned with {sha256}; plan again",
            source.sha256
        )));
    }
    Ok(source)
}

/// The objects as files of the guest, so that it needs no compiler.
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
