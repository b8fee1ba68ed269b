// SPDX-License-Identifier: GPL-2.0-only
//! A task that waits for a name can be woken by a task that names it.

use std::collections::BTreeSet;

use model::{Step, Workload};

use super::{Checked, every_step, fault};

/// What a task can wait for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Condition,
    Suspended,
    Semaphore,
}

pub fn check(workload: &Workload) -> Checked {
    let mut wakers = BTreeSet::new();
    every_step(workload, &mut |_, _, step| {
        wakers.extend(wakes(step));
        Ok(())
    })?;
    every_step(workload, &mut |path, group, step| match waits(step, &workload.tasks[group].name) {
        Some((what, name)) if !wakers.contains(&(what, name)) => nobody(path, what, name),
        _ => Ok(()),
    })
}

fn wakes(step: &Step) -> Option<(What, &str)> {
    match step {
        Step::Signal(name) | Step::Broadcast(name) | Step::Sync { condition: name, .. } => {
            Some((What::Condition, name))
        }
        Step::Resume(name) => Some((What::Suspended, name)),
        Step::SemaphorePost(name) => Some((What::Semaphore, name)),
        _ => None,
    }
}

fn waits<'a>(step: &'a Step, group: &'a str) -> Option<(What, &'a str)> {
    match step {
        Step::Wait { condition, .. } => Some((What::Condition, condition)),
        Step::Suspend(name) if name.is_empty() => Some((What::Suspended, group)),
        Step::Suspend(name) => Some((What::Suspended, name)),
        Step::SemaphoreWait(name) => Some((What::Semaphore, name)),
        _ => None,
    }
}

fn nobody(path: &str, what: What, name: &str) -> Checked {
    let (message, step) = match what {
        What::Condition => (format!("nobody signals the condition '{name}'"), "signal"),
        What::Suspended => (format!("nobody resumes '{name}'"), "resume"),
        What::Semaphore => (format!("nobody posts the semaphore '{name}'"), "semaphore_post"),
    };
    fault(path, message, format!("add a step {{ {step} = \"{name}\" }} to another task"))
}
