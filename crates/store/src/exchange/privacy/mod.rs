// SPDX-License-Identifier: GPL-2.0-only
//! The one place through which records leave a machine: shared files, reports, exports.
//!
//! ```text
//! sessions and records ─► Cleaner ─► the same without private words, and lists of what left
//! ```
//!
//! [`fields`] has a row for each text that may leave, with what is left of it; a text without a row
//! is hidden. [`words`] reduces texts. Facts of a kernel leave only if [`facts::PUBLIC_FACTS`]
//! lists them. Texts of Fairground's own files are public and stay as they are.

pub mod facts;
pub mod fields;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use model::{
    Contestant, Machine, Measured, Name, Outcome, Provenance, Record, Shared, Trace, Workload,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Session;
pub use facts::rename_tapes;
use facts::{Memo, Names, Threads};
use fields::{KINDS, Rule, WORDS, kind_of, listed};
pub use words::Owner;

/// The replacement of a text that has no row.
const HIDDEN: &str = "hidden";

/// What is left out of texts, in words for the owner and for readers.
const FOLDERS: &str = "folders, and the names of user and host";
const DESCRIPTIONS: &str = "your descriptions of workloads and machines";
const CONTROL_GROUPS: &str = "the names of control groups, which are called c1, c2, …";

/// What the owner lets leave.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice {
    /// Folders, names of user and host, descriptions, all facts of the kernel, what a live kernel
    /// printed.
    pub host: bool,
    /// The names of a recording's threads, and of a live machine's other tasks.
    pub thread_names: bool,
    /// Traces of a live kernel, with anonymous names for tasks that are not the workload's.
    pub live_traces: bool,
    /// Trials keep the identity that they have in their store, so that commands find them there.
    /// Who gets a shared file checks it against the content.
    pub own_identities: bool,
}

#[derive(Default)]
pub struct Cleaner {
    choice: Choice,
    owner: Owner,
    threads: Threads,
    names: Names,
    /// What leaves: the texts of each kind, by its place in [`KINDS`].
    leaving: BTreeMap<usize, BTreeSet<String>>,
    left_out: BTreeSet<&'static str>,
    contestants: Memo<Contestant>,
    workloads: Memo<Workload>,
    machines: Memo<Machine>,
    outcomes: Memo<Outcome>,
    provenances: Memo<Provenance>,
}

impl Cleaner {
    /// Knows the folders and threads of these sessions.
    pub fn new<'a>(
        choice: Choice,
        owner: Owner,
        sessions: impl Iterator<Item = &'a Session>,
    ) -> Cleaner {
        let mut cleaner = Cleaner { choice, owner, ..Cleaner::default() };
        for session in sessions {
            let experiment = &session.experiment;
            words::words_of_shell(&session.command)
                .iter()
                .for_each(|word| cleaner.owner.learn(word));
            let plain = experiment.contestants.iter().map(|contestant| &contestant.name);
            for name in plain.filter(|name| !name.contains('/')) {
                cleaner.names.known.insert(name.clone(), name.clone());
            }
            for contestant in &experiment.contestants {
                contestant.kernel.iter().for_each(|kernel| cleaner.owner.learn(kernel));
                if let model::SchedulerChoice::File { file, .. } = &contestant.scheduler {
                    cleaner.owner.learn(file);
                }
            }
            let scaled = experiment.scaled.iter().map(|scaled| &scaled.workload);
            for workload in experiment.workloads.iter().chain(scaled) {
                cleaner.threads.learn(workload);
                workload.recording.iter().for_each(|of| cleaner.owner.learn(&of.tapes));
            }
        }
        cleaner
    }

    /// Descriptions of what was left out so far.
    pub fn left_out(&self) -> impl Iterator<Item = String> {
        self.left_out.iter().map(|what| (*what).to_owned())
    }

    /// Names that only their folders told apart, each with what it is called now.
    pub fn told_apart(&self) -> impl Iterator<Item = (&str, &str)> {
        let shares = |name: &str| {
            let last = self.owner.file(name);
            self.names.known.keys().filter(|other| self.owner.file(other) == last).count() > 1
        };
        let names = self.names.known.iter().map(|(name, clean)| (name.as_str(), clean.as_str()));
        names.filter(move |(name, _)| name.contains('/') && shares(name))
    }

    /// What leaves: a line for each kind of text, with some of the texts.
    pub fn leaving(&self) -> Vec<String> {
        let line = |(&kind, texts): (&usize, &BTreeSet<String>)| {
            let what = KINDS[kind].what;
            let told: BTreeSet<String> =
                texts.iter().filter(|text| !facts::is_object(text)).cloned().collect();
            (what != WORDS && !told.is_empty()).then(|| format!("{what}: {}", listed(&told)))
        };
        self.leaving.iter().filter_map(line).collect()
    }

    /// A text that is not part of a record.
    pub fn text(&mut self, text: &str) -> String {
        self.ruled(Rule::Told, true, text)
    }

    pub fn command(&mut self, command: &str) -> String {
        self.ruled(Rule::Command, false, command)
    }

    /// # Errors
    /// If what is left is no session any more.
    pub fn session(&mut self, session: &mut Session) -> Result<()> {
        let experiment = &mut session.experiment;
        let contestants = std::mem::take(&mut experiment.contestants);
        let workloads = std::mem::take(&mut experiment.workloads);
        let machines = std::mem::take(&mut experiment.machines);
        let scaled = std::mem::take(&mut experiment.scaled);
        *experiment = self.cleaned("experiment", experiment, false)?;
        for contestant in contestants {
            experiment.contestants.push((*self.contestant(&contestant)?).clone());
        }
        for workload in workloads {
            experiment.workloads.push(self.workload(&workload)?);
        }
        for machine in machines {
            experiment.machines.push((*self.machine(&machine)?).clone());
        }
        for mut scaled in scaled {
            scaled.workload = self.workload(&scaled.workload)?;
            experiment.scaled.push(scaled);
        }
        session.command = self.string("session.command", false, &session.command);
        session.plan = self.string("session.plan", false, &session.plan);
        session.fairground = self.string("session.fairground", false, &session.fairground);
        if let Some(origin) = &mut session.origin {
            origin.by = self.string("session.origin.by", false, &origin.by);
            origin.seal = self.string("session.origin.seal", false, &origin.seal);
        }
        Ok(())
    }

    /// # Errors
    /// If what is left is no record any more.
    pub fn record(&mut self, record: &mut Record) -> Result<()> {
        self.threads.learn(&record.trial.workload);
        let is_recorded = Threads::are_of(&record.trial.workload);
        if !self.choice.host {
            self.without_facts(record);
        }
        let trial = &record.trial;
        let mut clean = model::Trial {
            experiment: self.string("trial.experiment", false, &trial.experiment),
            contestant: self.contestant(&trial.contestant)?,
            workload: self.shared_workload(&trial.workload)?,
            machine: self.machine(&trial.machine)?,
            ..trial.clone()
        };
        self.string("trial.backend", false, trial.backend.word());
        if self.choice.own_identities && clean != *trial {
            clean.known_as = model::trial::KnownAs(Some(trial.id()));
        }
        record.trial = clean;
        let was = &record.outcome;
        let outcome = self.once(|cleaner| &mut cleaner.outcomes, "outcome", was, is_recorded)?;
        record.outcome = (*outcome).clone();
        self.provenance(&mut record.provenance, is_recorded)?;
        self.measured(&mut record.measured, is_recorded);
        if let Some(trace) = &mut record.trace {
            let is_live = record.trial.backend.uses_running_kernel();
            self.trace(trace, is_recorded, is_live);
        }
        Ok(())
    }

    fn contestant(&mut self, contestant: &Contestant) -> Result<Shared<Contestant>> {
        self.once(|cleaner| &mut cleaner.contestants, "contestant", contestant, false)
    }

    /// # Errors
    /// If what is left is no workload any more.
    pub fn workload(&mut self, workload: &Workload) -> Result<Workload> {
        Ok((*self.shared_workload(workload)?).clone())
    }

    fn shared_workload(&mut self, workload: &Workload) -> Result<Shared<Workload>> {
        self.threads.learn(workload);
        let is_recorded = Threads::are_of(workload);
        self.once(|cleaner| &mut cleaner.workloads, "workload", workload, is_recorded)
    }

    fn machine(&mut self, machine: &Machine) -> Result<Shared<Machine>> {
        self.once(|cleaner| &mut cleaner.machines, "machine", machine, false)
    }

    /// Trials of one boot have the same, except for these numbers.
    fn provenance(&mut self, provenance: &mut Provenance, is_recorded: bool) -> Result<()> {
        let Provenance { started_unix_s, wall_ms, boot_position, .. } = *provenance;
        (provenance.started_unix_s, provenance.wall_ms, provenance.boot_position) = (0, 0, 0);
        let boot_id = std::mem::take(&mut provenance.boot_id);
        let boot_id = self.string("provenance.boot_id", is_recorded, &boot_id);
        let of = &*provenance;
        let clean = self.once(|cleaner| &mut cleaner.provenances, "provenance", of, is_recorded)?;
        *provenance =
            Provenance { started_unix_s, wall_ms, boot_position, boot_id, ..(*clean).clone() };
        Ok(())
    }

    fn measured(&mut self, measured: &mut Measured, is_recorded: bool) {
        let mut put =
            |path: &str, text: &mut Name| *text = self.string(path, is_recorded, text).into();
        for metric in &mut measured.metrics {
            put("metric.name", &mut metric.name);
            put("metric.group", &mut metric.group);
            metric.missing.iter_mut().for_each(|why| put("metric.missing", why));
        }
        for histogram in &mut measured.histograms {
            put("histogram.name", &mut histogram.name);
            put("histogram.group", &mut histogram.group);
        }
        for series in &mut measured.series {
            put("series.name", &mut series.name);
            series.missing.iter_mut().for_each(|why| put("series.missing", why));
        }
        if is_recorded {
            measured.sort();
        }
    }

    fn trace(&mut self, trace: &mut Trace, is_recorded: bool, is_live: bool) {
        for task in trace.tasks.iter_mut().filter(|task| task.pid != 0) {
            if is_live && task.group.is_empty() && !self.choice.thread_names {
                task.comm = self.threads.anonymous(&task.comm);
                self.left_out.insert(facts::TASKS);
            }
            task.comm = self.string("trace.tasks.comm", is_recorded, &task.comm);
            task.group = self.string("trace.tasks.group", is_recorded, &task.group);
        }
        for event in &mut trace.events {
            if let model::trace::What::Switch { prev_state, .. } = &mut event.what {
                *prev_state = self.string("trace.events.prev_state", false, prev_state);
            }
        }
    }

    /// Cleans a part of a record that many have.
    fn once<T>(
        &mut self,
        memo: impl Fn(&mut Cleaner) -> &mut Memo<T>,
        path: &str,
        value: &T,
        is_recorded: bool,
    ) -> Result<Shared<T>>
    where
        T: Clone + PartialEq + Serialize + DeserializeOwned,
    {
        if let Some(known) = memo(self).get(value, is_recorded) {
            return Ok(known);
        }
        let clean = Shared::from(self.cleaned(path, value, is_recorded)?);
        memo(self).keep(value, is_recorded, &clean);
        Ok(clean)
    }

    fn cleaned<T>(&mut self, path: &str, value: &T, is_recorded: bool) -> Result<T>
    where
        T: Serialize + DeserializeOwned,
    {
        let mut json = serde_json::to_value(value)?;
        self.walk(path, is_recorded, &mut json);
        Ok(serde_json::from_value(json)?)
    }

    fn walk(&mut self, path: &str, is_recorded: bool, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.string(path, is_recorded, text),
            Value::Array(list) => {
                list.iter_mut().for_each(|value| self.walk(path, is_recorded, value));
            }
            Value::Object(map) => {
                let key_path = format!("{path}.#");
                let is_map = kind_of(&key_path).is_some();
                let cell = map.get("cell").and_then(Value::as_str);
                let is_recorded = is_recorded || cell.is_some_and(|cell| self.threads.play(cell));
                for (key, mut value) in std::mem::take(map) {
                    let (key, path) = match (is_map, key.as_str()) {
                        (true, _) => {
                            (self.string(&key_path, is_recorded, &key), format!("{path}.*"))
                        }
                        (false, "steps") => (key, "steps".to_owned()),
                        // The file that stands for a program.
                        (false, "in_simulator") => (key, path.to_owned()),
                        (false, name) => {
                            let path = format!("{path}.{name}");
                            (key, path)
                        }
                    };
                    self.walk(&path, is_recorded, &mut value);
                    map.insert(key, value);
                }
            }
            _ => {}
        }
    }

    /// What is left of the text at this place; all texts pass here.
    fn string(&mut self, path: &str, is_recorded: bool, text: &str) -> String {
        let Some(kind) = kind_of(path) else { return HIDDEN.into() };
        let clean = self.ruled(KINDS[kind].rule, is_recorded, text);
        let texts = self.leaving.entry(kind).or_default();
        if !clean.is_empty() && !texts.contains(&clean) {
            texts.insert(clean.clone());
        }
        clean
    }

    fn ruled(&mut self, rule: Rule, is_recorded: bool, text: &str) -> String {
        let is_recorded = is_recorded && !self.choice.thread_names;
        let named = match (rule, text.split_once(' ')) {
            (Rule::Group, _) if is_recorded => self.threads.group(text),
            (Rule::Told, _) if is_recorded => self.threads.text(text),
            (Rule::Measure, Some((name, group))) if is_recorded => {
                format!("{name} {}", self.threads.group(group))
            }
            _ => text.to_owned(),
        };
        if named != text {
            self.left_out.insert(facts::THREADS);
        }
        if self.choice.host {
            return named;
        }
        if rule == Rule::Tree {
            self.left_out.insert(CONTROL_GROUPS);
            return self.names.tree(&named);
        }
        if spec::assets::is_builtin_text(&named) {
            return named;
        }
        let clean = match rule {
            Rule::About if super::imports::is_about(&named) => named.clone(),
            Rule::About => String::new(),
            Rule::Name if named.contains('/') => self.names.unique(&named, self.owner.file(&named)),
            Rule::File => self.owner.file(&named),
            Rule::Command => self.owner.command(&named),
            Rule::Arguments if !named.contains(char::is_whitespace) => self.owner.argument(&named),
            _ => self.owner.text(&named),
        };
        if clean != named {
            self.left_out.insert(if rule == Rule::About { DESCRIPTIONS } else { FOLDERS });
        }
        clean
    }
}
