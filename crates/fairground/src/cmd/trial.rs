// SPDX-License-Identifier: GPL-2.0-only
//! `fairground trial`: one JSON trial on standard input, one JSON record on standard output; or a
//! chunk of trials, and a record for each.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use fleet::chunk::Chunk;
use fleet::records_file::{self, RecordsFile, Tail};
use model::{Backend, Record, Trial, text};

use crate::execution::repeated::Earlier;
use crate::execution::sink::OnRecords;
use crate::execution::{self, Settings, objects};
use crate::exit::{self, bad_input};
use crate::measure::at_least_one;
use crate::output;

#[derive(clap::Args)]
pub struct Args {
    /// Run it on this backend instead of the trial's: sim, vm or live
    #[arg(long, value_parser = spec::backend_parser(), hide_possible_values = true)]
    #[arg(value_name = "BACKEND")]
    on: Option<Backend>,
    /// Trust the trials: run their programs with your rights, and trials on this machine's kernel.
    /// Read a stranger's trials before
    #[arg(long)]
    trusted: bool,
    /// Never download a kernel
    #[arg(long)]
    offline: bool,
    /// Run all trials of this file, which `fairground plan` has printed or cut (-: standard input);
    /// exit code 0 if each has a record
    #[arg(long, value_name = "FILE", conflicts_with = "on")]
    chunk: Option<PathBuf>,
    /// Append the records to this file instead of printing them, and leave out trials that have one
    /// there
    #[arg(long, value_name = "FILE", requires = "chunk")]
    out: Option<PathBuf>,
    /// Leave out trials that have a record in this file; may be given several times
    #[arg(long, value_name = "FILE", requires = "chunk")]
    done: Vec<PathBuf>,
    /// Trials at a time, as for `run`
    #[arg(long, value_name = "N", requires = "chunk", value_parser = at_least_one())]
    jobs: Option<usize>,
}

pub fn run(args: Args) -> Result<ExitCode> {
    if let Some(file) = &args.chunk {
        return run_chunk(file, &args);
    }
    let mut trial = read()?;
    if let Some(on) = args.on {
        trial.backend = on;
        trial.contestant = spec::plan::on_backend(&trial.contestant, on).into();
    }
    args.refuse_untrusted(std::slice::from_ref(&trial), "standard input")?;
    let settings = Settings { offline: args.offline, ..Settings::default() };
    let Some(record) = execution::record_of(trial, &settings, &mut output::notes)? else {
        return Ok(exit::interrupted());
    };
    output::print_exact(&(serde_json::to_string(&record)? + "\n"))?;
    Ok(exit::of_records(&[record]))
}

impl Args {
    /// Refuses trials that do more than schedule in a sandbox or a guest, unless the user says that
    /// they may. `--on live` says so of the kernel, and not of programs.
    fn refuse_untrusted(&self, trials: &[Trial], name: &str) -> Result<()> {
        let says_live = self.on.is_some_and(Backend::uses_running_kernel);
        let is_allowed = |trial: &&Trial| {
            let is_asked = self.trusted || (says_live && trial.program().is_none());
            is_asked || trial.trusted_to().is_none()
        };
        let Some(trial) = trials.iter().find(|trial| !is_allowed(trial)) else { return Ok(()) };
        Err(bad_input(format!(
            "{name}: trial {} would {}, with your rights; if you trust it, add --trusted",
            trial.id(),
            text::line(&trial.trusted_to().unwrap_or_default())
        )))
    }
}

fn read() -> Result<Trial> {
    let text = spec::files::stream_text(&mut std::io::stdin(), spec::files::TRIAL)
        .map_err(|fault| bad_input(format!("standard input: {fault}")))?;
    let mut trial =
        fleet::chunk::trial(&text).map_err(|why| bad_input(format!("standard input: {why}")))?;
    spec::workload::fetch(std::slice::from_mut(&mut trial))?;
    spec::check::trials(std::slice::from_ref(&trial))
        .map_err(|why| bad_input(format!("standard input: {why}")))?;
    Ok(trial)
}

/// Runs the trials of a chunk that have no record yet. Only a trial without a record is a failure:
/// how trials ended is in their records.
fn run_chunk(file: &Path, args: &Args) -> Result<ExitCode> {
    let mut chunk = read_chunk(file)?;
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

fn read_chunk(file: &Path) -> Result<Chunk> {
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
