// SPDX-License-Identifier: GPL-2.0-only
//! From names and options to trials: an experiment is read, then planned.
//!
//! ```text
//! Definition::read(name, overrides) ─► Definition ─► plan(seed) ─► PlannedExperiment
//! ```

use std::cell::RefCell;
use std::path::Path;
use std::thread;

use crate::execution::objects::Sources;
use model::{Backend, Contestant, Experiment, Seed, Trial};

use spec::experiment::ResolvedExperiment;
use spec::plan;
use spec::relations::Relations;
use spec::{Host, Overrides, SpecError};

/// An experiment as its file and the options describe it, without an order of trials.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The experiment, with everything that its file refers to.
    pub experiment: Experiment,
    /// The texts of its scheduler files, read once: what is planned is what is compiled, even if a
    /// file changes in between.
    pub sources: Sources,
    /// What was read and left out, for the user to know.
    pub notes: Vec<String>,
    /// Which of its contestants belong together.
    pub relations: Relations,
}

impl Definition {
    /// Reads the experiment of this name or file and changes it as the options say. Without a name
    /// the options alone describe it.
    ///
    /// # Errors
    /// What is wrong with a file or an option, its place, and what to write instead.
    pub fn read(name: Option<&str>, overrides: &Overrides) -> Result<Definition, SpecError> {
        let (resolved, sources) = with_sources(|host| match name {
            Some(name) => spec::experiment(name, overrides, host),
            None => spec::adhoc(overrides, host),
        })?;
        let ResolvedExperiment { experiment, notes, relations } = resolved;
        Ok(Definition { experiment, sources, notes, relations })
    }

    /// Reads an experiment exactly as its file has it.
    ///
    /// # Errors
    /// As for [`Definition::read`].
    pub fn of_file(name: &str) -> Result<Definition, SpecError> {
        Definition::read(Some(name), &Overrides::default())
    }

    /// Reads an experiment and keeps one of its backends.
    ///
    /// # Errors
    /// As for [`Definition::read`].
    pub fn on_backend(name: &str, backend: Backend) -> Result<Definition, SpecError> {
        let overrides = Overrides { on: vec![backend], ..Overrides::default() };
        Definition::read(Some(name), &overrides)
    }

    /// Lays out the trials; the seed decides their order and their arrivals.
    pub fn plan(self, seed: Seed) -> PlannedExperiment {
        let Definition { experiment, sources, notes, relations } = self;
        let trials = plan::plan(&experiment, seed);
        PlannedExperiment { experiment, sources, notes, relations, seed, trials }
    }
}

/// An experiment together with its plan and the texts of its schedulers: all that is needed to
/// measure it anywhere.
#[derive(Clone, Debug)]
pub struct PlannedExperiment {
    /// The experiment.
    pub experiment: Experiment,
    /// The texts of its scheduler files.
    pub sources: Sources,
    /// What was read and left out, for the user to know.
    pub notes: Vec<String>,
    /// Which of its contestants belong together.
    pub relations: Relations,
    /// The seed that the trials were planned with.
    pub seed: Seed,
    /// The plan: the trials in the order in which they run.
    pub trials: Vec<Trial>,
}

impl PlannedExperiment {
    /// The plan's identity: equal plans have equal trials in equal order.
    pub fn plan_id(&self) -> String {
        let ids: Vec<String> = self.trials.iter().map(Trial::id).collect();
        model::trial::hex16(&ids)
    }

    /// The same experiment with another number of blocks. The shorter plan is the beginning of the
    /// longer one.
    pub fn with_blocks(mut self, blocks: u32) -> PlannedExperiment {
        let probes = self.has_probes();
        self.experiment.blocks = blocks;
        self.trials = plan::plan(&self.experiment, self.seed);
        self.with_probes(probes)
    }

    /// The same plan, measured with probes or without.
    pub fn with_probes(mut self, probes: bool) -> PlannedExperiment {
        self.trials.iter_mut().for_each(|trial| trial.probes = probes);
        self
    }

    /// The same plan with a trace of every trial, not only of the first block's.
    pub fn with_traces(mut self) -> PlannedExperiment {
        self.trials.iter_mut().for_each(|trial| trial.trace = true);
        self
    }

    /// The plan of the experiment as it is now.
    pub fn replanned(mut self) -> PlannedExperiment {
        self.trials = plan::plan(&self.experiment, self.seed);
        self
    }

    /// Whether every trial is measured with probes.
    pub fn has_probes(&self) -> bool {
        self.trials.iter().all(|trial| trial.probes)
    }
}

/// The trials of an experiment whose plan has this identity; `None` if this program plans
/// otherwise.
pub fn plan_of(experiment: &Experiment, seed: Seed, plan_id: &str) -> Option<Vec<Trial>> {
    if plan::size(experiment) > plan::TRIALS_MAX {
        return None;
    }
    let (sources, notes, relations) = Default::default();
    let (experiment, trials) = (experiment.clone(), plan::plan(experiment, seed));
    let planned = PlannedExperiment { experiment, sources, notes, relations, seed, trials };
    let without_probes = planned.clone().with_probes(false);
    let traced = planned.clone().with_traces();
    let same = [planned, without_probes, traced].into_iter().find(|one| one.plan_id() == plan_id);
    same.map(|planned| planned.trials)
}

/// The contestant that a `--scheduler` option describes, and the text of its file.
///
/// # Errors
/// Whatever is wrong with the option.
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
