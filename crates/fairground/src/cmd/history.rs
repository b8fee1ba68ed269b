// SPDX-License-Identifier: GPL-2.0-only
//! `fairground history [EXPERIMENT] [STORE …]`: how an experiment's numbers have changed from
//! session to session, and whether the newest session is worse. With `--gate` only the last two
//! sessions are compared, for a change under review.

pub mod gate;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use stats::view::history::History;

use super::margin::Margin;
use crate::exit;
use crate::output::{self, Format};
use crate::sessions;
use crate::stores::Several;

/// Options of `history`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    chosen: Several,
    /// Only the newest N sessions
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Compare only the last session with the one before, measure by measure
    #[arg(long, conflicts_with = "last")]
    gate: bool,
    /// The store with the session to compare with; without it, the one before in the same store
    #[arg(long, value_name = "FILE", requires = "gate")]
    before: Option<PathBuf>,
    #[command(flatten)]
    margin: Margin,
    /// How to print it: table or json
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    format: Format,
}

/// Shows the history, and fails if the newest session is worse.
///
/// # Errors
/// When a store cannot be read, or has no session of the experiment.
pub fn run(args: Args) -> Result<ExitCode> {
    if args.gate {
        let Args { chosen, before, margin, format, .. } = args;
        return gate::run(gate::Args { chosen: chosen.one()?, before, margin, format });
    }
    let margin = args.margin.percent()?;
    let mut campaigns = sessions::campaigns(&args.chosen.all_sessions()?);
    if let Some(last) = args.last {
        campaigns.drain(..campaigns.len().saturating_sub(last));
    }
    // The first session of a series is no failure, so that CI can begin with it.
    if campaigns.len() < 2 {
        output::tell("there is one session only: run it again after a change, or name more stores");
    }
    let history: History = sessions::history(&campaigns, margin);
    match args.format {
        Format::Json => output::print_json(&history)?,
        Format::Table => output::print(&report::terminal::history_text::history(&history))?,
    }
    let worse = history.has_regressed();
    Ok(if worse { ExitCode::from(exit::MISBEHAVED) } else { ExitCode::SUCCESS })
}
