// SPDX-License-Identifier: GPL-2.0-only
//! `fairground report [EXPERIMENT] [STORE …]`

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use report::html::About;
use store::Session;

use crate::output;
use crate::stores::Several;
use crate::{lineage, runs, words};

/// What `gate` and `history` count as a change, unless told otherwise.
const MARGIN_PERCENT: f64 = 1.0;

/// Options of `report`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    chosen: Several,
    /// The contestant that the others are compared with, instead of the experiment's
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// The file to write; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
}

/// Writes the page.
///
/// # Errors
/// When the store cannot be read, has no records, or the file cannot be written.
pub fn run(args: Args) -> Result<ExitCode> {
    let opened = args.chosen.open(true)?;
    let comparison = opened.compare(args.baseline)?;
    let runs = runs::of(&args.chosen.all_sessions()?);
    let history = (runs.len() > 1).then(|| runs::history(&runs, MARGIN_PERCENT));
    let about = About { history, ..about(&opened.sessions) };
    let page = report::html::page(&comparison, &opened.records, &about);
    let to_file = args.output.as_os_str() != "-";
    let mut out = output::writer(to_file.then_some(&args.output))?;
    out.write_all(page.as_bytes())?;
    out.flush()?;
    if to_file {
        output::tell(format_args!("wrote {}", args.output.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn about(sessions: &[Session]) -> About {
    let experiment = sessions.last().map(|session| &session.experiment);
    let commands = sessions.iter().map(|session| session.command.clone());
    About {
        title: experiment.map(|e| e.name.clone()).unwrap_or_default(),
        question: experiment.map(|e| e.question.clone()).unwrap_or_default(),
        commands: commands.chain([words::command()]).collect(),
        generated: words::today(),
        family: lineage::members(),
        exploratory: experiment.is_some_and(|e| e.design.exploratory),
        history: None,
    }
}
