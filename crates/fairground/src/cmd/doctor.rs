// SPDX-License-Identifier: GPL-2.0-only
//! `fairground doctor`: what this machine can do, and what gets the rest; whether a store is whole;
//! and what an installation needs besides the program.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap_complete::Shell;
use clap_mangen::Man;
use store::{Filter, Session, Store};

use crate::abilities::{Finding, MachineFacts, findings};
use crate::output::{self, Format};
use crate::planned_experiment::plan_of;
use crate::{command_line, exit};

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
    Store {
        /// The store
        #[arg(value_name = "FILE", default_value = crate::execution::locations::STORE)]
        file: PathBuf,
    },
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
        Some(Subject::Store { file }) => check_store(&file),
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

/// Checks a store; exit code 1 if something is wrong with it.
fn check_store(file: &Path) -> Result<ExitCode> {
    let checked = store::check(file)?;
    output::print(&format!(
        "{}: schema {}; sessions: {}, records: {}\n",
        file.display(),
        store::SCHEMA_VERSION,
        checked.sessions,
        checked.records
    ))?;
    for damage in &checked.damage {
        output::print(&format!("  {damage}\n"))?;
    }
    for note in unfinished(file) {
        output::print(&format!("  {note}\n"))?;
    }
    if checked.damage.is_empty() {
        output::print("nothing is wrong with it\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    let store = command_line::quoted(&file.display().to_string());
    output::tell(format_args!(
        "damaged records are left out; if the file's pages are damaged, `sqlite3 {store} .recover \
         | sqlite3 NEW` saves what can be read"
    ));
    Ok(ExitCode::from(exit::MISBEHAVED))
}

/// Campaigns that were measured here and have not all records of their plan. That is no damage.
fn unfinished(file: &Path) -> Vec<String> {
    let Ok(store) = Store::open_readonly(file) else { return Vec::new() };
    let sessions = store.sessions().unwrap_or_default();
    let last_of_campaign = sessions.iter().filter(|session| {
        let mut later = sessions.iter().filter(|later| later.id > session.id);
        session.origin.is_none() && !later.any(|later| later.first() == session.first())
    });
    last_of_campaign.filter_map(|session| missing(&store, session)).collect()
}

/// How many trials of a session's plan have no record; `None` if all have, or where this program
/// plans otherwise than the one that made it.
fn missing(store: &Store, session: &Session) -> Option<String> {
    let trials = plan_of(&session.experiment, session.seed, &session.plan)?;
    let filter = Filter { campaign: Some(session.first()), ..Filter::default() };
    let done = store.trial_ids_done(&filter).ok()?;
    let left = trials.iter().filter(|trial| !done.contains(&trial.id())).count();
    let (id, name) = (session.id, &session.experiment.name);
    (left > 0).then(|| {
        format!(
            "session {id} ({name}) is unfinished: {left} of {} trials have no record; `--resume` \
             runs them",
            trials.len()
        )
    })
}
