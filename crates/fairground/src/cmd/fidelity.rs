// SPDX-License-Identifier: GPL-2.0-only
//! `fairground fidelity [EXPERIMENT]`: the same trials in the simulator and on a kernel, and how
//! far their numbers are apart.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use model::{Backend, Experiment, Record};
use stats::Agreement;

use super::run::{self, Ended};
use crate::exit::{self, bad_input};
use crate::records::Chosen;
use crate::{output, summary};

/// The experiment that METHOD.md's table is of.
const EXPERIMENT: &str = "fidelity";

/// Options of `fidelity`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    run: run::Args,
    /// Show every number, not only how many agree in each cell
    #[arg(long)]
    all: bool,
    /// The file to write the tables to, as Markdown, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the experiment on both and shows the errors. A simulator that is far off is a finding, not
/// a failure.
///
/// # Errors
/// As `run`; and when the experiment does not ask both.
pub fn run(mut args: Args) -> Result<ExitCode> {
    args.run.question.experiment.get_or_insert_with(|| EXPERIMENT.into());
    args.run.question.exploratory = true;
    let asked = args.run.question.ask()?;
    let reference = reference(&asked.experiment)?;
    let session = match run::measure(&args.run, asked)? {
        Ended::Session(id) => id,
        Ended::Interrupted(code) => return Ok(code),
    };
    let (sessions, records) = Chosen::session(args.run.store.clone(), session).open()?;
    let comparison = summary::compare(&sessions, &records, None)?;
    let agreement = stats::agreement(&records, &comparison, reference, Backend::Sim);
    let text = text(&agreement, &records, args.all);
    output::writer(args.output.as_ref())?.write_all(text.as_bytes())?;
    summary::misbehaviours(&records).iter().for_each(output::tell);
    let ok = records.iter().all(|record| record.outcome.is_ok());
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::from(exit::MISBEHAVED) })
}

/// The backend that is taken to be right.
fn reference(experiment: &Experiment) -> Result<Backend> {
    let backends = &experiment.backends;
    let other = backends.iter().copied().find(|&backend| backend != Backend::Sim);
    match other.filter(|_| backends.contains(&Backend::Sim)) {
        Some(reference) => Ok(reference),
        None => Err(bad_input(format!(
            "{}: fidelity compares the simulator with a kernel; write on = [\"sim\", \"vm\"], or \
             --on sim,vm",
            experiment.name
        ))),
    }
}

fn text(agreement: &Agreement, records: &[Record], all: bool) -> String {
    let of = |record: &&Record| record.trial.backend == agreement.reference;
    let kernels = records.iter().filter(of).map(|record| &record.provenance.kernel_release);
    let mut kernels: Vec<&String> = kernels.filter(|release| !release.is_empty()).collect();
    kernels.sort();
    kernels.dedup();
    let kernels: Vec<&str> = kernels.into_iter().map(String::as_str).collect();
    let mut text = format!("Kernel: {}.\n\n", kernels.join(", "));
    text.push_str(&report::agreement::tables(agreement));
    if all {
        text.push('\n');
        text.push_str(&report::agreement::figures(agreement));
    }
    text
}
