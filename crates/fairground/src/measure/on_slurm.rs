// SPDX-License-Identifier: GPL-2.0-only
//! Trials of a session on a Slurm cluster, and the campaign's folder beside the store.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fleet::slurm::{self, Receiver, SlurmCampaign, SlurmOptions};
use model::{Progress, Trial};

use crate::execution::sink::Sink;
use crate::execution::{Settings, boots, objects};
use crate::planned_experiment::PlannedExperiment;

/// Runs the trials of a plan that have no record yet. `store` and the number of the campaign's
/// first session there name the campaign's folder.
pub fn run(
    options: SlurmOptions,
    (store, campaign): (&Path, i64),
    planned: &PlannedExperiment,
    left: Vec<Trial>,
    settings: &Settings,
    sink: &Sink<'_>,
) -> Result<()> {
    slurm::check()?;
    boots::download_kernels(&left, settings, sink)?;
    let folder = folder_of(store, campaign)?;
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let campaign = SlurmCampaign {
        name: format!("fairground-{}", model::trial::hex16(&folder)),
        folder: folder.clone(),
        options,
        tasks_at_a_time: settings.jobs,
        plan: &planned.trials,
        left,
        earlier: settings.earlier.records().to_vec(),
        schedulers: &objects::texts(planned.sources.values()),
    };
    let receiver = Receiver {
        keep: &mut |records| sink.records(records),
        note: &|text| sink.progress(&Progress::Note(text)),
        stop: sink.stop(),
    };
    slurm::run(campaign, receiver)?;
    sink.error()?;
    if !sink.is_stopped() {
        // Each record is in the store.
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    Ok(())
}

/// The campaign's folder, which the nodes must see too.
fn folder_of(store: &Path, campaign: i64) -> Result<PathBuf> {
    let absolute =
        std::path::absolute(store).with_context(|| format!("cannot find {}", store.display()))?;
    let name = absolute.file_name().unwrap_or_default().to_string_lossy();
    Ok(absolute.with_file_name(format!("{name}.fleet-{campaign}")))
}
