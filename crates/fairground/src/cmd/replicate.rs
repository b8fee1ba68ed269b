// SPDX-License-Identifier: GPL-2.0-only
//! `fairground replicate [CLAIM …]`: claims → experiments → records → findings → report.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use model::Seed;
use report::replication::{self, Replication};
use report::units;
use stats::decide::replication::Reproduction;

use super::measured;
use crate::claims::choose::{self, Answers, TestedExperiment, Wanted};
use crate::measure::{Campaign, RunOptions};
use crate::planned_experiment::PlannedExperiment;
use crate::{command_line, comparison, exit, output, times};
use spec::Overrides;

/// The fewest independent replicates that give an interval of a median.
const REPLICATES_QUICK: u32 = 6;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    wanted: Wanted,
    /// Number of blocks, instead of each experiment's own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    blocks: Option<u32>,
    /// The only source of randomness: order of trials, start phases
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    execution: RunOptions,
    /// Write the verdicts to this file too, as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// Runs each experiment that the claims need once, and says which of them hold.
///
/// # Errors
/// Whatever is wrong with the claims' files or the options, before anything runs; and when
/// something cannot be written. If the lab fails in one session, the rest is judged.
pub fn run(args: Args) -> Result<ExitCode> {
    let chosen = choose::claims(&args.wanted)?;
    let experiments = choose::experiments(&chosen);
    let planned: Vec<PlannedExperiment> =
        experiments.keys().map(|experiment| plan(&args, experiment)).collect::<Result<_>>()?;
    let trials: usize = planned.iter().map(|planned| planned.trials.len()).sum();
    let counted = [(chosen.len(), "claim"), (planned.len(), "session"), (trials, "trial")];
    let counted = counted.map(|(count, noun)| units::count(count as u64, noun));
    output::tell(counted.join(", "));
    let (mut answers, mut failed) = (Answers::new(), None);
    for ((experiment, claims), planned) in experiments.into_iter().zip(planned) {
        let (name, on) = (&experiment.name, experiment.on.word());
        output::tell(format_args!("{name} on {on}, for {}", claims.join(", ")));
        let answer = match measured(Campaign::with_own_rules(planned, &args.execution)) {
            Ok(Some(selection)) => {
                let records = selection.open()?.records;
                comparison::misbehaviours(&records).iter().for_each(output::tell);
                Ok(records)
            }
            Ok(None) => return Ok(exit::interrupted()),
            Err(error) => {
                output::tell(format_args!("fairground: {error:#}; the other claims continue"));
                let why = left_out(&error);
                failed.get_or_insert(error);
                Err(why)
            }
        };
        answers.insert(experiment, answer);
    }
    let claims = chosen.into_iter().map(|chosen| choose::judged(chosen, &answers)).collect();
    let replication = Replication {
        claims,
        command: command_line::command(),
        kernels: choose::kernels(answers.values().flatten().flatten()),
        trials: answers.values().flatten().flatten().count(),
        generated: times::today(),
    };
    show(&args, &replication)?;
    Ok(failed.map_or_else(|| code(&replication), |error| ExitCode::from(exit::code(&error))))
}

/// Why a session has no records.
fn left_out(error: &anyhow::Error) -> String {
    match exit::code(error) {
        exit::BAD_INPUT => format!("{error:#}"),
        _ => format!("the lab failed: {error:#}"),
    }
}

/// The plan of an experiment, with the number of blocks that the options want.
fn plan(args: &Args, experiment: &TestedExperiment) -> Result<PlannedExperiment> {
    let on = vec![experiment.on];
    let overrides = Overrides { on, blocks: args.blocks, ..Overrides::default() };
    let planned = PlannedExperiment::read(Some(&experiment.name), &overrides, Seed(args.seed))?;
    let enough = REPLICATES_QUICK.div_ceil(planned.experiment.trials_per_boot);
    let is_too_long =
        args.wanted.quick && args.blocks.is_none() && planned.experiment.blocks > enough;
    Ok(if is_too_long { planned.with_blocks(enough) } else { planned })
}

/// Writes the Markdown if it is wanted, and prints the claims.
fn show(args: &Args, replication: &Replication) -> Result<()> {
    if let Some(file) = &args.markdown {
        output::write_and_tell(file, &replication::markdown(replication))?;
    }
    output::print(&replication::text(replication, output::colour()))
}

/// A claim without data is a scheduler or workload that misbehaved.
fn code(replication: &Replication) -> ExitCode {
    let without_data = replication.claims.iter().any(|claim| claim.verdict == Reproduction::NoData);
    if without_data { ExitCode::from(exit::MISBEHAVED) } else { ExitCode::SUCCESS }
}
