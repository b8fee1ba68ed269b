// SPDX-License-Identifier: GPL-2.0-only
//! Imported records as an experiment: which file, scheduler, machine and block each belongs to.
//!
//! Where a value stands in another program's result.

use std::collections::BTreeMap;

use model::{Backend, Experiment, Provenance, ReadFault, Record, Workload};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::Value;

use super::claimed;

/// Every crate of the workspace has the program's version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub struct ImportedFile {
    pub name: String,
    pub sha256: String,
    pub records: Vec<Record>,
}

/// What the user says of the files, instead of what they say.
pub struct Labels<'a> {
    pub experiment: &'a str,
    pub scheduler: Option<&'a str>,
    pub machine: Option<&'a str>,
}

/// The records of imported files with their labels. A file is a level of replication of its own,
/// because it does not say whether there was a boot between its trials.
///
/// # Errors
/// A result cannot be a record, such as a rate of 1e308.
pub fn labelled(files: &[ImportedFile], labels: &Labels) -> Result<Vec<Record>, String> {
    let mut records: Vec<Record> = Vec::new();
    let mut blocks: BTreeMap<(String, String), u32> = BTreeMap::new();
    for (boot, file) in (0..).zip(files) {
        for record in &file.records {
            let Record { mut trial, outcome, mut measured, mut provenance, trace } = record.clone();
            trial.experiment = labels.experiment.into();
            if let Some(scheduler) = labels.scheduler {
                trial.contestant = claimed(scheduler).into();
            }
            if let Some(machine) = labels.machine {
                trial.machine.name = machine.into();
            }
            trial.machine.cpus = provenance.cpus;
            let cell = (trial.contestant.name.clone(), trial.workload.cell());
            let block = blocks.entry(cell).or_default();
            trial.block = *block;
            *block += 1;
            trial.boot = boot;
            trial.position = records.len() as u32;
            measured.sort();
            add_origin(&mut provenance, file);
            let record = Record { trial, outcome, measured, provenance, trace };
            if let Some(fault) = record.fault() {
                let (file, workload) = (&file.name, &record.trial.workload.name);
                return Err(format!("{file}: {workload}: {fault}; nothing was imported"));
            }
            records.push(record);
        }
    }
    Ok(records)
}

fn add_origin(provenance: &mut Provenance, file: &ImportedFile) {
    provenance.fairground = VERSION.into();
    // The same file is the same boot, whenever it is imported.
    provenance.boot_id = format!("file {}", &file.sha256[..12]);
    provenance.probes = "none: imported".into();
    let name = file.name.rsplit('/').next().unwrap_or_default();
    let note = format!("imported from {name}; which scheduler ran was not verified");
    provenance.notes.insert(0, note);
}

/// The experiment that imported records answer. `beside` is one that is already in the store: its
/// baseline and its contestants come first.
pub fn experiment(records: &[Record], beside: Option<&Experiment>) -> Experiment {
    let mut experiment = beside.cloned().unwrap_or_else(|| Experiment {
        name: records[0].trial.experiment.clone(),
        question: "What do the imported results say?".into(),
        baseline: records[0].trial.contestant.name.clone(),
        trials_per_boot: 1,
        probes: true,
        ..Experiment::default()
    });
    if !experiment.backends.contains(&Backend::Imported) {
        experiment.backends.push(Backend::Imported);
    }
    for Record { trial, .. } in records {
        experiment.blocks = experiment.blocks.max(trial.block + 1);
        add(&mut experiment.contestants, &trial.contestant, |contestant| contestant.name.clone());
        add(&mut experiment.workloads, &trial.workload, Workload::cell);
        add(&mut experiment.machines, &trial.machine, |machine| machine.name.clone());
    }
    experiment
}

fn add<T: Clone>(list: &mut Vec<T>, item: &T, name: impl Fn(&T) -> String) {
    if !list.iter().any(|known| name(known) == name(item)) {
        list.push(item.clone());
    }
}

/// A JSON pointer, or a regular expression whose group is the value; its last match counts. `^` and
/// `$` mean the beginning and the end of a line.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub enum Place {
    Pointer(String),
    Pattern(Regex),
}

impl TryFrom<String> for Place {
    type Error = regex::Error;

    fn try_from(text: String) -> Result<Place, regex::Error> {
        if text.is_empty() || text.starts_with('/') {
            return Ok(Place::Pointer(text));
        }
        RegexBuilder::new(&text).multi_line(true).crlf(true).build().map(Place::Pattern)
    }
}

impl Place {
    pub fn is_in(&self, text: &str) -> bool {
        matches!(self, Place::Pattern(pattern) if pattern.is_match(text))
    }

    /// Where a pattern begins to match.
    pub fn starts(&self, text: &str) -> Vec<usize> {
        match self {
            Place::Pointer(_) => Vec::new(),
            Place::Pattern(pattern) => pattern.find_iter(text).map(|found| found.start()).collect(),
        }
    }

    /// How a message names it: a group `bogo_ops` is the file's `bogo-ops`.
    pub fn name(&self) -> String {
        match self {
            Place::Pointer(pointer) => pointer.trim_start_matches('/').replace('/', "."),
            Place::Pattern(pattern) => {
                let group = pattern.capture_names().flatten().next();
                group.map_or_else(|| pattern.to_string(), |group| group.replace('_', "-"))
            }
        }
    }
}

/// A part of a file: the whole, a command, or a trial.
#[derive(Clone)]
pub struct Part<'a> {
    pub text: &'a str,
    /// Its first line; 0 in JSON, whose values have none.
    pub line: usize,
    pub json: Value,
}

impl Part<'_> {
    /// The value at a place, and its line.
    pub fn find(&self, place: &Place) -> Option<(String, usize)> {
        match place {
            Place::Pointer(pointer) => match self.value(pointer)? {
                Value::Null => None,
                Value::String(text) => Some((text.clone(), self.line)),
                value => Some((value.to_string(), self.line)),
            },
            Place::Pattern(pattern) => {
                let group = pattern.captures_iter(self.text).last()?.get(1)?;
                let before = self.text[..group.start()].matches('\n').count();
                let line = if self.line == 0 { 0 } else { self.line + before };
                Some((group.as_str().to_owned(), line))
            }
        }
    }

    /// The value of a pointer; cyclictest writes some of its keys with a colon inside the quotes.
    pub fn value(&self, pointer: &str) -> Option<&Value> {
        self.json.pointer(pointer).or_else(|| self.json.pointer(&format!("{pointer}:")))
    }

    pub fn list(&self, pointer: &str) -> Option<&Vec<Value>> {
        self.value(pointer)?.as_array().filter(|items| !items.is_empty())
    }

    pub fn with(&self, json: &Value) -> Self {
        Part { text: self.text, line: self.line, json: json.clone() }
    }
}

pub fn fault(line: usize, message: String) -> ReadFault {
    if line == 0 { message.into() } else { ReadFault::at_line(line, message) }
}
