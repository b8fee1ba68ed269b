// SPDX-License-Identifier: GPL-2.0-only
//! `fairground gate [EXPERIMENT]`: whether anything has become worse since the run before.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use model::Record;

use super::margin::Margin;
use crate::exit::{self, bad_input};
use crate::output::{self, Format};
use crate::records::Chosen;

/// Options of `gate`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    chosen: Chosen,
    /// The store with what was measured before; without it, the run before the last in the same one
    #[arg(long, value_name = "FILE")]
    before: Option<PathBuf>,
    #[command(flatten)]
    margin: Margin,
    /// How to print it: table or json
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    format: Format,
}

/// Compares the last run of an experiment with the one before, and fails if anything is worse.
///
/// # Errors
/// When a store cannot be read or has no records, when there is nothing to compare with, and when
/// the two runs have nothing in common.
pub fn run(args: Args) -> Result<ExitCode> {
    let margin = args.margin.percent()?;
    let (sessions, now) = args.chosen.open()?;
    let name = sessions.last().map(|session| session.experiment.name.clone()).unwrap_or_default();
    let before = before(&args, &name)?;
    let gate = stats::decide::gate::gate(&before, &now, margin);
    if gate.lines.is_empty() && gate.broken.is_empty() {
        let places = gate.one_sided.join("; ");
        return Err(bad_input(format!(
            "{name}: the two runs have no contestant, load and machine in common: {places}"
        )));
    }
    match args.format {
        Format::Json => output::print_json(&gate)?,
        Format::Table => output::print(&report::terminal::gate::gate(&gate))?,
    }
    Ok(if gate.is_shut() { ExitCode::from(exit::MISBEHAVED) } else { ExitCode::SUCCESS })
}

/// What was measured before, of the same experiment.
fn before(args: &Args, experiment: &str) -> Result<Vec<Record>> {
    match &args.before {
        Some(store) => Chosen::last_of(store.clone(), experiment).records(),
        None => args.chosen.previous()?.ok_or_else(|| {
            bad_input(format!(
                "{}: {experiment} ran only once; run it again after the change, or name the store \
                 of the run before: --before FILE",
                args.chosen.store.display()
            ))
        }),
    }
}
