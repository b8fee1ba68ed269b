// SPDX-License-Identifier: GPL-2.0-only
//! From names and options to trials: an experiment is read, then planned.
//!
//! ```text
//! PlannedExperiment::read(name, overrides, seed) ─► spec ─► plan ─► PlannedExperiment
//! ```

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::Result;
use compile::Source;
use model::{
    Backend, Contestant, Experiment, SchedulerChoice, Seed, Step, TaskGroup, Trial, Workload,
};
use spec::contestants::Relations;
use spec::contestants::RunningKernel;
use spec::experiment::ResolvedExperiment;
use spec::{Host, Overrides, SpecError, plan};
use vm::kernels::Kernel;

use crate::advice::host;
use crate::execution::objects::{self, Sources};
use crate::{command_line, today};

/// An experiment together with its plan and the texts of its schedulers: all that is needed to
/// measure it anywhere.
#[derive(Clone, Debug)]
pub struct PlannedExperiment {
    pub experiment: Experiment,
    /// The texts of its scheduler files, read once: what is planned is what is compiled, even if a
    /// file changes in between.
    pub sources: Sources,
    /// What was read and left out, for the user to know.
    pub notes: Vec<String>,
    /// Which of its contestants belong together.
    pub relations: Relations,
    /// The places that name its contestants, for messages.
    pub origins: BTreeMap<String, SpecError>,
    pub seed: Seed,
    /// The trials in the order in which they run.
    pub trials: Vec<Trial>,
}

impl PlannedExperiment {
    /// Reads the experiment of this name or file, changes it as the options say, and lays out its
    /// trials. Without a name the options alone describe it. The seed decides the order of the
    /// trials and their arrivals.
    pub fn read(
        name: Option<&str>,
        overrides: &Overrides,
        seed: Seed,
    ) -> Result<PlannedExperiment, SpecError> {
        PlannedExperiment::read_on(name, overrides, seed, Some(&host::running_kernel))
    }

    /// The same on another kernel, or without a look at any.
    pub fn read_on(
        name: Option<&str>,
        overrides: &Overrides,
        seed: Seed,
        running: Running<'_>,
    ) -> Result<PlannedExperiment, SpecError> {
        let (resolved, sources) = resolve(name, overrides, running)?;
        let ResolvedExperiment { experiment, notes, relations, origins } = resolved;
        let trials = plan::plan(&experiment, seed);
        Ok(PlannedExperiment { experiment, sources, notes, relations, origins, seed, trials })
    }

    /// The plan's identity: equal plans have equal trials in equal order.
    pub fn plan_id(&self) -> String {
        plan_id(&self.trials)
    }

    /// The same experiment with another number of blocks. The shorter plan is the beginning of the
    /// longer one.
    pub fn with_blocks(mut self, blocks: u32) -> PlannedExperiment {
        self.experiment.blocks = blocks;
        self.replanned()
    }

    /// The same experiment with a trace of every trial, not only of the first block's.
    pub fn with_traces(mut self) -> PlannedExperiment {
        self.experiment.trace_every_trial = true;
        self.replanned()
    }

    pub fn replanned(mut self) -> PlannedExperiment {
        self.trials = plan::plan(&self.experiment, self.seed);
        self
    }
}

/// Reads an experiment exactly as its file has it, to look at it.
pub fn experiment_of_file(name: &str) -> Result<Experiment, SpecError> {
    Ok(resolve(Some(name), &Overrides::default(), None)?.0.experiment)
}

/// Reads an experiment and keeps one of its backends, to look at it.
pub fn experiment_on(name: &str, backend: Backend) -> Result<Experiment, SpecError> {
    let overrides = Overrides { on: vec![backend], ..Overrides::default() };
    Ok(resolve(Some(name), &overrides, None)?.0.experiment)
}

/// How to look at the running kernel; `None` if nothing is to run on it.
pub type Running<'a> = Option<&'a dyn Fn() -> RunningKernel>;

fn resolve(
    name: Option<&str>,
    overrides: &Overrides,
    running: Running<'_>,
) -> Result<(ResolvedExperiment, Sources), SpecError> {
    with_sources(running, |host| match name {
        Some(name) => spec::experiment(name, overrides, host),
        None => spec::adhoc(overrides, host),
    })
}

fn plan_id(trials: &[Trial]) -> String {
    let ids: Vec<String> = trials.iter().map(Trial::id).collect();
    model::trial::hex16(&ids)
}

/// The trials of an experiment whose plan has this identity; `None` if this program plans
/// otherwise.
pub fn plan_of(experiment: &Experiment, seed: Seed, wanted: &str) -> Option<Vec<Trial>> {
    if plan::size(experiment) > plan::TRIALS_MAX {
        return None;
    }
    let trials = plan::plan(experiment, seed);
    (plan_id(&trials) == wanted).then_some(trials)
}

/// The contestant that a `--scheduler` option describes, and the text of its file.
pub fn contestant(option: &str) -> Result<(Contestant, Sources), SpecError> {
    with_sources(None, |host| spec::contestant::from_option(option, host))
}

/// Logical CPUs of this machine; 1 where the kernel does not say.
pub fn host_cpus() -> u32 {
    thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32)
}

/// Lets `read` look schedulers and their knobs up, and returns the texts that it has found.
fn with_sources<Read>(
    running: Running<'_>,
    read: impl FnOnce(&Host<'_>) -> Result<Read, SpecError>,
) -> Result<(Read, Sources), SpecError> {
    let sources = RefCell::new(Sources::new());
    let resolve = |file: &str, base: &Path| {
        let source = objects::named(file, base)?;
        let found = (source.name.clone(), source.sha256.clone());
        sources.borrow_mut().insert(source.sha256.clone(), source);
        Ok(found)
    };
    let knobs = |sha256: &str| {
        let compiled = match sources.borrow().get(sha256) {
            Some(source) => objects::compiled(source).map_err(|error| error.to_string())?,
            None => return Ok(Vec::new()),
        };
        live::loader::knobs(&compiled.object).map_err(|error| error.message)
    };
    let is_installed = |program: &str| vm::installed::find(program).is_some();
    let host = Host {
        cpus: host_cpus(),
        resolve: &resolve,
        knobs: &knobs,
        kept: &today::kept,
        is_installed: &is_installed,
        running,
    };
    let resolved = read(&host)?;
    Ok((resolved, sources.into_inner()))
}

#[derive(clap::Args, Clone, Debug, Default)]
pub struct ExperimentOptions {
    /// An experiment's name or file; without it --scheduler and --workload describe one
    pub experiment: Option<String>,
    /// The only source of randomness: order of trials, start phases
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub overrides: Overrides,
}

impl ExperimentOptions {
    /// Reads the experiment with everything that it refers to, and plans its trials.
    pub fn plan(&self) -> Result<PlannedExperiment> {
        let name = self.experiment.as_deref();
        Ok(PlannedExperiment::read(name, &self.overrides, Seed(self.seed))?)
    }

    /// The same with these workload files instead of the workloads, on these backends.
    pub fn plan_of_files(&self, on: Vec<Backend>, files: &[PathBuf]) -> Result<PlannedExperiment> {
        let quoted = |file: &PathBuf| command_line::quoted(&file.display().to_string());
        let workloads = files.iter().map(quoted).collect();
        let overrides = Overrides { on, workloads, ..self.overrides.clone() };
        ExperimentOptions { overrides, ..self.clone() }.plan()
    }
}

/// What the side file of a scheduler's file sets, if there is a good one.
fn side_file(source: &Source) -> model::Knobs {
    let found = spec::settings::beside(Path::new(&source.path));
    found.ok().flatten().map(|found| found.values).unwrap_or_default()
}

/// One task runs for a millisecond under each of these schedulers, on one CPU, or on two if the
/// user space of one refuses that; on the newest kernel if none is named.
pub fn smallest_experiment(
    sources: &[Source],
    backend: Backend,
    kernel: Option<&Kernel>,
) -> Result<Experiment> {
    let task = TaskGroup::once("task", vec![Step::RunUs(1000)]);
    let workload = Workload { name: "load".into(), tasks: vec![task], ..Workload::default() };
    let contestant = |source: &Source| {
        let scheduler = match spec::today::named(&source.name) {
            Some(_) => contestant(&source.name)?.0.scheduler,
            None => SchedulerChoice::File {
                file: source.path.clone(),
                sha256: source.sha256.clone(),
                knobs: BTreeMap::new(),
                settings: side_file(source),
            },
        };
        let kernel = kernel.map(|kernel| kernel.name.clone());
        let name = source.name.clone();
        Ok(Contestant { name, kernel, scheduler, stands_for_kernel: false })
    };
    let machine = |name| spec::machine::load(name, Path::new(""), host_cpus());
    let mut experiment = Experiment {
        name: "check".into(),
        question: "Does every scheduler load?".into(),
        backends: vec![backend],
        contestants: sources.iter().map(contestant).collect::<Result<_>>()?,
        workloads: vec![workload],
        machines: vec![machine("uniprocessor")?],
        blocks: 1,
        trials_per_boot: 1,
        timeout_ms: 60_000,
        probes: true,
        ..Experiment::default()
    };
    if spec::capability::why_refused(&experiment).is_some() {
        experiment.machines = vec![machine("counted_2")?];
    }
    Ok(experiment)
}
