// SPDX-License-Identifier: GPL-2.0-only
//! What `fidelity` and `control` have in common: they run an experiment and write how far two sides
//! of it are apart.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use model::Record;
use stats::Comparison;

use super::run::{self, Ended};
use crate::question::Asked;
use crate::records::Chosen;
use crate::{exit, output, summary};

/// Options of these verbs.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    run: run::Args,
    /// Show every number, not only how many agree in each cell
    #[arg(long)]
    pub all: bool,
    /// The file to write the tables to, as Markdown, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the experiment, which is `usual` if none is named, and writes what `text` makes of its
/// records. Sides that are far apart are a finding, not a failure.
///
/// # Errors
/// As `run`; and when `check` says that the experiment cannot be meant.
pub fn run<Sides>(
    mut args: Args,
    usual: &str,
    check: impl Fn(&Asked) -> Result<Sides>,
    text: impl Fn(&[Record], &Comparison, Sides, bool) -> String,
) -> Result<ExitCode> {
    args.run.question.experiment.get_or_insert_with(|| usual.into());
    args.run.question.own_rules = true;
    let asked = args.run.question.ask()?;
    let sides = check(&asked)?;
    let session = match run::measure(&args.run, asked)? {
        Ended::Session(id) => id,
        Ended::Interrupted(code) => return Ok(code),
    };
    let (sessions, records) = Chosen::session(args.run.store.clone(), session).open()?;
    let comparison = summary::compare(&sessions, &records, None)?;
    let text = text(&records, &comparison, sides, args.all);
    output::writer(args.output.as_ref())?.write_all(text.as_bytes())?;
    summary::misbehaviours(&records).iter().for_each(output::tell);
    let ok = records.iter().all(|record| record.outcome.is_ok());
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::from(exit::MISBEHAVED) })
}
