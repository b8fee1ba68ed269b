// SPDX-License-Identifier: GPL-2.0-only
//! The options of the verbs that run an experiment: which trials there are, and where their records
//! go.

use std::path::PathBuf;

use crate::execution::{Settings, locations};
use crate::experiment_options::ExperimentOptions;
use crate::measure::Execution;
use crate::records::Chosen;

/// The options.
#[derive(clap::Args, Clone)]
pub struct CampaignOptions {
    /// Which trials there are.
    #[command(flatten)]
    pub experiment: ExperimentOptions,
    /// Run only the trials that the last campaign with the same plan did not finish
    #[arg(long)]
    resume: bool,
    /// Where the records go
    #[arg(long, value_name = "FILE", default_value = locations::STORE)]
    pub store: PathBuf,
    /// Trials at a time [default: as many as CPUs in the simulator and where only instructions are
    /// counted, else one]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Never download a kernel
    #[arg(long)]
    offline: bool,
}

impl CampaignOptions {
    /// What running the trials may use.
    pub fn execution(&self) -> Execution {
        Execution {
            store: self.store.clone(),
            resume: self.resume,
            fleet: None,
            settings: Settings { jobs: self.jobs, offline: self.offline, ..Settings::default() },
        }
    }

    /// The records of a session in the store, and of those that it resumes.
    pub fn session(&self, id: i64) -> Chosen {
        Chosen::session(self.store.clone(), id)
    }
}
