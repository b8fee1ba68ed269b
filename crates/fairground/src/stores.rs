// SPDX-License-Identifier: GPL-2.0-only
//! Several stores as one set of records, for the verbs that read.

use std::collections::BTreeSet;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use model::Record;
use stats::Comparison;
use stats::records::merge::{Merged, Part, merge};
use stats::view::consensus::{Contribution, Question, definitions, questions};
use store::{Session, Store};

use crate::execution::locations;
use crate::exit::{self, bad_input};
use crate::records::{self, Chosen, stem};
use crate::{dates, summary};
use store::exchange::share::{self, Shared};

/// How every SQLite file begins.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// The options that choose records of one store or several.
#[derive(clap::Args, Clone, Debug)]
pub struct Several {
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

/// What was chosen.
pub struct Opened {
    /// The sessions that the records belong to: store by store, oldest first.
    pub sessions: Vec<Session>,
    /// The records, each trial once.
    pub records: Vec<Record>,
    /// Where they come from and how they were put together; nothing for a single store.
    pub notes: Vec<String>,
    /// Trials that should have measured the same and did not.
    contradictions: Vec<String>,
    /// The records of each store; empty for a single store.
    sources: Vec<Source>,
}

/// What one store has.
#[derive(Clone)]
pub struct Source {
    /// What tables call it.
    pub label: String,
    /// The sessions, oldest first.
    pub sessions: Vec<Session>,
    pub records: Vec<Record>,
}

pub struct StoreSessions {
    /// What tables call the store.
    pub label: String,
    /// The sessions, oldest first, each with its own records.
    pub sessions: Vec<(Session, Vec<Record>)>,
}

impl Several {
    /// All sessions of the experiment in each of the stores.
    ///
    /// # Errors
    /// As for [`Several::open`].
    pub fn all_sessions(&self) -> Result<Vec<StoreSessions>> {
        let (experiment, stores) = self.sorted()?;
        let experiment = match experiment {
            Some(name) => name,
            None => last_experiment(&stores[0])?,
        };
        let session = Some(self.session.clone().unwrap_or_else(|| "all".into()));
        let read = |(store, label): (&PathBuf, String)| {
            let chosen = Chosen::of(store.clone(), Some(experiment.clone()), session.clone());
            let sessions = if share::is_shared(store) {
                let mut sessions = Shared::read(store)?.sessions;
                sessions.retain(|(session, _)| session.experiment.name == stem(&experiment));
                sessions
            } else {
                chosen.by_session(false).map_err(|error| with_what_it_has(error, store))?
            };
            Ok(StoreSessions { label, sessions })
        };
        stores.iter().zip(labels(&stores)).map(read).collect()
    }

    /// Reads the chosen records of all stores.
    ///
    /// # Errors
    /// When a store cannot be read, or has no such records.
    pub fn open(&self, traces: bool) -> Result<Opened> {
        let mut sources = self.sources(traces)?;
        if sources.len() == 1 {
            let Source { sessions, records, .. } = sources.remove(0);
            let (notes, contradictions, sources) = (vec![], vec![], vec![]);
            return Ok(Opened { sessions, records, notes, contradictions, sources });
        }
        let mut notes: Vec<String> = sources.iter().map(Source::describe).collect();
        let sessions = sources.iter().flat_map(|source| source.sessions.clone()).collect();
        let part =
            |source: &Source| Part { label: source.label.clone(), records: source.records.clone() };
        let Merged { records, notes: remarks, contradictions } =
            merge(sources.iter().map(part).collect());
        notes.extend(remarks);
        Ok(Opened { sessions, records, notes, contradictions, sources })
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

    /// The same choice for a verb that reads one store.
    ///
    /// # Errors
    /// When several are named.
    pub fn one(&self) -> Result<Chosen> {
        let (experiment, mut stores) = self.sorted()?;
        match stores.len() {
            1 => Ok(Chosen::of(stores.remove(0), experiment, self.session.clone())),
            _ => Err(bad_input(
                "--gate compares two sessions; name the store of the earlier one by --before FILE",
            )),
        }
    }

    /// What each of the stores has of the experiment.
    ///
    /// # Errors
    /// As for [`Several::open`].
    pub fn sources(&self, traces: bool) -> Result<Vec<Source>> {
        let (experiment, stores) = self.sorted()?;
        if stores.len() > 1 && self.session.as_deref().is_some_and(|session| session != "all") {
            return Err(bad_input(
                "--session NUMBER: sessions have numbers in one store only; with several stores, \
                 leave it out for the last one of each, or write --session all",
            ));
        }
        let experiment = match (experiment, stores.len()) {
            (None, 2..) => Some(last_experiment(&stores[0])?),
            (given, _) => given,
        };
        let labels = labels(&stores);
        let pairs = stores.iter().zip(labels);
        pairs.map(|(store, label)| self.source(store, label, &experiment, traces)).collect()
    }

    fn source(
        &self,
        store: &Path,
        label: String,
        experiment: &Option<String>,
        traces: bool,
    ) -> Result<Source> {
        if share::is_shared(store) {
            return Source::shared(store, label, experiment, traces);
        }
        let chosen = Chosen::of(store.to_owned(), experiment.clone(), self.session.clone());
        let read = if traces { chosen.with_traces() } else { chosen.open() };
        let (sessions, records) = read.map_err(|error| with_what_it_has(error, store))?;
        Ok(Source { label, sessions, records })
    }

    /// The damaged records of the stores, which are left out, in words.
    ///
    /// # Errors
    /// When a store cannot be read.
    pub fn damages(&self) -> Result<Vec<String>> {
        let (_, stores) = self.sorted()?;
        let own = stores.iter().filter(|store| !share::is_shared(store));
        let lists: Vec<Vec<String>> =
            own.map(|store| records::damages(store)).collect::<Result<_>>()?;
        Ok(lists.concat())
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

impl Source {
    /// What a shared file has.
    fn shared(
        path: &Path,
        label: String,
        experiment: &Option<String>,
        traces: bool,
    ) -> Result<Source> {
        let file = Shared::read(path)?;
        let (mut sessions, mut records) = (Vec::new(), Vec::new());
        for (session, its) in file.sessions {
            if experiment.as_ref().is_none_or(|name| session.experiment.name == stem(name)) {
                sessions.push(session);
                records.extend(its);
            }
        }
        if records.is_empty() {
            let name = experiment.as_deref().unwrap_or_default();
            return Err(bad_input(format!("{}: no records of {name}", path.display())));
        }
        if !traces {
            records.iter_mut().for_each(|record| record.trace = None);
        }
        Ok(Source { label, sessions, records })
    }

    /// Where its numbers come from, in a line.
    fn describe(&self) -> String {
        let dates: BTreeSet<String> =
            self.sessions.iter().map(|session| dates::date(session.started_unix_s)).collect();
        let joined = |fact: fn(&Record) -> &String| {
            let facts: BTreeSet<&str> =
                self.records.iter().map(|record| fact(record).as_str()).collect();
            let facts: Vec<&str> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
            facts.join(", ")
        };
        let dates = dates.into_iter().collect::<Vec<_>>().join(", ");
        let (kernels, processors) =
            (joined(|r| &r.provenance.kernel_release), joined(|r| &r.provenance.cpu_model));
        format!(
            "{}: {} trials of {dates}; kernels: {kernels}; processors: {processors}",
            self.label,
            self.records.len()
        )
    }
}

impl Opened {
    /// Compares the records, and says where they come from.
    ///
    /// # Errors
    /// When the baseline is not among the contestants.
    pub fn compare(&self, baseline: Option<String>) -> Result<Comparison> {
        let mut comparison = summary::compare(&self.sessions, &self.records, baseline)?;
        comparison.notes.splice(0..0, self.notes.iter().cloned());
        Ok(comparison)
    }

    /// How several stores answer the same questions; empty for a single store.
    ///
    /// # Errors
    /// When the baseline is not among a store's contestants.
    pub fn questions(&self, baseline: &str) -> Result<Vec<Question>> {
        let contribution = |source: &Source| -> Result<Contribution> {
            let knows = source.records.iter().any(|r| r.trial.contestant.name == baseline);
            let baseline = knows.then(|| baseline.to_owned());
            Ok(Contribution {
                name: source.label.clone(),
                comparison: summary::answers(&source.sessions, &source.records, baseline)?,
                definitions: definitions(&source.records),
            })
        };
        let contributions = self.sources.iter().map(contribution).collect::<Result<Vec<_>>>()?;
        Ok(questions(&contributions))
    }

    /// Whether the records are of several stores.
    pub fn is_several(&self) -> bool {
        !self.sources.is_empty()
    }

    /// 1 if two stores contradict each other.
    pub fn exit_code(&self) -> ExitCode {
        let agree = self.contradictions.is_empty();
        if agree { ExitCode::SUCCESS } else { ExitCode::from(exit::MISBEHAVED) }
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

/// Adds the experiments that the store has to the error that it lacks the wanted one.
fn with_what_it_has(error: anyhow::Error, store: &Path) -> anyhow::Error {
    let sessions = Store::open_readonly(store).and_then(|store| store.sessions());
    let names = sessions.unwrap_or_default().into_iter().map(|session| session.experiment.name);
    let names: BTreeSet<String> = names.collect();
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
