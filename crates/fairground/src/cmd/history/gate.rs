// SPDX-License-Identifier: GPL-2.0-only
//! `fairground history [EXPERIMENT] --gate`: whether anything has become worse since the
//! session before.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use model::Record;

use crate::cmd::margin::Margin;
use crate::exit::{self, bad_input};
use crate::output::{self, Format};
use crate::records::Chosen;

/// Options of `history --gate`, and of the old verb `gate`.
#[derive(clap::Args)]
pub struct Args {
    /// The newer records.
    #[command(flatten)]
    pub chosen: Chosen,
    /// The store with the session to compare with; without it, the one before in the same store
    #[arg(long, value_name = "FILE")]
    pub before: Option<PathBuf>,
    /// The smallest change that counts.
    #[command(flatten)]
    pub margin: Margin,
    /// How to print it: table or json
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    pub format: Format,
}

/// Compares the last session of an experiment with the one before, and fails if anything is worse.
///
/// # Errors
/// When a store cannot be read or has no records, when there is nothing to compare with, and when
/// the two sessions have nothing in common.
pub fn run(args: Args) -> Result<ExitCode> {
    let margin = args.margin.percent()?;
    let (sessions, now) = args.chosen.open()?;
    let name = sessions.last().map(|session| session.experiment.name.clone()).unwrap_or_default();
    let before = before(&args, &name)?;
    let gate = stats::decide::gate::gate(&before, &now, margin);
    if gate.lines.is_empty() && gate.broken.is_empty() {
        let places = gate.one_sided.join("; ");
        return Err(bad_input(format!(
            "{name}: the two sessions have no contestant, workload and machine in common: {places}"
        )));
    }
    match args.format {
        Format::Json => output::print_json(&gate)?,
        Format::Table => output::print(&report::terminal::gate_text::gate(&gate))?,
    }
    Ok(if gate.is_shut() { ExitCode::from(exit::MISBEHAVED) } else { ExitCode::SUCCESS })
}

/// The records of the session before, of the same experiment.
fn before(args: &Args, experiment: &str) -> Result<Vec<Record>> {
    match &args.before {
        Some(store) => Chosen::last_of(store.clone(), experiment).records(),
        None => args.chosen.previous()?.ok_or_else(|| {
            bad_input(format!(
                "{}: {experiment} was measured only once; run it again after the change, or name \
                 the store of the earlier session: --before FILE",
                args.chosen.store.display()
            ))
        }),
    }
}
