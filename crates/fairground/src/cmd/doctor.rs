// SPDX-License-Identifier: GPL-2.0-only
//! `fairground doctor`: what this machine can do, and what gets the rest.

use std::process::ExitCode;

use anyhow::Result;

use crate::abilities::{Finding, Seen, findings};
use crate::exit;
use crate::output::{self, Format};

/// Options of `doctor`.
#[derive(clap::Args)]
pub struct Args {
    /// Do not ask the package mirror whether it answers
    #[arg(long)]
    offline: bool,
    /// How to print it: table or json
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    format: Format,
}

/// Looks at this machine, and says what works. Exit code 3 if no trial can be executed at all.
///
/// # Errors
/// When standard output is closed.
pub fn run(args: Args) -> Result<ExitCode> {
    let found = findings(&Seen::look(args.offline));
    match args.format {
        Format::Json => output::print_json(&found)?,
        Format::Table => output::print(&text(&found))?,
    }
    let works = findings::something_works(&found);
    Ok(if works { ExitCode::SUCCESS } else { ExitCode::from(exit::LAB_FAILED) })
}

/// One line for each finding, and below it what is lacking.
fn text(found: &[Finding]) -> String {
    let row = |finding: &Finding| {
        let mark = if finding.works { "yes" } else { "no" };
        vec![mark.into(), finding.name.into(), finding.option.into(), finding.with.clone()]
    };
    let rows = output::table(&found.iter().map(row).collect::<Vec<_>>());
    let mut text = String::new();
    for (line, finding) in rows.lines().zip(found) {
        text += &format!("{line}\n");
        for lack in &finding.lacks {
            text += &format!("     - {}\n       {}\n", lack.what, lack.remedy);
        }
    }
    text
}
