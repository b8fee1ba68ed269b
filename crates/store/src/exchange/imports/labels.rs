// SPDX-License-Identifier: GPL-2.0-only
//! Imported records as an experiment: which file, scheduler, machine and block each belongs to.

use std::collections::BTreeMap;

use model::{Backend, Experiment, Provenance, Record, Workload};

use super::claimed;

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
pub fn labelled(files: Vec<ImportedFile>, labels: &Labels) -> Result<Vec<Record>, String> {
    let mut records: Vec<Record> = Vec::new();
    let mut blocks: BTreeMap<(String, String), u32> = BTreeMap::new();
    for (boot, ImportedFile { name, sha256, records: of_file }) in (0..).zip(files) {
        for mut record in of_file {
            let trial = &mut record.trial;
            trial.experiment = labels.experiment.into();
            if let Some(scheduler) = labels.scheduler {
                trial.contestant = claimed(scheduler).into();
            }
            if let Some(machine) = labels.machine {
                trial.machine.name = machine.into();
            }
            trial.machine.cpus = record.provenance.cpus;
            let cell = (trial.contestant.name.clone(), trial.workload.cell());
            let block = blocks.entry(cell).or_default();
            (trial.block, trial.boot, trial.position) = (*block, boot, records.len() as u32);
            *block += 1;
            record.measured.sort();
            add_origin(&mut record.provenance, &name, &sha256);
            if let Some(fault) = record.fault() {
                let workload = &record.trial.workload.name;
                return Err(format!("{name}: {workload}: {fault}; nothing was imported"));
            }
            records.push(record);
        }
    }
    Ok(records)
}

fn add_origin(provenance: &mut Provenance, file: &str, sha256: &str) {
    // Every crate of the workspace has the program's version.
    provenance.fairground = env!("CARGO_PKG_VERSION").into();
    // The same file is the same boot, whenever it is imported.
    provenance.boot_id = format!("file {}", &sha256[..12]);
    provenance.probes = "none: imported".into();
    let name = file.rsplit('/').next().unwrap_or_default();
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
