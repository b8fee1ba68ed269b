// SPDX-License-Identifier: GPL-2.0-only
//! Runs → records and the experiment that they belong to.

use std::collections::BTreeMap;

use model::trial::SCHEMA;
use model::{
    Backend, Contestant, Experiment, Machine, Provenance, Record, SchedulerChoice, Seed, Trial,
    Workload,
};

use super::Run;

/// Every crate of the workspace has the program's version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a scheduler is called when neither its file nor the user names it.
const UNNAMED: &str = "unnamed";

/// What a machine is called when the user does not name it.
const UNKNOWN: &str = "unknown";

/// A file that was read.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// SHA-256 of its content.
    pub sha256: String,
    /// Its runs.
    pub runs: Vec<Run>,
}

/// What the user says about the files.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// The experiment that the records belong to.
    pub experiment: String,
    /// The contestant, instead of what the files say.
    pub scheduler: Option<String>,
    /// The machine.
    pub machine: Option<String>,
}

/// The records of files with their runs. A file is a level of replication of its own: nobody knows
/// whether there was a boot between its runs.
pub fn records(files: &[Source], labels: &Labels) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let mut repeats: BTreeMap<(String, String), u32> = BTreeMap::new();
    for (boot, file) in files.iter().enumerate() {
        for run in &file.runs {
            let mut trial = trial(run, labels);
            let key = (trial.contestant.name.clone(), trial.workload.cell());
            let block = repeats.entry(key).or_default();
            (trial.block, trial.boot, trial.position) = (*block, boot as u32, records.len() as u32);
            *block += 1;
            let mut measured = run.measured.clone();
            measured.sort();
            let (outcome, provenance) = (run.outcome.clone(), provenance(run, file));
            records.push(Record { trial, outcome, measured, provenance, trace: None });
        }
    }
    records
}

fn trial(run: &Run, labels: &Labels) -> Trial {
    let own = Some(run.contestant.clone()).filter(|name| !name.is_empty());
    let name = labels.scheduler.clone().or(own).unwrap_or_else(|| UNNAMED.into());
    let scheduler = SchedulerChoice::Claimed { name: name.clone() };
    let machine = labels.machine.clone().unwrap_or_else(|| UNKNOWN.into());
    Trial {
        schema: SCHEMA,
        experiment: labels.experiment.clone(),
        backend: Backend::Imported,
        contestant: Contestant { name, kernel: None, scheduler },
        workload: Workload {
            name: run.workload.clone(),
            about: run.about.clone(),
            parameters: run.parameters.clone(),
            headline: run.headline.clone(),
            ..Workload::default()
        },
        machine: Machine { name: machine, cpus: run.cpus, ..Machine::default() },
        seed: Seed(0),
        block: 0,
        boot: 0,
        position: 0,
        timeout_ms: 0,
        probes: false,
        trace: false,
    }
}

fn provenance(run: &Run, file: &Source) -> Provenance {
    let origin = format!("imported from {}; which scheduler ran was not verified", file.name);
    Provenance {
        fairground: VERSION.into(),
        kernel_release: run.kernel.clone(),
        cpu_model: run.processor.clone(),
        cpus: run.cpus,
        // The same file is the same boot, whenever it is imported.
        boot_id: format!("file {}", &file.sha256[..12]),
        probes: "none: imported".into(),
        programs: run.programs.clone(),
        notes: std::iter::once(origin).chain(run.notes.iter().cloned()).collect(),
        ..Provenance::default()
    }
}

/// The experiment that imported records answer. `beside` is one that is in the store already: its
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
        blocks: 0,
        runs_per_boot: 1,
        timeout_ms: 0,
        trace: Vec::new(),
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
