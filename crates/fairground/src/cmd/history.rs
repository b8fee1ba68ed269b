// SPDX-License-Identifier: GPL-2.0-only
//! `fairground history [EXPERIMENT] [STORE …]`: how an experiment's numbers have gone from run to
//! run, and whether the newest run is worse.
//!
//! A verb beside `gate`, because the question is another one: `gate` asks about two runs and is for
//! a change under review; this asks about all of them and says when something happened, and with
//! what.

use std::process::ExitCode;

use anyhow::Result;
use stats::view::history::History;

use super::margin::Margin;
use crate::exit;
use crate::output::{self, Format};
use crate::runs;
use crate::stores::Several;

/// Options of `history`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    chosen: Several,
    /// Only the newest runs, so many
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    #[command(flatten)]
    margin: Margin,
    /// How to print it: table or json
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    format: Format,
}

/// Shows the history, and fails if the newest run is worse.
///
/// # Errors
/// When a store cannot be read, or has no run of the experiment.
pub fn run(args: Args) -> Result<ExitCode> {
    let margin = args.margin.percent()?;
    let mut runs = runs::of(&args.chosen.all_sessions()?);
    if let Some(last) = args.last {
        runs.drain(..runs.len().saturating_sub(last));
    }
    // The first run of a series is no failure, so that CI can begin with it.
    if runs.len() < 2 {
        output::tell("there is one run only: run it again after a change, or name more stores");
    }
    let history: History = runs::history(&runs, margin);
    match args.format {
        Format::Json => output::print_json(&history)?,
        Format::Table => output::print(&report::terminal::history::history(&history))?,
    }
    let worse = history.has_regressed();
    Ok(if worse { ExitCode::from(exit::MISBEHAVED) } else { ExitCode::SUCCESS })
}
