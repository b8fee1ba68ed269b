// SPDX-License-Identifier: GPL-2.0-only
//! The records that a reading verb uses, of one store or of several as one set.

use std::collections::BTreeSet;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use anyhow::Result;
use model::Record;
use store::exchange::share::{self, Shared};
use store::{Damage, Filter, SchedulerSource, Session, Store};

use crate::execution::locations;
use crate::exit::{self, bad_input};
use crate::output;
use crate::selected::{Selected, StoreRecords};

/// How every SQLite file begins.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Reads records; those that are damaged are told about once, and left out.
pub fn read(store: &Store, filter: &Filter) -> Result<Vec<Record>> {
    let read = store.read(filter)?;
    let told = read.damaged.iter().map(|damage| left_out(store.path(), damage));
    told.for_each(|line| output::tell_once(&line));
    Ok(read.records)
}

fn left_out(store: &Path, damage: &Damage) -> String {
    format!("{}: {damage}; it is left out", store.display())
}

#[derive(clap::Args, Clone, Debug, Default)]
pub struct Selection {
    /// An experiment, by default the one that ran last; and stores to combine: A.db B.db
    #[arg(value_name = "EXPERIMENT|STORE")]
    names: Vec<String>,
    /// The store, if no other is named [default: fairground.db]
    #[arg(long = "store", value_name = "FILE")]
    stores: Vec<PathBuf>,
    /// A session of the store instead of the last one, or `all` sessions of the experiment
    #[arg(long, value_name = "NUMBER|all")]
    session: Option<String>,
}

impl Selection {
    /// A session of a store, with the sessions that it resumes, as `run` shows it at its end.
    pub fn session(store: &Path, session: i64) -> Selection {
        let (stores, session) = (vec![store.to_owned()], Some(session.to_string()));
        Selection { names: Vec::new(), stores, session }
    }

    /// The last session of an experiment in a store.
    pub fn last_of(store: &Path, experiment: &str) -> Selection {
        let (names, stores) = (vec![experiment.to_owned()], vec![store.to_owned()]);
        Selection { names, stores, session: None }
    }

    /// The chosen records of all stores, without traces.
    pub fn open(&self) -> Result<Selected> {
        self.open_with(false)
    }

    /// The same with traces.
    pub fn with_traces(&self) -> Result<Selected> {
        self.open_with(true)
    }

    fn open_with(&self, traces: bool) -> Result<Selected> {
        let (_, stores) = self.sorted()?;
        if stores.len() > 1 && self.session.as_deref().is_some_and(|session| session != "all") {
            return Err(bad_input(
                "--session NUMBER: sessions have numbers in one store only; with several stores, \
                 leave it out for the last one of each, or write --session all",
            ));
        }
        Ok(Selected::new(self.read_stores(self.session.as_deref(), traces)?))
    }

    /// All sessions of the experiment in each of the stores, unless one is named.
    pub fn all_sessions(&self) -> Result<Vec<StoreRecords>> {
        self.read_stores(self.session.as_deref().or(Some("all")), false)
    }

    fn read_stores(&self, session: Option<&str>, traces: bool) -> Result<Vec<StoreRecords>> {
        let (experiment, stores) = self.sorted()?;
        let experiment = match experiment {
            None if stores.len() > 1 || session == Some("all") => {
                Some(last_experiment(&stores[0])?)
            }
            given => given.map(|name| stem(&name)),
        };
        let read = |(store, label): (&PathBuf, String)| -> Result<StoreRecords> {
            let chosen = StoreQuery { store, experiment: experiment.as_deref(), session };
            let sessions = if share::is_shared(store) {
                chosen.shared(traces)
            } else {
                chosen.read(traces).map_err(|error| with_what_it_has(error, store))
            };
            Ok(StoreRecords { label, sessions: sessions? })
        };
        stores.iter().zip(labels(&stores)).map(read).collect()
    }

    /// The records of the session before the chosen one, of the same experiment; `None` if there
    /// is none.
    pub fn previous(&self) -> Result<Option<Vec<Record>>> {
        let path = self.one_store()?;
        let selected = self.open()?;
        let Some(last) = selected.sessions.last() else { return Ok(None) };
        let mut earlier = Store::open_readonly(&path)?.sessions()?;
        earlier.retain(|session| {
            // An imported session is not the one before a session of this machine.
            session.experiment.name == last.experiment.name
                && session.origin == last.origin
                && session.first() < last.first()
        });
        let Some(before) = earlier.last() else { return Ok(None) };
        Ok(Some(Selection::session(&path, before.id).open()?.records))
    }

    /// The sessions of the only store, oldest first, each with its own records.
    pub fn sessions_of_one_store(&self, traces: bool) -> Result<Vec<(Session, Vec<Record>)>> {
        self.one_store()?;
        let stores = self.read_stores(self.session.as_deref(), traces)?;
        let mut sessions: Vec<_> = stores.into_iter().flat_map(|store| store.sessions).collect();
        sessions.retain(|(_, records)| !records.is_empty());
        Ok(sessions)
    }

    /// Whether the command line names neither an experiment nor a store nor a session.
    pub fn is_default(&self) -> bool {
        self.names.is_empty() && self.stores.is_empty() && self.session.is_none()
    }

    pub fn one_store(&self) -> Result<PathBuf> {
        let (_, mut stores) = self.sorted()?;
        match stores.len() {
            1 => Ok(stores.remove(0)),
            _ => Err(bad_input(
                "several stores are named, and this reads one; `history --gate` finds the earlier \
                 session in another store by --before FILE",
            )),
        }
    }

    /// The folder of shared files that is named instead of an experiment; `None` if it is an
    /// experiment. A folder of an experiment's name counts only if it has shared files.
    pub fn folder(&self) -> Option<&Path> {
        let [name] = self.names.as_slice() else { return None };
        let folder = Path::new(name);
        let is_shared =
            |file: DirEntry| file.path().extension().is_some_and(|ending| ending == share::ENDING);
        let has_shared = || folder.read_dir().is_ok_and(|all| all.flatten().any(is_shared));
        (folder.is_dir() && (name.contains('/') || has_shared())).then_some(folder)
    }

    /// The texts of schedulers and tapes that the stores have.
    pub fn texts(&self) -> Result<Vec<SchedulerSource>> {
        let mut texts = Vec::new();
        for store in self.sorted()?.1 {
            if share::is_shared(&store) {
                texts.extend(Shared::read(&store)?.sources);
            } else {
                texts.extend(Store::open_readonly(&store)?.sources()?);
            }
        }
        Ok(texts)
    }

    /// The damaged records of the stores, which are left out, in words for a report.
    pub fn damages(&self) -> Result<Vec<String>> {
        let mut damages = Vec::new();
        for store in self.sorted()?.1.iter().filter(|store| !share::is_shared(store)) {
            let read = Store::open_readonly(store)?.read(&Filter::default())?;
            damages.extend(read.damaged.iter().map(|damage| left_out(store, damage)));
        }
        Ok(damages)
    }

    /// The experiment and the stores that the command line names.
    fn sorted(&self) -> Result<(Option<String>, Vec<PathBuf>)> {
        let (stores, names): (Vec<&String>, Vec<&String>) =
            self.names.iter().partition(|name| is_store(Path::new(name)));
        if let [first, second, ..] = names.as_slice() {
            return Err(bad_input(format!(
                "{first}, {second}: neither is a store, and there can be one experiment only"
            )));
        }
        let mut stores: Vec<PathBuf> = stores.into_iter().map(PathBuf::from).collect();
        stores.extend(self.stores.iter().cloned());
        if stores.is_empty() {
            stores.push(locations::STORE.into());
        }
        Ok((names.first().map(|name| (*name).clone()), stores))
    }
}

/// What is wanted of one store.
struct StoreQuery<'a> {
    store: &'a Path,
    experiment: Option<&'a str>,
    /// A number or `all`; without it the last session, with those that it resumes.
    session: Option<&'a str>,
}

impl StoreQuery<'_> {
    /// The sessions, oldest first, each with its own records.
    fn read(&self, traces: bool) -> Result<Vec<(Session, Vec<Record>)>> {
        let store = Store::open_readonly(self.store)?;
        let with_records = |session: Session| {
            let filter = Filter { session: Some(session.id), traces, ..Filter::default() };
            Ok((session, read(&store, &filter)?))
        };
        let sessions = self.sessions(&store)?.into_iter();
        let sessions: Vec<_> = sessions.map(with_records).collect::<Result<_>>()?;
        let is_empty = sessions.iter().all(|(_, records)| records.is_empty());
        match sessions.last() {
            Some((session, _)) if is_empty => Err(self.nothing_yet(session)),
            Some(_) => Ok(sessions),
            None => Err(self.nothing()),
        }
    }

    fn sessions(&self, store: &Store) -> Result<Vec<Session>> {
        let mut sessions = store.sessions()?;
        if let Some(name) = self.experiment {
            sessions.retain(|session| session.experiment.name == name);
        }
        let wanted = match self.session {
            Some("all") => return Ok(sessions),
            // A session that the lab ended before its first record is no answer.
            None => {
                let measured = sessions.iter().rev().find(|session| has_records(store, session));
                measured.or_else(|| sessions.last())
            }
            Some(number) => {
                let number: i64 = number.parse().map_err(|_| {
                    bad_input(format!("--session {number}: neither a number nor `all`"))
                })?;
                sessions.iter().find(|session| session.id == number)
            }
        };
        let first = wanted.map(Session::first).ok_or_else(|| self.nothing())?;
        sessions.retain(|session| session.first() == first);
        Ok(sessions)
    }

    /// What a shared file has.
    fn shared(&self, traces: bool) -> Result<Vec<(Session, Vec<Record>)>> {
        let mut sessions = Shared::read(self.store)?.sessions;
        sessions.retain(|(session, _)| {
            self.experiment.is_none_or(|name| session.experiment.name == name)
        });
        if sessions.iter().all(|(_, records)| records.is_empty()) {
            let name = self.experiment.unwrap_or_default();
            return Err(bad_input(format!("{}: no records of {name}", self.store.display())));
        }
        if !traces {
            let records = sessions.iter_mut().flat_map(|(_, records)| records);
            records.for_each(|record| record.trace = None);
        }
        Ok(sessions)
    }

    /// The session is there, and no trial of it has ended.
    fn nothing_yet(&self, session: &Session) -> anyhow::Error {
        let (store, name) = (self.store.display(), &session.experiment.name);
        bad_input(format!(
            "{store}: no trial of {name} has ended yet; wait for its first record, or go on with \
             `fairground run … --resume` if nothing runs any more"
        ))
    }

    fn nothing(&self) -> anyhow::Error {
        let what = match (self.experiment, self.session) {
            (Some(name), None | Some("all")) => format!("of experiment {name}"),
            (_, Some(session)) => format!("of session {session}"),
            (None, None) => String::from("yet"),
        };
        let store = self.store.display();
        bad_input(format!("{store}: no records {what}; `fairground run` makes some"))
    }
}

/// Whether a name means a store: by its ending, or by the first bytes of the file.
fn is_store(path: &Path) -> bool {
    let begins =
        || spec::files::beginning(path, SQLITE.len() as u64).is_ok_and(|start| start == SQLITE);
    path.extension().is_some_and(|ending| ending == "db" || ending == share::ENDING)
        || share::is_shared(path)
        || begins()
}

fn last_experiment(store: &Path) -> Result<String> {
    if share::is_shared(store) {
        let file = Shared::read(store)?;
        let last = file.sessions.last().map(|(session, _)| session.experiment.name.clone());
        return Ok(last.unwrap_or_default());
    }
    let sessions = Store::open_readonly(store)?.sessions()?;
    let last = sessions.last().map(|session| session.experiment.name.clone());
    last.ok_or_else(|| {
        bad_input(format!("{}: no records yet; `fairground run` makes some", store.display()))
    })
}

/// Adds to the error the names of the experiments that the store does have.
fn with_what_it_has(error: anyhow::Error, store: &Path) -> anyhow::Error {
    let names = Store::open_readonly(store).and_then(|store| {
        let sessions = store.sessions()?.into_iter();
        let measured = sessions.filter(|session| has_records(&store, session));
        Ok(measured.map(|session| session.experiment.name).collect::<BTreeSet<String>>())
    });
    let names = names.unwrap_or_default();
    if names.is_empty() || exit::code(&error) != exit::BAD_INPUT {
        return error;
    }
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    bad_input(format!("{error:#}; it has records of {names}"))
}

/// Short names, all different: the files' names, or their paths if two files have the same name.
fn labels(stores: &[PathBuf]) -> Vec<String> {
    let short = |path: &PathBuf| {
        path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    };
    let names: Vec<String> = stores.iter().map(short).collect();
    let alone = |name: &String| names.iter().filter(|another| *another == name).count() == 1;
    let label = |(name, path): (&String, &PathBuf)| {
        if alone(name) { name.clone() } else { path.display().to_string() }
    };
    names.iter().zip(stores).map(label).collect()
}

fn stem(name: &str) -> String {
    let file = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
    file.trim_end_matches(".toml").to_owned()
}
fn has_records(store: &Store, session: &Session) -> bool {
    let filter = Filter { campaign: Some(session.first()), ..Filter::default() };
    store.trial_ids_done(&filter).is_ok_and(|ids| !ids.is_empty())
}
