// SPDX-License-Identifier: GPL-2.0-only
//! The smallest experiment: one task runs for a millisecond under each scheduler. It shows whether
//! a scheduler, or a backend, works at all.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use compile::Source;
use model::{Backend, Contestant, Experiment, SchedulerChoice, Step, TaskGroup, Workload};
use vm::kernels::Kernel;

use crate::planned_experiment::host_cpus;

/// The experiment with these schedulers on one CPU; on the newest kernel if none is named.
pub fn experiment(
    sources: &[Source],
    backend: Backend,
    kernel: Option<&Kernel>,
) -> Result<Experiment> {
    let task = TaskGroup::once("task", vec![Step::RunUs(1000)]);
    let workload = Workload { name: "load".into(), tasks: vec![task], ..Workload::default() };
    let contestant = |source: &Source| Contestant {
        name: source.name.clone(),
        kernel: kernel.map(|kernel| kernel.name.clone()),
        scheduler: SchedulerChoice::File {
            file: source.path.clone(),
            sha256: source.sha256.clone(),
            knobs: BTreeMap::new(),
        },
    };
    Ok(Experiment {
        name: "check".into(),
        question: "Does every scheduler load?".into(),
        backends: vec![backend],
        contestants: sources.iter().map(contestant).collect(),
        workloads: vec![workload],
        machines: vec![spec::machine::load("uniprocessor", Path::new(""), host_cpus())?],
        blocks: 1,
        trials_per_boot: 1,
        timeout_ms: 60_000,
        probes: true,
        ..Experiment::default()
    })
}
