// SPDX-License-Identifier: GPL-2.0-only
//! `fairground fidelity [EXPERIMENT]`: how far two ways to run the same thing are apart: the
//! simulator and a kernel; with `--counterparts`, a scheduler's file and the kernel's own scheduler
//! that it was written after; with `--replays`, a real program and the replay of its recording; or,
//! with `--advice`, what `recommend` says by the simulator and by a kernel.

mod confirmed_advice;
mod counterparts;
mod replays;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use model::{Backend, Experiment, Record};
use report::agreement::{BACKENDS, claims_markdown, figures_markdown, summary_markdown};
use stats::Comparison;

use super::measured;
use crate::exit::{self, bad_input};
use crate::measure::{Campaign, RunOptions};
use crate::planned_experiment::ExperimentOptions;
use crate::{comparison, output};
use counterparts::Counterparts;

/// The experiment behind the published table.
const EXPERIMENT: &str = "fidelity";

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    experiment: ExperimentOptions,
    #[command(flatten)]
    execution: RunOptions,
    /// Compare schedulers' files with their counterparts, the kernels' own schedulers, instead of
    /// the simulator with a kernel
    #[arg(long)]
    pub counterparts: bool,
    /// Record the experiment's programs under its baseline, and compare them with their replays
    /// under all of its schedulers
    #[arg(long, conflicts_with = "counterparts")]
    pub replays: bool,
    /// Compare the simulator's advice with a kernel's: for each care and number of CPUs, all
    /// candidates on both
    #[arg(long, conflicts_with_all = ["counterparts", "replays", "all"])]
    pub advice: bool,
    /// Measure only these cares; the table has the others as far as they are in the store
    #[arg(long = "care", value_name = "NAME", value_delimiter = ',', requires = "advice")]
    pub cares: Vec<String>,
    /// Measure only machines with N CPUs [default: 1,2,4]
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "advice")]
    pub cpus: Vec<u32>,
    /// Keep the recordings in this folder, as workload files
    #[arg(long, value_name = "FOLDER", requires = "replays")]
    tapes: Option<PathBuf>,
    /// Show every number, not only how many agree in each cell
    #[arg(long)]
    all: bool,
    /// The file to write the tables to, as Markdown, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

struct Measured<'a> {
    records: &'a [Record],
    comparison: &'a Comparison,
    all: bool,
}

enum ComparedWith {
    /// The simulator with this backend, which is taken to be right.
    Simulator(Backend),
    Counterparts(Counterparts),
}

/// Runs the experiment and writes how far the two sides are apart. A large distance is a finding,
/// not a failure.
pub fn run(mut args: Args) -> Result<ExitCode> {
    if args.replays {
        return replays::run(args);
    }
    if args.advice {
        return confirmed_advice::run(&args);
    }
    let usual = if args.counterparts { counterparts::EXPERIMENT } else { EXPERIMENT };
    args.experiment.experiment.get_or_insert_with(|| usual.into());
    let planned = args.experiment.plan()?;
    let sides = if args.counterparts {
        ComparedWith::Counterparts(Counterparts::of(&planned)?)
    } else {
        ComparedWith::Simulator(reference(&planned.experiment)?)
    };
    let Some(selection) = measured(Campaign::with_own_rules(planned, &args.execution))? else {
        return Ok(exit::interrupted());
    };
    let selected = selection.open()?;
    let (records, comparison) = (&selected.records, selected.compare(None)?);
    let measured = Measured { records, comparison: &comparison, all: args.all };
    let text = match sides {
        ComparedWith::Simulator(reference) => beside_the_simulator(reference, &measured),
        ComparedWith::Counterparts(counterparts) => counterparts.text(&measured),
    };
    output::write(args.output.as_deref(), text.as_bytes())?;
    comparison::misbehaviours(records).iter().for_each(output::tell);
    Ok(exit::of_records(records))
}

/// The kernel's backend of an experiment that runs in the simulator too.
fn reference(experiment: &Experiment) -> Result<Backend> {
    let backends = &experiment.backends;
    let kernel = backends.iter().copied().find(|backend| !backend.is_model());
    kernel.filter(|_| backends.contains(&Backend::MODEL)).ok_or_else(|| {
        bad_input(format!(
            "{}: fidelity compares the simulator with a kernel; write on = [\"sim\", \"vm\"], or \
             --on sim,vm",
            experiment.name
        ))
    })
}

/// The tables of the simulator's errors, with the kernels that were measured above them.
fn beside_the_simulator(reference: Backend, measured: &Measured<'_>) -> String {
    let Measured { records, comparison, all } = *measured;
    let agreement = stats::agreement(records, comparison, reference, Backend::MODEL);
    let on_kernels = records.iter().filter(|record| record.trial.backend == reference);
    let releases = on_kernels.map(|record| record.provenance.kernel_release.as_str());
    let releases: BTreeSet<&str> = releases.filter(|release| !release.is_empty()).collect();
    let releases = releases.into_iter().collect::<Vec<_>>().join(", ");
    let mut text = format!("Kernel: {releases}.\n\n");
    text.push_str(&summary_markdown(&agreement, &BACKENDS));
    text.push_str(&claims_markdown(&agreement));
    if all {
        text.push('\n');
        text.push_str(&figures_markdown(&agreement, &BACKENDS));
    }
    text
}
