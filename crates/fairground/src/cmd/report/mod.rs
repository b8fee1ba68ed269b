// SPDX-License-Identifier: GPL-2.0-only
//! `fairground report [EXPERIMENT] [STORE …]`: one page; `fairground report FOLDER`: a site of the
//! shared files in a folder.

pub mod gallery;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use report::html::About;
use store::Session;

use crate::leaving::{self, LeavingOptions};
use crate::records::Selection;
use crate::{command_line, output, times};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    /// The contestant that the others are compared with, instead of the experiment's
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// The file to write, - for standard output [default: report.html]; the folder for a site
    /// [default: gallery]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    leaving: LeavingOptions,
}

pub fn run(args: Args) -> Result<ExitCode> {
    if let Some(folder) = args.selection.folder() {
        let output = args.output.as_deref().unwrap_or(Path::new(gallery::FOLDER));
        return gallery::run(folder, args.baseline.as_deref(), output);
    }
    let output = args.output.unwrap_or_else(|| "report.html".into());
    let mut opened = args.selection.with_traces()?;
    let mut cleaner = opened.clean(args.leaving)?;
    let mut comparison = opened.compare(args.baseline)?;
    comparison.notes.extend(args.selection.damages()?.iter().map(|note| cleaner.text(note)));
    let command = cleaner.command(&command_line::command());
    let about = About { advice: opened.advice()?, ..about(&opened.sessions, command) };
    let page = report::html::page(&comparison, &opened.records, &about);
    if output.as_os_str() == "-" {
        output::write(None, page.as_bytes())?;
    } else {
        output::write_and_tell(&output, &page)?;
    }
    leaving::tell(&cleaner);
    Ok(ExitCode::SUCCESS)
}

/// `command` makes the page.
fn about(sessions: &[Session], command: String) -> About {
    let experiment = sessions.last().map(|session| &session.experiment);
    let commands = sessions.iter().map(|session| session.command.clone());
    let mut commands: Vec<String> = commands.chain([command]).collect();
    // A session that was resumed, and one that prepared another, have the same command.
    let mut seen = BTreeSet::new();
    commands.retain(|command| seen.insert(command.clone()));
    About {
        title: experiment.map(|e| e.name.clone()).unwrap_or_default(),
        question: experiment.map(|e| e.question.clone()).unwrap_or_default(),
        commands,
        advice: Vec::new(),
        generated: times::today(),
        exploratory: experiment.is_some_and(|e| e.design.exploratory),
    }
}
