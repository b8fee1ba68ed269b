// SPDX-License-Identifier: GPL-2.0-only
//! A/A trials: the baseline against itself, before real time is measured. They set the noise floor:
//! a smaller difference between contestants is not credible.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use model::{Clock, Contestant, Design, Experiment, Record, Trial};
use store::{Filter, Store};

use super::Ended;
use super::claimable::ClaimableComparisons;
use super::session::{CampaignRunner, Continues, Remarks};
use crate::planned_experiment::PlannedExperiment;
use crate::times;
use spec::plan;

/// Replicates of each of the two.
const BLOCKS: u32 = 4;

/// How long A/A trials of the same plan are used again: noise changes with what else a
/// machine does.
const DAY_S: u64 = 86_400;

/// Measures the noise floor where a real clock is compared, and writes it into the experiment.
/// Returns how the A/A trials have ended; `None` where none had to run.
pub fn run_aa_trials(
    planned: &mut PlannedExperiment,
    sessions: &mut CampaignRunner<'_>,
) -> Result<Option<Ended>> {
    if planned.experiment.design.exploratory {
        return Ok(None);
    }
    let Some(trials) = aa_experiment(planned) else { return Ok(None) };
    if let Some(records) = known(&sessions.execution.store, &trials)? {
        planned.experiment.design.scatter = stats::compare::evidence::scatter(&records);
        return Ok(None);
    }
    sessions.tell(&announcement(&trials));
    let ended = sessions.run(&trials, Continues::Earlier, Remarks::Notes)?;
    if let Ended::Complete(session) = ended {
        let records = sessions.measured(session)?.records;
        planned.experiment.design.scatter = stats::compare::evidence::scatter(&records);
    }
    Ok(Some(ended))
}

/// The experiment before the experiment; `None` where no real clock is compared, or the baseline
/// does not run there. Of each workload only the last setting runs, which is the heaviest.
fn aa_experiment(planned: &PlannedExperiment) -> Option<PlannedExperiment> {
    if ClaimableComparisons::of(planned).real.values().all(|&comparisons| comparisons == 0) {
        return None;
    }
    let experiment = &planned.experiment;
    let baseline =
        experiment.contestants.iter().find(|baseline| baseline.name == experiment.baseline)?;
    let again = Contestant { name: format!("{} again", baseline.name), ..baseline.clone() };
    let last =
        |name: &String| experiment.workloads.iter().rev().find(|workload| workload.name == *name);
    let names: BTreeSet<&String> =
        experiment.workloads.iter().map(|workload| &workload.name).collect();
    let itself = Experiment {
        name: format!("{}-aa", experiment.name),
        question: format!("How far are equal trials of {} apart?", baseline.name),
        contestants: vec![baseline.clone(), again],
        workloads: names.into_iter().filter_map(last).cloned().collect(),
        blocks: BLOCKS,
        trials_per_boot: 1,
        trace: Vec::new(),
        design: Design::default(),
        ..experiment.clone()
    };
    let mut trials = plan::plan(&itself, planned.seed.derive("A/A"));
    trials.retain(|trial| trial.clock() == Clock::Real);
    let made =
        PlannedExperiment { experiment: itself, trials, notes: Vec::new(), ..planned.clone() };
    (!made.trials.is_empty()).then_some(made)
}

/// What the user is told before they run.
fn announcement(trials: &PlannedExperiment) -> String {
    format!(
        "A/A: {} trials of {} against itself, to measure the noise floor",
        trials.trials.len(),
        trials.experiment.baseline
    )
}

/// The records of the same A/A trials, if all are in the store and not older than a day.
fn known(path: &Path, trials: &PlannedExperiment) -> Result<Option<Vec<Record>>> {
    if !path.exists() {
        return Ok(None);
    }
    let store = Store::open(path)?;
    let plan = trials.plan_id();
    let recent = times::now().saturating_sub(DAY_S);
    let session = store.sessions()?.into_iter().rev().find(|session| {
        session.plan == plan && session.origin.is_none() && session.started_unix_s >= recent
    });
    let Some(session) = session else { return Ok(None) };
    let campaign = Some(session.first());
    let records = store.records(&Filter { campaign, ..Filter::default() })?;
    let done: BTreeSet<String> = records.iter().map(|record| record.trial.id()).collect();
    let all_done = trials.trials.iter().map(Trial::id).all(|id| done.contains(&id));
    Ok(all_done.then_some(records))
}
