// SPDX-License-Identifier: GPL-2.0-only
//! The options that name an experiment and change it; the same for every verb that plans trials.

use std::path::PathBuf;

use anyhow::Result;
use model::{Backend, Seed};

use crate::command_line;
use crate::planned_experiment::PlannedExperiment;
use spec::Overrides;

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
