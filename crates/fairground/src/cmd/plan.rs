// SPDX-License-Identifier: GPL-2.0-only
//! `fairground plan [EXPERIMENT]`: the trials of an experiment, one JSON object per line; or cut
//! into chunks, for machines that a queue drives.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use fleet::{campaign_folder, cut};
use model::Trial;

use crate::execution::objects;
use crate::exit::bad_input;
use crate::measure::claimable::ClaimableComparisons;
use crate::planned_experiment::{ExperimentOptions, PlannedExperiment};
use crate::{command_line, output};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    options: ExperimentOptions,
    /// Cut the plan into this many chunks for `fairground trial --chunk`; boots stay whole
    #[arg(long, value_name = "N", requires = "output")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    chunks: Option<u32>,
    /// Cut the plan into chunks of this many trials
    #[arg(long, value_name = "N", requires = "output", conflicts_with = "chunks")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    chunk_trials: Option<u32>,
    /// The new folder for the chunks; `fairground import` reads it when their records are there
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// Prints the trials in the order in which `run` runs them, or writes them as chunks, and on
/// standard error what they can prove.
pub fn run(args: Args) -> Result<ExitCode> {
    let planned = args.options.plan()?;
    match &args.output {
        Some(folder) => write(&planned, args.cut(&planned.trials)?, folder)?,
        None => print(&planned.trials)?,
    }
    ClaimableComparisons::of(&planned).words().iter().for_each(output::tell);
    Ok(ExitCode::SUCCESS)
}

fn print(trials: &[Trial]) -> Result<()> {
    for trial in trials {
        output::print_exact(&(serde_json::to_string(trial)? + "\n"))?;
    }
    Ok(())
}

impl Args {
    fn cut(&self, trials: &[Trial]) -> Result<Vec<Vec<Trial>>> {
        match (self.chunks, self.chunk_trials) {
            (Some(count), _) => Ok(cut::into_parts(trials, count as usize)),
            (None, Some(most)) => Ok(cut::cut(trials, most as usize)),
            (None, None) => {
                Err(bad_input("--output writes chunks; add --chunks N or --chunk-trials N"))
            }
        }
    }
}

fn write(planned: &PlannedExperiment, chunks: Vec<Vec<Trial>>, folder: &Path) -> Result<()> {
    let session =
        command_line::session(planned.experiment.clone(), planned.plan_id(), planned.seed);
    let (trials, count) = (planned.trials.len(), chunks.len());
    let trusted = planned.trials.iter().any(|trial| trial.trusted_to().is_some());
    let trusted = if trusted { " --trusted" } else { "" };
    campaign_folder::write(folder, &session, &objects::texts(planned.sources.values()), chunks)?;
    let folder = folder.display().to_string();
    output::tell(format_args!(
        "{trials} trials in {count} chunks: {folder}/chunk-0.trials.jsonl …\n\
         to run one:  fairground trial --chunk chunk-0.trials.jsonl --out chunk-0.records.jsonl\
         {trusted}\n\
         to collect:  fairground import {}",
        command_line::quoted(&folder)
    ));
    Ok(())
}
