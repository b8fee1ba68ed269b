// SPDX-License-Identifier: GPL-2.0-only
//! Imported trials → records and their experiment.

use std::collections::BTreeMap;

use model::trial::SCHEMA;
use model::{
    Backend, Contestant, Experiment, Machine, Provenance, Record, SchedulerChoice, Seed, Trial,
    Workload,
};

use super::ImportedTrial;

/// Every crate of the workspace has the program's version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The contestant's name when neither the file nor the user gives one.
const UNNAMED: &str = "unnamed";

/// The machine's name when the user does not give one.
const UNKNOWN: &str = "unknown";

/// A file that was read.
#[derive(Clone, Debug)]
pub struct ImportedFile {
    pub name: String,
    pub sha256: String,
    pub trials: Vec<ImportedTrial>,
}

/// The user's labels for the files.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    pub experiment: String,
    /// The contestant, instead of what the files say.
    pub scheduler: Option<String>,
    pub machine: Option<String>,
}

/// The records of imported files. A file is a level of replication of its own, because it does not
/// say whether there was a boot between its trials.
pub fn records(files: &[ImportedFile], labels: &Labels) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let mut repeats: BTreeMap<(String, String), u32> = BTreeMap::new();
    for (boot, file) in files.iter().enumerate() {
        for imported in &file.trials {
            let mut trial = trial(imported, labels);
            let key = (trial.contestant.name.clone(), trial.workload.cell());
            let block = repeats.entry(key).or_default();
            (trial.block, trial.boot, trial.position) = (*block, boot as u32, records.len() as u32);
            *block += 1;
            let mut measured = imported.measured.clone();
            measured.sort();
            let (outcome, provenance) = (imported.outcome.clone(), provenance(imported, file));
            records.push(Record { trial, outcome, measured, provenance, trace: None });
        }
    }
    records
}

fn trial(imported: &ImportedTrial, labels: &Labels) -> Trial {
    let own = Some(imported.contestant.clone()).filter(|name| !name.is_empty());
    let name = labels.scheduler.clone().or(own).unwrap_or_else(|| UNNAMED.into());
    let scheduler = SchedulerChoice::Claimed { name: name.clone() };
    let machine = labels.machine.clone().unwrap_or_else(|| UNKNOWN.into());
    Trial {
        schema: SCHEMA,
        experiment: labels.experiment.clone(),
        backend: Backend::Imported,
        contestant: Contestant { name, kernel: None, scheduler },
        workload: imported.workload.clone(),
        machine: Machine { name: machine, cpus: imported.provenance.cpus, ..Machine::default() },
        seed: Seed(0),
        block: 0,
        boot: 0,
        position: 0,
        timeout_ms: 0,
        probes: false,
        trace: false,
    }
}

fn provenance(imported: &ImportedTrial, file: &ImportedFile) -> Provenance {
    let origin = format!("imported from {}; which scheduler ran was not verified", file.name);
    let mut provenance = imported.provenance.clone();
    provenance.fairground = VERSION.into();
    // The same file is the same boot, whenever it is imported.
    provenance.boot_id = format!("file {}", &file.sha256[..12]);
    provenance.probes = "none: imported".into();
    provenance.notes.insert(0, origin);
    provenance
}

/// The experiment that imported records answer. `beside` is one that is already in the store: its
/// baseline and its contestants come first.
pub fn experiment(records: &[Record], beside: Option<&Experiment>) -> Experiment {
    let mut experiment = beside.cloned().unwrap_or_else(|| Experiment {
        name: records[0].trial.experiment.clone(),
        question: "What do the imported results say?".into(),
        backends: Vec::new(),
        baseline: records[0].trial.contestant.name.clone(),
        contestants: Vec::new(),
        workloads: Vec::new(),
        scaled: Vec::new(),
        machines: Vec::new(),
        only_on: BTreeMap::new(),
        cells_on: BTreeMap::new(),
        blocks: 0,
        trials_per_boot: 1,
        timeout_ms: 0,
        trace: Vec::new(),
        trace_every_trial: false,
        probes: true,
        design: Default::default(),
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
