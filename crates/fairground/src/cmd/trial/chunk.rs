// SPDX-License-Identifier: GPL-2.0-only
//! `fairground trial --chunk FILE`: what a queue starts on its machines.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use fleet::chunk::Chunk;
use fleet::records_file::{self, RecordsFile, Tail};
use model::{Record, Trial};

use super::Args;
use crate::execution::repeated::Earlier;
use crate::execution::sink::OnRecords;
use crate::execution::{self, Settings, objects};
use crate::exit::{self, bad_input};
use crate::output;

/// Runs the trials of a chunk that have no record yet. Only a trial without a record is a failure:
/// how trials ended is in their records.
pub(super) fn run(file: &Path, args: &Args) -> Result<ExitCode> {
    let mut chunk = read(file)?;
    args.refuse_untrusted(&chunk.trials, &name(file))?;
    let (mut out, mut known) = match &args.out {
        Some(path) => RecordsFile::resume(path).map(|(file, known)| (Some(file), known))?,
        None => (None, Vec::new()),
    };
    for path in &args.done {
        known.extend(Tail::new(path.clone()).read()?);
    }
    refuse_others(&chunk.trials, &known)?;
    let done: BTreeSet<String> = known.iter().map(|record| record.trial.id()).collect();
    let earlier = Earlier::new(known).with_tapes_of(&chunk.trials);
    chunk.trials.retain(|trial| !done.contains(&trial.id()));
    let mut keep_one = |record: &Record| match &mut out {
        Some(out) => out.append(record),
        None => output::print_exact(&records_file::line(record)?),
    };
    let mut keep = |new: &[Record]| new.iter().try_for_each(&mut keep_one);
    let complete = execute(&chunk, earlier, args, &mut keep)?;
    Ok(if complete { ExitCode::SUCCESS } else { exit::interrupted() })
}

fn execute(chunk: &Chunk, earlier: Earlier, args: &Args, keep: &mut OnRecords<'_>) -> Result<bool> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let sources = chunk.sources(folder.path())?;
    let prepared = objects::prepare_part(&chunk.trials, &chunk.carried, &sources)?;
    let (jobs, offline) = (args.jobs, args.offline);
    let settings = Settings { sources, jobs, offline, earlier, ..Settings::default() };
    execution::records_of(&chunk.trials, &prepared, &settings, keep, &mut output::notes)
}

const STDIN: &str = "-";

/// What messages call the file.
fn name(file: &Path) -> String {
    if file == Path::new(STDIN) { "standard input".into() } else { file.display().to_string() }
}

fn read(file: &Path) -> Result<Chunk> {
    let name = name(file);
    let text = if file == Path::new(STDIN) {
        spec::files::stream_text(&mut std::io::stdin(), spec::files::CHUNK)
    } else {
        spec::files::text(file, spec::files::CHUNK)
    };
    let mut chunk =
        Chunk::read(&text.map_err(|fault| bad_input(format!("{name}: {fault}")))?, &name)?;
    spec::workload::fetch(&mut chunk.trials)?;
    spec::check::trials(&chunk.trials).map_err(|why| bad_input(format!("{name}: {why}")))?;
    Ok(chunk)
}

/// Refuses records of other trials than the chunk's: a file was named for two chunks.
fn refuse_others(trials: &[Trial], known: &[Record]) -> Result<()> {
    let own: BTreeSet<String> = trials.iter().map(Trial::id).collect();
    match known.iter().map(|record| record.trial.id()).find(|id| !own.contains(id)) {
        Some(id) => Err(bad_input(format!(
            "the record of trial {id} is there, which is not in this chunk; name a file for this \
             chunk alone"
        ))),
        None => Ok(()),
    }
}
