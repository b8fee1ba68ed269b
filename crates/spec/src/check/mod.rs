// SPDX-License-Identifier: GPL-2.0-only
//! The rules for workloads. Refused is what the players cannot play ([`play`]), and what makes no
//! sense: a wait without a waker, unequal numbers of messages, absurd numbers. The same rules hold
//! for TOML and rt-app files.
//! The rules are conservative: a refused workload cannot work. An accepted one may still deadlock,
//! which the trial's time-out reports.
//!
//! The workload ends, and no task spins through its steps without using time.

use std::collections::BTreeSet;

use model::play::{Refusal, Script, Setting, limits};
use model::trial::hex16;
use model::{Policy, Seed, Step, TaskGroup, Trial, Workload};

use super::source::Places;
use super::{SpecError, experiment, machine};

mod forks;
mod numbers;
mod waits;

pub use model::play::limits::ENDLESS;
pub use numbers::{NAME_BYTES_MAX, TASKS_MAX};

type Checked = Result<(), Refusal>;

pub fn check(workload: &Workload, cpus: u32, places: &Places) -> Result<(), SpecError> {
    rules(workload, cpus).map_err(|fault| places.error(&fault.path, fault.message).hint(fault.hint))
}

/// The rules for trials that come as text: those of the files behind them. The tapes of recordings
/// must be attached. What several trials share is checked once.
///
/// # Errors
/// Which trial is wrong, why, and what to write instead.
pub fn trials(trials: &[Trial]) -> Result<(), String> {
    let mut checked = BTreeSet::new();
    for (number, trial) in (1..).zip(trials) {
        if checked.insert((hex16(&trial.machine), hex16(&trial.workload), trial.timeout_ms)) {
            self::trial(trial).map_err(|why| format!("trial {number}: its {why}"))?;
        }
    }
    Ok(())
}

fn trial(trial: &Trial) -> Result<(), String> {
    let in_words = |what: &str, Refusal { path, message, hint }: Refusal| {
        let path = if path.is_empty() { path } else { format!("{path}: ") };
        format!("{what}: {path}{message}; {hint}")
    };
    let most = experiment::TIMEOUT_S_MAX * 1000;
    limits::range("timeout_ms", trial.timeout_ms, 1, most)
        .map_err(|fault| in_words("limit", fault))?;
    match machine::fault(&trial.machine) {
        Some(fault) => Err(in_words("machine", fault)),
        None => {
            rules(&trial.workload, trial.machine.cpus).map_err(|fault| in_words("workload", fault))
        }
    }
}

/// The limits of the numbers in a workload, for records that come from elsewhere: what cannot be
/// played here can still be read. An imported record has no tasks.
///
/// # Errors
/// What is wrong.
pub fn numbers_of(workload: &Workload) -> Result<(), String> {
    let is_imported = workload.tasks.is_empty() && workload.program.is_none();
    let checked = if is_imported { Ok(()) } else { numbers::check(workload) };
    checked.map_err(|refusal| format!("its workload: {}", refusal.message))
}

/// Checks that a workload has the measure that is written at `path` of another file.
pub fn measure(
    path: &str,
    workload: &Workload,
    text: &str,
    places: &Places,
) -> Result<(), SpecError> {
    numbers::check_one(path, workload, text)
        .map_err(|fault| places.error(&fault.path, fault.message).hint(fault.hint))
}

/// Names are checked before [`play`], so that messages can say which name was meant.
fn rules(workload: &Workload, cpus: u32) -> Checked {
    numbers::check(workload)?;
    forks::check(workload)?;
    waits::check(workload)?;
    playable(workload, cpus)?;
    waits::check_locks(workload)?;
    waits::check_mutexes(workload)?;
    waits::check_wakers(workload)?;
    check_ending(workload)?;
    numbers::check_totals(workload)?;
    numbers::check_headlines(workload)
}

/// Whether the players can play the workload. The policy and the seed, which a contestant and a
/// trial bring, cannot make a difference.
fn playable(workload: &Workload, cpus: u32) -> Checked {
    let setting = Setting { policy: Policy::default(), seed: Seed(0), cpus };
    Script::new(workload, setting).map(|_| ())
}

fn fault<T>(
    path: impl Into<String>,
    message: impl Into<String>,
    hint: impl Into<String>,
) -> Result<T, Refusal> {
    Err(Refusal { path: path.into(), message: message.into(), hint: hint.into() })
}

fn task_path(index: usize) -> String {
    format!("task[{index}]")
}

/// Visits every step of a group, loops and spans before their steps, with its path.
fn each_step<'a>(
    index: usize,
    group: &'a TaskGroup,
    visit: &mut dyn FnMut(&str, &'a Step) -> Checked,
) -> Checked {
    each_of(&format!("task[{index}].steps"), &group.steps, visit)
}

fn each_of<'a>(
    path: &str,
    steps: &'a [Step],
    visit: &mut dyn FnMut(&str, &'a Step) -> Checked,
) -> Checked {
    for (index, step) in steps.iter().enumerate() {
        let path = format!("{path}[{index}]");
        visit(&path, step)?;
        let kind = if matches!(step, Step::Within { .. }) { "within" } else { "loop" };
        each_of(&format!("{path}.{kind}.steps"), step.inner(), visit)?;
    }
    Ok(())
}

fn every_step<'a>(
    workload: &'a Workload,
    visit: &mut dyn FnMut(&str, usize, &'a Step) -> Checked,
) -> Checked {
    for (index, group) in workload.tasks.iter().enumerate() {
        each_step(index, group, &mut |path, step| visit(path, index, step))?;
    }
    Ok(())
}

fn check_ending(workload: &Workload) -> Checked {
    for (index, group) in workload.tasks.iter().enumerate() {
        if endless(group) && !group.template && !takes_time(&group.steps) {
            let message = format!("the task '{}' repeats steps that take no time", group.name);
            let hint = "add a step that runs or blocks, e.g. { sleep_us = 1000 }, or 'repeat = 1'";
            return fault(task_path(index), message, hint);
        }
    }
    if ends(workload) {
        return Ok(());
    }
    let hint =
        "add 'duration_us = …' (rt-app: \"duration\" in \"global\"), or 'repeat = …' to a task";
    fault("", "the workload never ends", hint)
}

pub fn ends(workload: &Workload) -> bool {
    let finite = |group: &TaskGroup| !group.template && group.count > 0 && !endless(group);
    workload.duration_us.is_some()
        || workload.program.is_some()
        || workload.tasks.iter().any(finite)
}

/// Whether a task plays until it is told to stop.
pub fn endless(group: &TaskGroup) -> bool {
    let exits = group.steps.contains(&Step::Exit);
    !exits && (group.repeat.is_none() && !group.template || has_endless_loop(&group.steps))
}

fn has_endless_loop(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Loop { count, .. } if *count == ENDLESS => true,
        other => has_endless_loop(other.inner()),
    })
}

/// Whether one pass over the steps uses the CPU or blocks at least once.
fn takes_time(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::RunUs(us) | Step::RunUntilUs(us) | Step::SleepUs(us) => *us > 0,
        Step::RunBetweenUs { most, .. } => *most > 0,
        Step::Frame => false,
        Step::Lock(_) | Step::Unlock(_) | Step::Signal(_) | Step::Broadcast(_) => false,
        Step::Resume(_) | Step::SemaphorePost(_) => false,
        Step::Nice(_) | Step::Policy(_) | Step::Affinity(_) | Step::WaitChildren => false,
        Step::Group(_) | Step::SetGroup(_) => false,
        Step::MakeGroup(_) | Step::RemoveGroup(_) => false,
        Step::Fork { count, .. } => *count > 0,
        Step::Loop { count, steps } => *count > 0 && takes_time(steps),
        Step::Within { steps, .. } => takes_time(steps),
        _ => true,
    })
}
