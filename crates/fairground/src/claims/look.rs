// SPDX-License-Identifier: GPL-2.0-only
//! Commands that show more of a test: the experiment's report, and why tasks waited in one trial.

use std::path::Path;

use model::claim::Test;
use model::{Record, Trial};

use super::answers::Answers;
use crate::command_line::quoted;
use spec::assets::{self, Kind};
use spec::contestant;

/// The commands, each with what it shows.
pub fn commands(
    test: &Test,
    session: i64,
    records: &[Record],
    answers: &Answers,
) -> Vec<(&'static str, String)> {
    let store = quoted(&answers.store.display().to_string());
    let name = test.experiment.as_deref().unwrap_or_default();
    let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
    let report = format!(
        "fairground report --store {store} --session {session} -o {}",
        quoted(&format!("{stem}.html"))
    );
    let mut commands = vec![("All numbers of the experiment, with pictures", report)];
    let shown = "Why tasks waited in the first trial, and what ran instead";
    commands.extend(explain(test, records, answers).map(|command| (shown, command)));
    commands
}

/// The command that explains the first trial of the first expectation: from its trace, or by
/// running it again with the same seed.
fn explain(test: &Test, records: &[Record], answers: &Answers) -> Option<String> {
    let place = test.expect.first()?.place();
    let is_it = |trial: &Trial| {
        trial.contestant.name == place.contestant
            && place.cell.is_none_or(|cell| cell == trial.workload.cell())
            && place.machine.is_none_or(|machine| machine == trial.machine.name)
    };
    let mut trials = records.iter().map(|record| &record.trial).filter(|trial| is_it(trial));
    let first = trials.clone().find(|trial| trial.block == 0)?;
    if let Some(traced) = trials.find(|trial| trial.trace) {
        let store = quoted(&answers.store.display().to_string());
        return Some(format!("fairground explain {} --store {store}", traced.id()));
    }
    again(first, answers.seed)
}

/// The command that runs the trial again with a trace; `None` if names do not say all of it.
fn again(trial: &Trial, seed: u64) -> Option<String> {
    let has = |kind, name: &String| assets::names(kind).contains(name);
    let (workload, machine) = (&trial.workload, &trial.machine.name);
    let on = trial.backend.word();
    if !trial.backend.shapes_machine() {
        return None;
    }
    if !has(Kind::Workload, &workload.name) || !has(Kind::Machine, machine) {
        return None;
    }
    Some(format!(
        "fairground explain --scheduler {} --workload {} --machine {machine} --on {on} \
         --seed {seed}",
        quoted(&contestant::option(&trial.contestant, trial.backend.is_model())?),
        quoted(&workload.cell()),
    ))
}
