// SPDX-License-Identifier: GPL-2.0-only
//! What the command line asks: an experiment, changed by options, and a seed; the same for every
//! verb.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::thread;

use anyhow::Result;
use clap::ValueEnum;
use model::{Backend, Contestant, Experiment, Seed, Trial};

use crate::exit::bad_input;
use crate::run::objects::Sources;
use spec::experiment::Resolved;
use spec::plan;
use spec::{self, Host, Overrides, SpecError};

/// The backends that `--on` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// The simulator
    Sim,
    /// Real kernels in virtual machines
    Vm,
    /// The kernel that this machine runs
    Live,
}

impl On {
    /// The option for a backend; none for imported results, of which nothing can be asked.
    fn of(backend: Backend) -> Option<On> {
        match backend {
            Backend::Sim => Some(On::Sim),
            Backend::Vm => Some(On::Vm),
            Backend::Live => Some(On::Live),
            Backend::Imported => None,
        }
    }
}

impl From<On> for Backend {
    fn from(on: On) -> Backend {
        match on {
            On::Sim => Backend::Sim,
            On::Vm => Backend::Vm,
            On::Live => Backend::Live,
        }
    }
}

/// Backends by one option, the same for every verb that takes several.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Backends {
    /// Who answers, instead of all that would: sim, vm or live, or several: sim,vm
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "BACKEND",
        value_delimiter = ','
    )]
    pub on: Vec<On>,
}

impl Backends {
    /// Those that were named; none where all shall answer.
    pub fn named(&self) -> Vec<Backend> {
        self.on.iter().copied().map(Backend::from).collect()
    }
}

impl From<Backend> for Backends {
    fn from(one: Backend) -> Backends {
        Backends { on: On::of(one).into_iter().collect() }
    }
}

/// The options that decide which trials there are.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Question {
    /// An experiment's name or file; without it --scheduler and --workload make one up
    pub experiment: Option<String>,
    /// Who answers.
    #[command(flatten)]
    pub backends: Backends,
    /// The only source of chance: order of trials, start phases
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Add a scheduler: NAME, FILE.bpf.c, 'NAME knob=value', 'program:scx_lavd ARG', kernel:6.12,
    /// policy:rr:50
    #[arg(long = "scheduler", value_name = "SCHEDULER")]
    pub schedulers: Vec<String>,
    /// Take this workload instead of the experiment's: NAME, FILE, 'NAME parameter=value'
    #[arg(long = "workload", value_name = "WORKLOAD")]
    workloads: Vec<String>,
    /// Take this machine instead of the experiment's: NAME, FILE, or sim:NAME for one that only
    /// that backend has
    #[arg(long = "machine", value_name = "MACHINE")]
    machines: Vec<String>,
    /// The contestant that the others are compared with
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// Blocks: one pass over everything, with fresh boots
    #[arg(long, value_name = "N")]
    blocks: Option<u32>,
    /// Runs of each cell inside one boot
    #[arg(long, value_name = "N")]
    runs: Option<u32>,
    /// Time limit of a trial, seconds
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Keep an event trace of this cell's trials in the first block; of every cell's without a
    /// value
    #[arg(long, value_name = "CELL", num_args = 0..=1, require_equals = true,
          default_missing_value = "all")]
    trace: Vec<String>,
    /// Measure without probes, to see what they cost
    #[arg(long)]
    no_probes: bool,
    /// Run a plan that may prove nothing, without A/A trials; the report says so
    #[arg(long)]
    pub exploratory: bool,
    /// The verb judges its records by rules of its own, not by comparing contestants.
    #[arg(skip)]
    pub own_rules: bool,
}

/// The question with everything read and resolved.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The experiment.
    pub experiment: Experiment,
    /// The sources of its scheduler files.
    pub sources: Sources,
    /// What was read and left out, for the user to know.
    pub notes: Vec<String>,
    /// Which contestant stands for which other.
    pub pairs: BTreeMap<String, String>,
    /// The seed of the plan.
    pub seed: Seed,
    /// The plan.
    pub trials: Vec<Trial>,
}

impl Asked {
    /// The plan's identity: equal plans have equal trials in equal order.
    pub fn plan_id(&self) -> String {
        let ids: Vec<String> = self.trials.iter().map(Trial::id).collect();
        model::trial::hex16(&ids)
    }

    /// The same question with another number of blocks: the shorter plan is the longer one's
    /// beginning.
    pub fn with_blocks(mut self, blocks: u32) -> Asked {
        let probes = self.trials.iter().all(|trial| trial.probes);
        self.experiment.blocks = blocks;
        self.trials = plan::plan(&self.experiment, self.seed);
        self.trials.iter_mut().for_each(|trial| trial.probes = probes);
        self
    }
}

impl Question {
    /// An experiment as its file is.
    pub fn named(experiment: &str) -> Question {
        Question { experiment: Some(experiment.into()), seed: 1, ..Question::default() }
    }

    /// An experiment as its file is, on one backend, with other blocks if they are given.
    pub fn on(experiment: &str, on: Backend, seed: u64, blocks: Option<u32>) -> Question {
        Question {
            backends: on.into(),
            seed,
            blocks,
            own_rules: true,
            ..Question::named(experiment)
        }
    }

    /// Reads and resolves everything, and plans.
    ///
    /// # Errors
    /// Whatever is wrong with a file or an option, with its place and what to write instead.
    pub fn ask(&self) -> Result<Asked> {
        let read = with_sources(|host| match &self.experiment {
            Some(name) => spec::experiment(name, &self.overrides(), host),
            None => spec::adhoc(&self.overrides(), host),
        })?;
        let mut asked = asked(read, Seed(self.seed));
        asked.trials.iter_mut().for_each(|trial| trial.probes = !self.no_probes);
        Ok(asked)
    }

    fn overrides(&self) -> Overrides {
        Overrides {
            on: self.backends.named(),
            schedulers: self.schedulers.clone(),
            workloads: self.workloads.clone(),
            machines: self.machines.clone(),
            baseline: self.baseline.clone(),
            blocks: self.blocks,
            runs: self.runs,
            timeout_s: self.timeout,
            trace: self.trace.clone(),
            exploratory: self.exploratory,
        }
    }
}

/// A question with one trial: a scheduler under a workload.
///
/// # Errors
/// Whatever is wrong with one of the options.
pub fn single(
    on: On,
    scheduler: &str,
    workload: &str,
    machine: Option<&str>,
    seed: u64,
) -> Result<Asked> {
    let overrides = Overrides {
        on: vec![on.into()],
        schedulers: vec![scheduler.into()],
        workloads: vec![workload.into()],
        machines: machine.into_iter().map(str::to_owned).collect(),
        blocks: Some(1),
        runs: Some(1),
        ..Overrides::default()
    };
    let asked = asked(with_sources(|host| spec::adhoc(&overrides, host))?, Seed(seed));
    match asked.trials.len() {
        1 => Ok(asked),
        _ => Err(bad_input(format!("--workload '{workload}': more than one cell; choose one"))),
    }
}

/// A question that options alone describe; `shape` names it and changes what options cannot.
///
/// # Errors
/// Whatever is wrong with one of the options.
pub fn shaped(
    overrides: &Overrides,
    seed: Seed,
    shape: impl FnOnce(&mut Experiment),
) -> Result<Asked> {
    let (mut resolved, sources) = with_sources(|host| spec::adhoc(overrides, host))?;
    shape(&mut resolved.experiment);
    Ok(asked((resolved, sources), seed))
}

/// The contestant that a `--scheduler` option describes, and the source of its file.
///
/// # Errors
/// Whatever is wrong with the option.
pub fn contestant(option: &str) -> Result<(Contestant, Sources), SpecError> {
    with_sources(|host| spec::contestant::from_option(option, host))
}

/// Plans what was read.
fn asked((resolved, sources): (Resolved, Sources), seed: Seed) -> Asked {
    let trials = plan::plan(&resolved.experiment, seed);
    let Resolved { experiment, notes, pairs } = resolved;
    Asked { experiment, sources, notes, pairs, seed, trials }
}

/// Reads an experiment as its file is, and the sources of its schedulers.
///
/// # Errors
/// Whatever is wrong with its files.
pub fn read(name: &str) -> Result<(Resolved, Sources), SpecError> {
    with_sources(|host| spec::experiment(name, &Overrides::default(), host))
}

/// The same as one backend would answer it.
///
/// # Errors
/// Whatever is wrong with its files.
pub fn read_on(name: &str, on: Backend) -> Result<Resolved, SpecError> {
    let overrides = Overrides { on: vec![on], ..Overrides::default() };
    Ok(with_sources(|host| spec::experiment(name, &overrides, host))?.0)
}

/// Logical CPUs of this machine.
pub fn host_cpus() -> u32 {
    thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32)
}

/// Lets `read` look schedulers up, and keeps the sources that it finds: what is planned is what is
/// compiled, even if a file changes in between.
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
