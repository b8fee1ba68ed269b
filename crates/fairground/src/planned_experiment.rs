// SPDX-License-Identifier: GPL-2.0-only
//! From names and options to trials: an experiment is read, then planned.
//!
//! ```text
//! PlannedExperiment::read(name, overrides, seed) ─► spec ─► plan ─► PlannedExperiment
//! ```

use std::cell::RefCell;
use std::path::Path;
use std::thread;

use model::{Backend, Contestant, Experiment, Seed, Trial};

use spec::experiment::ResolvedExperiment;
use spec::plan;
use spec::relations::Relations;
use spec::{Host, Overrides, SpecError};

use crate::execution::objects::Sources;

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
    /// The seed that the trials were planned with.
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
        let (resolved, sources) = resolve(name, overrides)?;
        let ResolvedExperiment { experiment, notes, relations } = resolved;
        let trials = plan::plan(&experiment, seed);
        Ok(PlannedExperiment { experiment, sources, notes, relations, seed, trials })
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

    /// The plan of the experiment as it is now.
    pub fn replanned(mut self) -> PlannedExperiment {
        self.trials = plan::plan(&self.experiment, self.seed);
        self
    }
}

/// Reads an experiment exactly as its file has it.
pub fn experiment_of_file(name: &str) -> Result<Experiment, SpecError> {
    Ok(resolve(Some(name), &Overrides::default())?.0.experiment)
}

pub fn experiment_on(name: &str, backend: Backend) -> Result<Experiment, SpecError> {
    let overrides = Overrides { on: vec![backend], ..Overrides::default() };
    Ok(resolve(Some(name), &overrides)?.0.experiment)
}

fn resolve(
    name: Option<&str>,
    overrides: &Overrides,
) -> Result<(ResolvedExperiment, Sources), SpecError> {
    with_sources(|host| match name {
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
    with_sources(|host| spec::contestant::from_option(option, host))
}

/// Logical CPUs of this machine; 1 where the kernel does not say.
pub fn host_cpus() -> u32 {
    thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32)
}

/// Lets `read` look schedulers up, and returns the texts that it has found.
fn with_sources<Read>(
    read: impl FnOnce(&Host<'_>) -> Result<Read, SpecError>,
) -> Result<(Read, Sources), SpecError> {
    let sources = RefCell::new(Sources::new());
    let resolve = |file: &str, base: &Path| {
        let source = compile::resolve(file, base).map_err(|error| error.to_string())?;
        let found = (source.name.clone(), source.sha256.clone());
        sources.borrow_mut().insert(source.sha256.clone(), source);
        Ok(found)
    };
    let resolved = read(&Host { cpus: host_cpus(), resolve: &resolve })?;
    Ok((resolved, sources.into_inner()))
}
