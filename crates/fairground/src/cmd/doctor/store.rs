// SPDX-License-Identifier: GPL-2.0-only
//! `fairground doctor store FILE`: what is wrong with a store.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use store::{Filter, Session, Store};

use crate::planned_experiment::plan_of;
use crate::{command_line, exit, output};

#[derive(clap::Args)]
pub struct Args {
    /// The store
    #[arg(value_name = "FILE", default_value = crate::execution::locations::STORE)]
    file: PathBuf,
}

/// Checks a store; exit code 1 if something is wrong with it.
pub fn run(Args { file }: Args) -> Result<ExitCode> {
    let checked = store::check(&file)?;
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
    for note in unfinished(&file) {
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
