// SPDX-License-Identifier: GPL-2.0-only
//! The options that name an experiment and change it; the same for every verb that plans trials.

use std::path::PathBuf;
use std::sync::LazyLock;

use anyhow::Result;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use model::{Backend, Seed};

use crate::command_line;
use crate::planned_experiment::PlannedExperiment;
use spec::Overrides;

/// A backend as `--on` names it: one that can execute trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct On(pub Backend);

impl ValueEnum for On {
    fn value_variants<'a>() -> &'a [On] {
        static ALL: LazyLock<[On; Backend::EXECUTING.len()]> =
            LazyLock::new(|| Backend::EXECUTING.map(On));
        &*ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.word()).help(self.0.about()))
    }
}

impl From<On> for Backend {
    fn from(on: On) -> Backend {
        on.0
    }
}

/// `--on` of the verbs that take several backends.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Backends {
    /// Run only on this backend: sim, vm or live; or on several: sim,vm
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
    /// The backends of the option; empty without it, which means those of the experiment.
    pub fn named(&self) -> Vec<Backend> {
        self.on.iter().copied().map(Backend::from).collect()
    }
}

/// The options that decide which trials there are.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct ExperimentOptions {
    /// An experiment's name or file; without it --scheduler and --workload describe one
    pub experiment: Option<String>,
    /// Which backends run it.
    #[command(flatten)]
    pub backends: Backends,
    /// The only source of randomness: order of trials, start phases
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Add a scheduler: NAME, FILE.bpf.c, 'NAME knob=value', 'program:scx_lavd ARG', kernel:6.12,
    /// policy:rr:50
    #[arg(long = "scheduler", value_name = "SCHEDULER")]
    pub schedulers: Vec<String>,
    /// Use this workload instead of the experiment's: NAME, FILE, 'NAME parameter=value'
    #[arg(long = "workload", value_name = "WORKLOAD")]
    workloads: Vec<String>,
    /// Use this machine instead of the experiment's: NAME, FILE, or sim:NAME for the simulator
    /// alone
    #[arg(long = "machine", value_name = "MACHINE")]
    machines: Vec<String>,
    /// The contestant that the others are compared with
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// Number of blocks: a block runs every contestant in every cell, with fresh boots
    #[arg(long, value_name = "N")]
    blocks: Option<u32>,
    /// Trials of each cell inside one boot
    #[arg(long, value_name = "N", alias = "runs")]
    trials_per_boot: Option<u32>,
    /// Time limit of a trial, seconds
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Keep an event trace of this cell's trials in the first block; of every cell's without a
    /// value
    #[arg(long, value_name = "CELL", num_args = 0..=1, require_equals = true,
          default_missing_value = "all")]
    trace: Vec<String>,
    /// Measure without probes, to see what the probes cost
    #[arg(long)]
    no_probes: bool,
    /// Run a plan that may be too short to prove anything, without A/A trials; the report says so
    #[arg(long)]
    pub exploratory: bool,
}

impl ExperimentOptions {
    /// Reads the experiment with everything that it refers to, and plans its trials.
    ///
    /// # Errors
    /// What is wrong with a file or an option, its place, and what to write instead.
    pub fn plan(&self) -> Result<PlannedExperiment> {
        self.read(&self.overrides())
    }

    /// The same with these workload files instead of the workloads, on these backends.
    ///
    /// # Errors
    /// As for [`ExperimentOptions::plan`].
    pub fn plan_of_files(&self, on: Vec<Backend>, files: &[PathBuf]) -> Result<PlannedExperiment> {
        let quoted = |file: &PathBuf| command_line::quoted(&file.display().to_string());
        let workloads = files.iter().map(quoted).collect();
        let overrides = Overrides { on, workloads, ..self.overrides() };
        self.read(&overrides)
    }

    fn read(&self, overrides: &Overrides) -> Result<PlannedExperiment> {
        let name = self.experiment.as_deref();
        Ok(PlannedExperiment::read(name, overrides, Seed(self.seed))?)
    }

    fn overrides(&self) -> Overrides {
        Overrides {
            on: self.backends.named(),
            schedulers: self.schedulers.clone(),
            workloads: self.workloads.clone(),
            machines: self.machines.clone(),
            baseline: self.baseline.clone(),
            blocks: self.blocks,
            trials_per_boot: self.trials_per_boot,
            timeout_s: self.timeout,
            trace: self.trace.clone(),
            no_probes: self.no_probes,
            exploratory: self.exploratory,
        }
    }
}
