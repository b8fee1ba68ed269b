// SPDX-License-Identifier: GPL-2.0-only
//! A/A trials: the baseline against itself, before real time is measured. What equals show is what
//! no difference between others may rest on.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use model::{Clock, Contestant, Design, Experiment, Record, Trial};
use store::{Filter, Store};

use super::Reach;
use crate::question::Asked;
use crate::words;
use spec::plan;

/// Runs of each of the two.
const BLOCKS: u32 = 4;

/// How long a machine is believed to stay as quiet as it was.
const DAY_S: u64 = 86_400;

/// The experiment before the experiment; none where nothing noisy is compared, or the baseline does
/// not run there. Each workload's last setting stands for all: it is the heaviest.
pub fn question(asked: &Asked) -> Option<Asked> {
    if Reach::of(asked).noisy.values().all(|&comparisons| comparisons == 0) {
        return None;
    }
    let experiment = &asked.experiment;
    let one = experiment.contestants.iter().find(|one| one.name == experiment.baseline)?;
    let other = Contestant { name: format!("{} again", one.name), ..one.clone() };
    let last = |name: &String| experiment.workloads.iter().rev().find(|it| it.name == *name);
    let names: BTreeSet<&String> = experiment.workloads.iter().map(|it| &it.name).collect();
    let equals = Experiment {
        name: format!("{}-aa", experiment.name),
        question: format!("How far are equal runs of {} apart?", one.name),
        contestants: vec![one.clone(), other],
        workloads: names.into_iter().filter_map(last).cloned().collect(),
        blocks: BLOCKS,
        runs_per_boot: 1,
        trace: Vec::new(),
        design: Design::default(),
        ..experiment.clone()
    };
    let mut trials = plan::plan(&equals, asked.seed.derive("A/A"));
    trials.retain(|trial| trial.clock() == Clock::Real);
    let probes = asked.trials.iter().all(|trial| trial.probes);
    trials.iter_mut().for_each(|trial| trial.probes = probes);
    let made = Asked { experiment: equals, trials, notes: Vec::new(), ..asked.clone() };
    (!made.trials.is_empty()).then_some(made)
}

/// What the user is told while it runs.
pub fn words(question: &Asked) -> String {
    format!(
        "A/A: {} trials of {} against itself, to see how far equals are apart",
        question.trials.len(),
        question.experiment.baseline
    )
}

/// The records of the same A/A trials, if all are in the store and not older than a day.
///
/// # Errors
/// When the store cannot be read.
pub fn known(path: &Path, question: &Asked) -> Result<Option<Vec<Record>>> {
    if !path.exists() {
        return Ok(None);
    }
    let store = Store::open(path)?;
    let plan = question.plan_id();
    let recent = words::now().saturating_sub(DAY_S);
    let session = store.sessions()?.into_iter().rev().find(|session| {
        session.plan == plan && session.origin.is_none() && session.started_unix_s >= recent
    });
    let Some(session) = session else { return Ok(None) };
    let family = Some(session.first());
    let records = store.records(&Filter { family, ..Filter::default() })?;
    let done: BTreeSet<String> = records.iter().map(|record| record.trial.id()).collect();
    let whole = question.trials.iter().map(Trial::id).all(|id| done.contains(&id));
    Ok(whole.then_some(records))
}
