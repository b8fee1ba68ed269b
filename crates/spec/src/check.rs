// SPDX-License-Identifier: GPL-2.0-only
//! What a workload must obey to mean something: it ends, nobody waits for something that never
//! comes, and no number is absurd. The same rules hold for TOML and rt-app files.
//!
//! Checks are conservative: what they refuse cannot work; what they accept may still deadlock,
//! which the trial's time-out reports.

mod ending;
mod forks;
mod headline;
mod locks;
mod messages;
mod numbers;
mod totals;
mod waits;

use model::{Step, TaskGroup, Workload};

use super::SpecError;
use super::source::Places;

pub use ending::ENDLESS;
pub use numbers::{NAME_BYTES_MAX, TASKS_MAX};

/// What is wrong, and at which value of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// E.g. `task[0].steps[2]`.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub hint: String,
}

/// A check's answer.
type Checked = Result<(), Fault>;

/// Checks a workload for a machine with that many CPUs.
///
/// # Errors
/// The first rule that it breaks, with its place.
pub fn check(workload: &Workload, cpus: u32, places: &Places) -> Result<(), SpecError> {
    rules(workload, cpus).map_err(|fault| places.error(&fault.path, fault.message).hint(fault.hint))
}

/// Checks that a workload has the measure that is written at `path` of another file.
///
/// # Errors
/// No such measure, statistic or task group.
pub fn measure(
    path: &str,
    workload: &Workload,
    text: &str,
    places: &Places,
) -> Result<(), SpecError> {
    headline::one(path, workload, text)
        .map_err(|fault| places.error(&fault.path, fault.message).hint(fault.hint))
}

fn rules(workload: &Workload, cpus: u32) -> Checked {
    numbers::check(workload, cpus)?;
    locks::check(workload)?;
    waits::check(workload)?;
    forks::check(workload)?;
    ending::check(workload)?;
    messages::check(workload)?;
    totals::check(workload)?;
    headline::check(workload)
}

fn fault<T>(
    path: impl Into<String>,
    message: impl Into<String>,
    hint: impl Into<String>,
) -> Result<T, Fault> {
    Err(Fault { path: path.into(), message: message.into(), hint: hint.into() })
}

/// The path of a task group.
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

/// Visits every step of every group.
fn every_step<'a>(
    workload: &'a Workload,
    visit: &mut dyn FnMut(&str, usize, &'a Step) -> Checked,
) -> Checked {
    for (index, group) in workload.tasks.iter().enumerate() {
        each_step(index, group, &mut |path, step| visit(path, index, step))?;
    }
    Ok(())
}
