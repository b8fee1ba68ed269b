// SPDX-License-Identifier: GPL-2.0-only
//! `fairground doctor`: what this machine can do, and what gets the rest; whether a store is whole;
//! and what an installation needs besides the program.

mod store;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::abilities::{Finding, MachineFacts, findings};
use crate::exit;
use crate::output::{self, Format};

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    what: Option<Subject>,
    /// Do not ask the package mirror whether it answers
    #[arg(long)]
    offline: bool,
    /// How to print it: table or json
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    format: Format,
}

#[derive(clap::Subcommand)]
enum Subject {
    /// Say what is wrong with a store: its pages, sessions, hashes, and missing records
    Store(store::Args),
    /// Print a shell's completion script
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page
    Manual {
        /// Write this page and one for each verb into a folder instead
        #[arg(short, long, value_name = "FOLDER")]
        output: Option<PathBuf>,
    },
}

/// Looks at this machine, or does what the second verb says.
pub fn run(args: Args) -> Result<ExitCode> {
    match args.what {
        Some(Subject::Store(args)) => store::run(args),
        Some(Subject::Completions { shell }) => completions(shell),
        Some(Subject::Manual { output }) => manual(output),
        None => abilities(args.offline, args.format),
    }
}

/// Says what works. Exit code 3 if no trial can be executed at all.
fn abilities(offline: bool, format: Format) -> Result<ExitCode> {
    let found = findings(&MachineFacts::of_this_machine(offline));
    match format {
        Format::Json => output::print_json(&found)?,
        Format::Table => output::print(&text(&found))?,
    }
    let works = findings::something_works(&found);
    Ok(if works { ExitCode::SUCCESS } else { ExitCode::from(exit::LAB_FAILED) })
}

fn completions(shell: Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::cmd::command(), "fairground", &mut script);
    output::print_exact(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the manual page, or writes all pages into a folder.
fn manual(folder: Option<PathBuf>) -> Result<ExitCode> {
    let command = crate::cmd::command();
    match folder {
        Some(folder) => clap_mangen::generate_to(command, &folder)
            .map_err(|error| exit::unwritable(&folder, error))?,
        None => {
            let mut page = Vec::new();
            Man::new(command).render(&mut page)?;
            output::print_exact(&String::from_utf8(page)?)?;
        }
    }
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
