// SPDX-License-Identifier: GPL-2.0-only
//! The rules for workloads. Refused is what the players cannot play ([`play`]), and what makes no
//! sense: a wait without a waker, unequal numbers of messages, absurd numbers. The same rules hold
//! for TOML and rt-app files.
//! The rules are conservative: a refused workload cannot work. An accepted one may still deadlock,
//! which the trial's time-out reports.

mod ending;
mod forks;
mod headline;
mod messages;
mod numbers;
mod waits;

use model::play::{Refusal, Script, Setting};
use model::{Policy, Seed, Step, TaskGroup, Workload};

use super::SpecError;
use super::source::Places;

pub use ending::ends;
pub use model::play::limits::ENDLESS;
pub use numbers::{NAME_BYTES_MAX, TASKS_MAX};

type Checked = Result<(), Refusal>;

pub fn check(workload: &Workload, cpus: u32, places: &Places) -> Result<(), SpecError> {
    rules(workload, cpus).map_err(|fault| places.error(&fault.path, fault.message).hint(fault.hint))
}

/// Checks that a workload has the measure that is written at `path` of another file.
pub fn measure(
    path: &str,
    workload: &Workload,
    text: &str,
    places: &Places,
) -> Result<(), SpecError> {
    headline::check_one(path, workload, text)
        .map_err(|fault| places.error(&fault.path, fault.message).hint(fault.hint))
}

/// The rules about names come before [`play`], because they know which name was meant.
fn rules(workload: &Workload, cpus: u32) -> Checked {
    numbers::check(workload)?;
    forks::check(workload)?;
    messages::check(workload)?;
    playable(workload, cpus)?;
    waits::check_locks(workload)?;
    waits::check_wakers(workload)?;
    ending::check(workload)?;
    headline::check_totals(workload)?;
    headline::check_headlines(workload)
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
