// SPDX-License-Identifier: GPL-2.0-only
//! `fairground store check FILE`: what is wrong with a store, and how to mend it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use store::{Filter, Session, Store};

use crate::planned_experiment::plan_of;
use crate::{command_line, exit, output};

/// Options of `store`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

/// What to do with a store.
#[derive(clap::Subcommand)]
enum What {
    /// Say what is wrong with a store: its pages, schema, hashes, doubled or missing records, and
    /// locks that were left behind
    Check {
        /// The store
        #[arg(value_name = "FILE", default_value = execution::locations::STORE)]
        file: PathBuf,
        /// Make a new file of all that is whole, and keep the old one beside it
        #[arg(long)]
        repair: bool,
    },
}

/// Checks or repairs a store; exit code 1 if something is wrong with it.
///
/// # Errors
/// When there is no such store, a process is using it, or the repaired one cannot be written.
pub fn run(args: Args) -> Result<ExitCode> {
    let What::Check { file, repair } = args.what;
    if repair {
        mend(&file)?;
    }
    let checked = store::check(&file)?;
    let name = file.display();
    output::print(&format!(
        "{name}: schema {} of {}; sessions: {}, records: {}\n",
        checked.version,
        store::SCHEMA_VERSION,
        checked.sessions,
        checked.records
    ))?;
    for finding in &checked.findings {
        let end = if finding.mends { "; --repair mends it" } else { "" };
        output::print(&format!("  {}{end}\n", finding.what))?;
    }
    for note in unfinished(&file) {
        output::print(&format!("  {note}\n"))?;
    }
    if checked.findings.is_empty() {
        output::print("nothing is wrong with it\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    if !repair {
        let command = command_line::quoted(&file.display().to_string());
        output::tell(format_args!(
            "`fairground store check {command} --repair` makes a new file of all that is whole, \
             and keeps this one"
        ));
    }
    Ok(ExitCode::from(exit::MISBEHAVED))
}

fn mend(file: &Path) -> Result<()> {
    if store::check(file)?.findings.is_empty() {
        return Ok(());
    }
    let repaired = store::repair(file)?;
    output::print(&format!("the old file is {}\n", repaired.kept.display()))?;
    if repaired.mended > 0 {
        output::print(&format!("{} records are mended\n", repaired.mended))?;
    }
    for damage in &repaired.lost {
        output::print(&format!("left in the old file only: {damage}\n"))?;
    }
    Ok(())
}

/// Campaigns that were measured here and have not all records of their plan. That is no damage.
fn unfinished(file: &Path) -> Vec<String> {
    let Ok(store) = Store::open_readonly(file) else { return Vec::new() };
    let sessions = store.sessions().unwrap_or_default();
    let last_of_campaign = sessions.iter().filter(|one| {
        let later = |other: &&Session| other.first() == one.first() && other.id > one.id;
        one.origin.is_none() && !sessions.iter().any(|other| later(&other))
    });
    last_of_campaign.filter_map(|session| missing(&store, session)).collect()
}

/// How many trials of a session's plan have no record; `None` if all have, or where this program
/// plans otherwise than the one that made it.
fn missing(store: &Store, session: &Session) -> Option<String> {
    let trials = plan_of(&session.experiment, session.seed, &session.plan)?;
    let filter = Filter { family: Some(session.first()), ..Filter::default() };
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
