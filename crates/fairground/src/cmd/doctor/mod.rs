// SPDX-License-Identifier: GPL-2.0-only
//! `fairground doctor`: what this machine can do, and what gets the rest; whether a store is whole;
//! and what an installation needs besides the program.

mod generate;
mod store;

use std::process::ExitCode;

use anyhow::Result;
use live::sharing::Sharing;

use crate::abilities::{Finding, Seen, findings};
use crate::advice::core_sharing;
use crate::execution::locations::data_folder;
use crate::exit;
use crate::output::{self, Format};

/// Options of `doctor`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// Do not ask the package mirror whether it answers
    #[arg(long)]
    offline: bool,
    /// How to print it: table or json
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    format: Format,
}

#[derive(clap::Subcommand)]
enum What {
    /// Say what is wrong with a store: its pages, sessions, hashes, and missing records
    Store(store::Args),
    /// Measure how much of a core each of two busy threads has here, and keep it for `recommend`
    Cores,
    /// Print a shell's completion script
    Completions(generate::Completions),
    /// Print the manual page
    Manual(generate::Manual),
}

/// Looks at this machine, or does what the second verb says.
///
/// # Errors
/// When standard output is closed, and those of the second verb.
pub fn run(args: Args) -> Result<ExitCode> {
    match args.what {
        Some(What::Store(args)) => store::run(args),
        Some(What::Cores) => cores(),
        Some(What::Completions(args)) => generate::completions(args),
        Some(What::Manual(args)) => generate::manual(args),
        None => abilities(args.offline, args.format),
    }
}

/// Says what works. Exit code 3 if no trial can be executed at all.
fn abilities(offline: bool, format: Format) -> Result<ExitCode> {
    let found = findings(&Seen::look(offline));
    match format {
        Format::Json => output::print_json(&found)?,
        Format::Table => output::print(&text(&found))?,
    }
    let works = findings::something_works(&found);
    Ok(if works { ExitCode::SUCCESS } else { ExitCode::from(exit::LAB_FAILED) })
}

/// Measures what two threads of a core leave each other.
fn cores() -> Result<ExitCode> {
    let (sharing, path) = core_sharing::measure(&data_folder()?)?;
    let Sharing { cpus: [one, other], percent, range: [least, most] } = sharing;
    output::print(&format!(
        "smt_percent = {percent}: with CPU {other} busy, CPU {one} works at {percent} % of its \
         speed alone ({least} to {most} %)\n{}: kept, for `recommend`\n",
        path.display()
    ))?;
    Ok(ExitCode::SUCCESS)
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
