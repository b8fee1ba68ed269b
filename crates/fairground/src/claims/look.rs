// SPDX-License-Identifier: GPL-2.0-only
//! Commands that show more of a test: the experiment's report, and why tasks waited in one trial.

use std::path::Path;

use model::claim::Test;
use model::{KnobValue, Record, SchedulerChoice, Trial};

use super::answers::Answers;
use crate::command_line::quoted;
use spec::assets::{self, Kind};
use spec::policy;

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
        quoted(&scheduler(trial)?),
        quoted(&workload.cell()),
    ))
}

/// The `--scheduler` option for this contestant.
fn scheduler(trial: &Trial) -> Option<String> {
    let contestant = &trial.contestant;
    let kernel = contestant.kernel.as_deref().unwrap_or_default();
    let words = match &contestant.scheduler {
        SchedulerChoice::Kernel => return Some(format!("kernel:{kernel}")),
        SchedulerChoice::Policy { policy } => format!("policy:{}", policy::written(policy)?),
        SchedulerChoice::Program { command } => format!("program:{}", command.join(" ")),
        SchedulerChoice::Claimed { .. } => return None,
        SchedulerChoice::File { file, knobs, .. } => {
            let knobs = knobs.iter().map(|(name, value)| match value {
                KnobValue::Bool(value) => format!(" {name}={value}"),
                KnobValue::Int(value) => format!(" {name}={value}"),
            });
            format!("{file}{}", knobs.collect::<String>())
        }
    };
    let simulated = trial.backend.is_model() || kernel.is_empty();
    Some(if simulated { words } else { format!("{words}@{kernel}") })
}
