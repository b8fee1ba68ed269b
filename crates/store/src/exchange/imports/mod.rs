// SPDX-License-Identifier: GPL-2.0-only
//! Results of other programs → records, so that they can be compared with ours.
//!
//! ```text
//! text ─► format (from its content or as told) ─► records of the file ─► labelled records ─► store
//! ```
//!
//! [`formats_table`] has a row for each format: how it is recognised, what it measures, how it is
//! read. A reader that is not sure returns an error with its line. The scheduler that a file names
//! is a claim: no record made here says that it was verified.
//!
//! What is not here: reading files and the store, which the verb does.

mod formats_table;
mod mangohud;
mod phoronix;
mod programs;
mod schbench;

use std::collections::BTreeMap;

use model::metric::PROGRAM;
use model::{
    Backend, Contestant, Experiment, Machine, Metric, Outcome, Provenance, ReadFault, Record,
    SchedulerChoice, Seed, Trial, Workload,
};
use serde_json::Value;

use formats_table::FORMATS;

/// Every crate of the workspace has the program's version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub struct Format {
    /// Its name for `--as`.
    pub name: &'static str,
    /// Whether a text looks like it, even if it is cut off.
    is: fn(&str) -> bool,
    /// What is read, for who has something else.
    wanted: &'static str,
    /// What its workload does, in a sentence.
    about: &'static str,
    headlines: &'static [&'static str],
    read: fn(&Format, &str) -> Result<Vec<Record>, ReadFault>,
}

/// The formats' names, sorted.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    FORMATS.iter().map(|format| format.name)
}

/// Whether a text describes the workload of one of the formats.
pub fn is_about(text: &str) -> bool {
    FORMATS.iter().any(|format| format.about == text)
}

pub fn named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Whether a text looks like any format.
pub fn is_any(text: &str) -> bool {
    FORMATS.iter().any(|format| (format.is)(text))
}

/// The only format that a text looks like.
///
/// # Errors
/// The text looks like none, or like several.
pub fn guessed(text: &str) -> Result<&'static Format, ReadFault> {
    let alike: Vec<&Format> = FORMATS.iter().filter(|format| (format.is)(text)).collect();
    match alike.as_slice() {
        [format] => Ok(format),
        [] => {
            let known = names().collect::<Vec<_>>().join(", ");
            Err(format!("in none of the known formats: {known}").into())
        }
        several => {
            let names: Vec<&str> = several.iter().map(|format| format.name).collect();
            Err(format!("could be {}; say which with --as", names.join(" or ")).into())
        }
    }
}

impl Format {
    /// The records in a text of this format; at least one.
    ///
    /// # Errors
    /// If a part of the text is not understood, or it has no trial.
    pub fn read(&self, text: &str) -> Result<Vec<Record>, ReadFault> {
        let records = (self.read)(self, text);
        let records = records.and_then(|records| {
            if records.is_empty() { Err("there is no result in it".into()) } else { Ok(records) }
        });
        records.map_err(|fault| {
            if (self.is)(text) {
                return fault;
            }
            ReadFault {
                message: format!("{}; what is read is {}", fault.message, self.wanted),
                ..fault
            }
        })
    }

    /// A record without measures, of a scheduler that the file does not name.
    fn record(&self, workload: &str) -> Record {
        let workload = Workload {
            name: workload.into(),
            about: self.about.into(),
            headline: self.headlines.iter().map(|name| format!("{name} {PROGRAM}")).collect(),
            ..Workload::default()
        };
        let trial = Trial {
            backend: Backend::Imported,
            contestant: claimed("unnamed").into(),
            workload: workload.into(),
            machine: Machine { name: "unknown".into(), ..Machine::default() }.into(),
            seed: Seed(0),
            timeout_ms: 0,
            probes: false,
            ..Trial::default()
        };
        Record::without_measurement(trial, Outcome::Ok, Provenance::default())
    }
}

fn claimed(name: &str) -> Contestant {
    let scheduler = SchedulerChoice::Claimed { name: name.into() };
    Contestant { name: name.into(), kernel: None, scheduler, stands_for_kernel: false }
}

fn add_number(record: &mut Record, name: &str, value: f64) {
    record.measured.metrics.push(Metric::number(name, PROGRAM, value));
}

/// A text in a JSON object; empty when there is none.
fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[derive(Clone, Debug)]
pub struct ImportedFile {
    pub name: String,
    pub sha256: String,
    pub records: Vec<Record>,
}

#[derive(Clone, Debug, Default)]
pub struct Labels {
    pub experiment: String,
    /// The contestant, instead of what the files say.
    pub scheduler: Option<String>,
    pub machine: Option<String>,
}

/// The records of imported files with their labels. A file is a level of replication of its own,
/// because it does not say whether there was a boot between its trials.
pub fn labelled(files: &[ImportedFile], labels: &Labels) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let mut blocks: BTreeMap<(String, String), u32> = BTreeMap::new();
    for (boot, file) in (0..).zip(files) {
        for record in &file.records {
            let Record { mut trial, outcome, mut measured, mut provenance, trace } = record.clone();
            trial.experiment.clone_from(&labels.experiment);
            if let Some(scheduler) = &labels.scheduler {
                trial.contestant = claimed(scheduler).into();
            }
            if let Some(machine) = &labels.machine {
                trial.machine.name.clone_from(machine);
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
            records.push(Record { trial, outcome, measured, provenance, trace });
        }
    }
    records
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_known_by_its_parts_and_not_by_its_spaces() {
        let name_of = |text: &str| guessed(text).ok().map(|format| format.name);
        assert_eq!(name_of(r#"{"cpu":{"0":{"histogram":{}}}}"#), Some("jitterdebugger"));
        assert_eq!(name_of(r#"{"cpu" : {"0" : {"histogram" : {}}}}"#), Some("jitterdebugger"));
        let cyclictest = r#"{"cmdline": "cyclictest", "num_threads": 1,
            "thread": {"0": {"histogram": {}, "cpu": 0}}}"#;
        assert_eq!(name_of(cyclictest), Some("cyclictest"));
        assert_eq!(name_of("os,cpu\nDebian,x\nfps,frametime,cpu_load\n"), Some("mangohud"));
        assert_eq!(name_of("a line that mentions fps,frametime, in its midst\n"), None);
    }
}
