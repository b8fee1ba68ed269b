// SPDX-License-Identifier: GPL-2.0-only
//! `fairground fidelity [EXPERIMENT]`: how far two ways to run the same thing are apart: the
//! simulator and a kernel; with `--counterparts`, a scheduler's file and the kernel's own scheduler
//! that it was written after; or, with `--replays`, a real program and the replay of its recording.

mod counterparts;
mod replays;
mod simulator;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use model::Record;
use stats::Comparison;

use super::campaign_options::CampaignOptions;
use crate::measure::{self, Campaign, Ended, JudgedBy};
use crate::{exit, output, summary, ui};

/// Options of `fidelity`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    options: CampaignOptions,
    /// Compare schedulers' files with their counterparts, the kernels' own schedulers, instead of
    /// the simulator with a kernel
    #[arg(long)]
    pub counterparts: bool,
    /// Record the experiment's programs under its baseline, and compare them with their replays
    /// under all of its schedulers
    #[arg(long, conflicts_with = "counterparts")]
    pub replays: bool,
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

/// What was measured, for the tables.
struct Measured<'a> {
    records: &'a [Record],
    comparison: &'a Comparison,
    /// Whether every number is wanted.
    all: bool,
}

/// What is compared.
enum Sides {
    Simulator(simulator::Sides),
    Counterparts(counterparts::Sides),
}

/// Runs the experiment and writes how far the two sides are apart. A large distance is a finding,
/// not a failure.
///
/// # Errors
/// As `run`; and when the experiment does not have the two sides.
pub fn run(args: Args) -> Result<ExitCode> {
    if args.replays { replays::run(args) } else { backends(args) }
}

fn backends(mut args: Args) -> Result<ExitCode> {
    let usual = if args.counterparts { counterparts::EXPERIMENT } else { simulator::EXPERIMENT };
    args.options.experiment.experiment.get_or_insert_with(|| usual.into());
    let planned = args.options.experiment.plan()?;
    let sides = if args.counterparts {
        Sides::Counterparts(counterparts::Sides::of(&planned)?)
    } else {
        Sides::Simulator(simulator::Sides::of(&planned.experiment)?)
    };
    let execution = args.options.execution();
    let campaign = Campaign { planned, judged_by: JudgedBy::OwnRules, execution };
    let ended = ui::watch(|hear| measure::run(campaign, hear))?;
    let Ended::Complete(session) = ended else { return Ok(exit::interrupted()) };
    let (sessions, records) = args.options.session(session).open()?;
    let comparison = summary::compare(&sessions, &records, None)?;
    let text = sides.text(&Measured { records: &records, comparison: &comparison, all: args.all });
    output::writer(args.output.as_ref())?.write_all(text.as_bytes())?;
    summary::misbehaviours(&records).iter().for_each(output::tell);
    Ok(exit::of_records(&records))
}

impl Sides {
    fn text(&self, measured: &Measured<'_>) -> String {
        match self {
            Sides::Simulator(sides) => sides.text(measured),
            Sides::Counterparts(sides) => sides.text(measured),
        }
    }
}
