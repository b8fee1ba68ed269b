// SPDX-License-Identifier: GPL-2.0-only
//! `fairground trial`: one JSON trial on standard input, one JSON record on standard output; or a
//! chunk of trials, and a record for each.

mod chunk;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use model::{Backend, Trial, text};

use crate::execution::{self, Settings};
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
        return chunk::run(file, &args);
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
