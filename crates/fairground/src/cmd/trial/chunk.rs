// SPDX-License-Identifier: GPL-2.0-only
//! `fairground trial --chunk FILE`: what a queue starts on its machines.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use execution::repeated::Earlier;
use execution::sink::Keep;
use execution::{Settings, locations, one};
use fleet::chunk::Chunk;
use fleet::records_file::{self, RecordsFile};
use model::Record;

use super::Args;
use crate::exit::{self, bad_input};
use crate::output;

/// Runs the trials of a chunk that have no record yet. Only a trial without a record is a failure:
/// how trials ended is in their records.
pub(super) fn run(file: &Path, args: &Args) -> Result<ExitCode> {
    let Chunk { trials, schedulers } = read(file)?;
    let (mut out, known) = match &args.out {
        Some(path) => opened(path, &trials)?,
        None => (None, Vec::new()),
    };
    let done: BTreeSet<String> = known.iter().map(|record| record.trial.id()).collect();
    let left: Vec<_> = trials.into_iter().filter(|trial| !done.contains(&trial.id())).collect();
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let chunk = Chunk { trials: left, schedulers };
    let settings = Settings {
        home: locations::data_folder().ok(),
        sources: chunk.sources(folder.path())?,
        jobs: args.jobs,
        offline: args.offline,
        earlier: Earlier::new(known),
        executable: None,
    };
    let mut keep = |record: &Record| match &mut out {
        Some(out) => out.append(record),
        None => output::print(&records_file::line(record)?),
    };
    let keep: &mut Keep<'_> = &mut keep;
    let complete = one::several(&chunk.trials, &settings, keep, &mut output::notes)?;
    Ok(if complete { ExitCode::SUCCESS } else { exit::interrupted() })
}

fn read(file: &Path) -> Result<Chunk> {
    let is_stdin = file == Path::new("-");
    let name = if is_stdin { "standard input".into() } else { file.display().to_string() };
    let text = match is_stdin {
        true => files::stream_text(&mut std::io::stdin(), files::CHUNK),
        false => files::text(file, files::CHUNK),
    };
    Chunk::read(&text.map_err(|fault| bad_input(format!("{name}: {fault}")))?, &name)
}

/// The file for records, and the records that are there already.
fn opened(path: &Path, trials: &[model::Trial]) -> Result<(Option<RecordsFile>, Vec<Record>)> {
    let (file, known) = RecordsFile::resume(path)?;
    let own: BTreeSet<String> = trials.iter().map(model::Trial::id).collect();
    match known.iter().find(|record| !own.contains(&record.trial.id())) {
        Some(_) => Err(bad_input(format!(
            "{}: it has records of trials that are not in this chunk; name a file for this chunk",
            path.display()
        ))),
        None => Ok((Some(file), known)),
    }
}
