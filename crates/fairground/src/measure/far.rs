// SPDX-License-Identifier: GPL-2.0-only
//! Trials of a session on a fleet: its folder beside the store, its queue, and its end.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use execution::sink::Sink;
use execution::{Settings, boots};
use fleet::drive::part::Files;
use fleet::drive::{self, Pauses, Work};
use fleet::options::FleetOptions;
use fleet::slurm::Slurm;
use model::Trial;

use crate::planned_experiment::PlannedExperiment;

/// Where a campaign is kept.
pub struct Place {
    /// The store, absolute.
    pub store: PathBuf,
    /// The number of its first session there.
    pub campaign: i64,
}

/// What a session leaves to other machines.
pub struct Far<'a> {
    /// Which machines.
    pub fleet: &'a FleetOptions,
    /// Jobs at a time.
    pub jobs: Option<usize>,
    /// The campaign.
    pub place: Place,
    /// The whole plan.
    pub planned: &'a PlannedExperiment,
    /// Its trials without a record.
    pub left: Vec<Trial>,
    /// What running them here might use.
    pub settings: Settings,
}

/// Runs the trials.
///
/// # Errors
/// When there is no queue, it refuses the jobs, or a chunk never comes back.
pub fn run(far: &Far<'_>, sink: &Sink<'_>) -> Result<()> {
    let needed = boots::needed_files(&far.left, &far.settings, sink)?;
    let folder = far.place.folder()?;
    let mut slurm = Slurm::new(folder.clone(), far.place.name(), far.fleet.clone())?;
    slurm.jobs = far.jobs;
    slurm.check()?;
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    slurm.pack(far.settings.home.as_deref().unwrap_or(Path::new("/")), &needed)?;
    let Far { planned, .. } = far;
    let files = Files { folder: &folder, plan: &planned.trials, sources: &planned.sources };
    let earlier = far.settings.earlier.records().to_vec();
    let work = Work { files, left: far.left.clone(), earlier };
    drive::run(work, far.fleet, Pauses::default(), &mut slurm, sink)?;
    sink.error()?;
    if !sink.is_stopped() {
        // Each record is in the store.
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    Ok(())
}

impl Place {
    /// The campaign's folder, which the nodes must see too.
    fn folder(&self) -> Result<PathBuf> {
        let absolute = std::path::absolute(&self.store)
            .with_context(|| format!("cannot find {}", self.store.display()))?;
        let name = absolute.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = absolute.parent().unwrap_or(Path::new("/"));
        Ok(folder.join(format!("{name}.fleet-{}", self.campaign)))
    }

    /// The name of its jobs. Two stores have two names.
    fn name(&self) -> String {
        let place = self.folder().unwrap_or_else(|_| self.store.clone());
        format!("fairground-{}", model::trial::hex16(&place))
    }
}
