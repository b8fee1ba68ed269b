// SPDX-License-Identifier: GPL-2.0-only
//! `fairground plan [EXPERIMENT]`

use std::process::ExitCode;

use anyhow::Result;

use crate::design::Reach;
use crate::output;
use crate::question::Question;

/// Options of `plan`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    question: Question,
}

/// Prints the trials in the order in which `run` would run them, and on standard error what they
/// can prove.
///
/// # Errors
/// When a file is wrong, or standard output is closed.
pub fn run(args: Args) -> Result<ExitCode> {
    let asked = args.question.ask()?;
    for trial in &asked.trials {
        output::print(&(serde_json::to_string(trial)? + "\n"))?;
    }
    Reach::of(&asked).words().iter().for_each(output::tell);
    Ok(ExitCode::SUCCESS)
}
