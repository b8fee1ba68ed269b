// SPDX-License-Identifier: GPL-2.0-only
//! `fairground plan [EXPERIMENT]`: the trials of an experiment, one JSON object per line.

use std::process::ExitCode;

use anyhow::Result;

use crate::experiment_options::ExperimentOptions;
use crate::measure::claimable::ClaimableComparisons;
use crate::output;

/// Options of `plan`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    options: ExperimentOptions,
}

/// Prints the trials in the order in which `run` runs them, and on standard error what they can
/// prove.
///
/// # Errors
/// When a file is wrong, or standard output is closed.
pub fn run(args: Args) -> Result<ExitCode> {
    let planned = args.options.plan()?;
    for trial in &planned.trials {
        output::print(&(serde_json::to_string(trial)? + "\n"))?;
    }
    ClaimableComparisons::of(&planned).words().iter().for_each(output::tell);
    Ok(ExitCode::SUCCESS)
}
