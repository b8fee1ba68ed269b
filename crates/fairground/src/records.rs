// SPDX-License-Identifier: GPL-2.0-only
//! The records of a store that a reading verb uses.

use std::path::{Path, PathBuf};

use anyhow::Result;
use model::Record;
use store::{Damage, Filter, Session, Store};

use crate::exit::bad_input;
use crate::output;

/// Reads records; those that are damaged are told about once, and left out.
///
/// # Errors
/// When the store cannot be read.
pub fn read(store: &Store, filter: &Filter) -> Result<Vec<Record>> {
    let read = store.read(filter)?;
    let told = read.damaged.iter().map(|damage| left_out(store.path(), damage));
    told.for_each(|line| output::tell_once(&line));
    Ok(read.records)
}

/// A damaged record in words.
fn left_out(store: &Path, damage: &Damage) -> String {
    format!("{}: {damage}; it is left out", store.display())
}

/// The damaged records of a store, in words for a report.
///
/// # Errors
/// When the store cannot be read.
pub fn damages(path: &Path) -> Result<Vec<String>> {
    let read = Store::open_readonly(path)?.read(&Filter::default())?;
    Ok(read.damaged.iter().map(|damage| left_out(path, damage)).collect())
}

/// The options that choose records.
#[derive(clap::Args, Clone, Debug)]
pub struct Chosen {
    /// The experiment; without it, the one that ran last
    pub experiment: Option<String>,
    /// The store
    #[arg(long, value_name = "FILE", default_value = crate::execution::locations::STORE)]
    pub store: PathBuf,
    /// A session of the store instead of the last one, or `all` sessions of the experiment
    #[arg(long, value_name = "NUMBER|all")]
    session: Option<String>,
}

impl Chosen {
    /// The last session of an experiment in a store, as `run` shows it at its end.
    pub fn session(store: PathBuf, session: i64) -> Chosen {
        Chosen { experiment: None, store, session: Some(session.to_string()) }
    }

    /// The last session of an experiment in a store.
    pub fn last_of(store: PathBuf, experiment: &str) -> Chosen {
        Chosen { experiment: Some(experiment.into()), store, session: None }
    }

    /// What one of several stores has of an experiment.
    pub fn of(store: PathBuf, experiment: Option<String>, session: Option<String>) -> Chosen {
        Chosen { experiment, store, session }
    }

    /// The records of the session before the chosen ones, of the same experiment; `None` if there
    /// is none.
    ///
    /// # Errors
    /// When the store cannot be read or has no such records.
    pub fn previous(&self) -> Result<Option<Vec<Record>>> {
        let store = Store::open_readonly(&self.store)?;
        let last = self.sessions(&store)?.pop().ok_or_else(|| self.nothing())?;
        let mut earlier = store.sessions()?;
        earlier.retain(|session| {
            // An imported session is not the one before a session of this machine.
            session.experiment.name == last.experiment.name
                && session.origin == last.origin
                && session.first() < last.first()
        });
        let Some(before) = earlier.last() else { return Ok(None) };
        let session = Chosen::session(self.store.clone(), before.id);
        session.records().map(Some)
    }

    /// The chosen records, without traces.
    ///
    /// # Errors
    /// When the store cannot be read or has no such records.
    pub fn records(&self) -> Result<Vec<Record>> {
        Ok(self.open()?.1)
    }

    /// The sessions that the records belong to, oldest first, and the records, with traces.
    ///
    /// # Errors
    /// When the store cannot be read or has no such records.
    pub fn with_traces(&self) -> Result<(Vec<Session>, Vec<Record>)> {
        self.read(true)
    }

    /// The sessions that the records belong to, oldest first, and the records.
    ///
    /// # Errors
    /// When the store cannot be read or has no such records.
    pub fn open(&self) -> Result<(Vec<Session>, Vec<Record>)> {
        self.read(false)
    }

    fn read(&self, traces: bool) -> Result<(Vec<Session>, Vec<Record>)> {
        let store = Store::open_readonly(&self.store)?;
        let (sessions, campaign) = self.chosen(&store)?;
        let experiment = sessions.last().map(|session| session.experiment.name.clone());
        let filter = Filter { experiment, campaign, traces, ..Filter::default() };
        let records = read(&store, &filter)?;
        if records.is_empty() { Err(self.nothing()) } else { Ok((sessions, records)) }
    }

    /// The sessions, oldest first, each with its own records.
    ///
    /// # Errors
    /// When the store cannot be read or has no such records.
    pub fn by_session(&self, traces: bool) -> Result<Vec<(Session, Vec<Record>)>> {
        let store = Store::open_readonly(&self.store)?;
        let (sessions, _) = self.chosen(&store)?;
        let with_records = |session: Session| {
            let filter = Filter { session: Some(session.id), traces, ..Filter::default() };
            Ok((session, read(&store, &filter)?))
        };
        let mut all: Vec<_> = sessions.into_iter().map(with_records).collect::<Result<_>>()?;
        all.retain(|(_, records)| !records.is_empty());
        if all.is_empty() { Err(self.nothing()) } else { Ok(all) }
    }

    /// The sessions, oldest first, and their campaign if they are of one.
    fn chosen(&self, store: &Store) -> Result<(Vec<Session>, Option<i64>)> {
        let mut sessions = self.sessions(store)?;
        let last = sessions.last().map(Session::first).ok_or_else(|| self.nothing())?;
        let campaign_only = self.session.as_deref() != Some("all");
        if campaign_only {
            sessions.retain(|session| session.first() == last);
        }
        Ok((sessions, campaign_only.then_some(last)))
    }

    /// The sessions that the options allow, oldest first.
    fn sessions(&self, store: &Store) -> Result<Vec<Session>> {
        let mut sessions = store.sessions()?;
        if let Some(name) = &self.experiment {
            let name = stem(name);
            sessions.retain(|session| session.experiment.name == name);
        }
        match self.session.as_deref() {
            None => {}
            Some("all") => {
                let last = sessions.last().map(|session| session.experiment.name.clone());
                sessions.retain(|session| Some(&session.experiment.name) == last.as_ref());
            }
            Some(number) => {
                let number: i64 = number.parse().map_err(|_| {
                    bad_input(format!("--session {number}: neither a number nor `all`"))
                })?;
                let chosen =
                    sessions.iter().find(|session| session.id == number).map(Session::first);
                sessions.retain(|session| Some(session.first()) == chosen);
            }
        }
        Ok(sessions)
    }

    fn nothing(&self) -> anyhow::Error {
        let what = match (&self.experiment, &self.session) {
            (_, Some(session)) => format!("of session {session}"),
            (Some(name), None) => format!("of experiment {name}"),
            (None, None) => String::from("yet"),
        };
        bad_input(format!(
            "{}: no records {what}; `fairground run` makes some",
            self.store.display()
        ))
    }
}

/// An experiment is named in the store by its file's stem.
pub fn stem(name: &str) -> String {
    let file = std::path::Path::new(name).file_name().unwrap_or_default().to_string_lossy();
    file.trim_end_matches(".toml").to_owned()
}
