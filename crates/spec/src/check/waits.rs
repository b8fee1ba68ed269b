// SPDX-License-Identifier: GPL-2.0-only
//! Nobody waits for ever: a task that waits for a name can be woken by a task that names it, and
//! mutexes are released.

use std::collections::BTreeSet;

use model::{Step, Workload};

use super::{Checked, every_step, fault};
use crate::source::advice;

/// What a task can wait for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Condition,
    Suspended,
    Semaphore,
}

pub fn check_wakers(workload: &Workload) -> Checked {
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

/// A mutex has one table, and steps name it.
pub fn check_mutexes(workload: &Workload) -> Checked {
    let mut used = BTreeSet::new();
    every_step(workload, &mut |_, _, step| {
        used.extend(step.mutex());
        Ok(())
    })?;
    let mut names = BTreeSet::new();
    for (index, mutex) in workload.mutexes.iter().enumerate() {
        let (path, name) = (format!("mutex[{index}].name"), mutex.name.as_str());
        if !names.insert(name) {
            let message = format!("a second mutex named '{name}'");
            return fault(path, message, "write its protocol in one [[mutex]]");
        }
        if !used.contains(name) {
            let hint = advice(name, used.iter().copied())
                .unwrap_or_else(|| format!("add {{ lock = \"{name}\" }}, or delete the table"));
            return fault(path, format!("no step takes the mutex '{name}'"), hint);
        }
    }
    Ok(())
}

/// The mutexes that a task holds.
type Held<'a> = BTreeSet<&'a str>;

/// Mutexes are taken before they are released, never twice, and released before the steps repeat.
pub fn check_locks(workload: &Workload) -> Checked {
    for (index, group) in workload.tasks.iter().enumerate() {
        let path = format!("task[{index}].steps");
        let mut held = Held::new();
        play(&path, &group.steps, &mut held)?;
        if let Some(lock) = held.first() {
            let message = format!("the task '{}' ends its steps holding '{lock}'", group.name);
            return fault(path, message, format!("add {{ unlock = \"{lock}\" }}"));
        }
    }
    Ok(())
}

fn play<'a>(path: &str, steps: &'a [Step], held: &mut Held<'a>) -> Checked {
    for (index, step) in steps.iter().enumerate() {
        hold(&format!("{path}[{index}]"), step, held)?;
    }
    Ok(())
}

fn hold<'a>(path: &str, step: &'a Step, held: &mut Held<'a>) -> Checked {
    match step {
        Step::Lock(lock) if !held.insert(lock) => {
            let message = format!("the task already holds '{lock}' and would wait for itself");
            fault(path, message, format!("unlock '{lock}' first"))
        }
        Step::Unlock(lock) if !held.remove(lock.as_str()) => {
            let message = format!("the task does not hold '{lock}'");
            fault(path, message, format!("add {{ lock = \"{lock}\" }} before"))
        }
        Step::Wait { lock, .. } | Step::Sync { lock, .. } if !held.contains(lock.as_str()) => {
            let message = format!("waiting releases '{lock}', which the task does not hold");
            fault(path, message, format!("add {{ lock = \"{lock}\" }} before"))
        }
        Step::Exit | Step::Exec => match held.first() {
            Some(lock) => {
                fault(path, format!("the task ends holding '{lock}'"), "unlock it before")
            }
            None => Ok(()),
        },
        Step::Loop { steps, .. } => a_loop(path, steps, held),
        Step::Within { steps, .. } => play(&format!("{path}.within.steps"), steps, held),
        _ => Ok(()),
    }
}

/// Each pass over the steps must begin with the same mutexes as the one before.
fn a_loop<'a>(path: &str, steps: &'a [Step], held: &mut Held<'a>) -> Checked {
    let before = held.clone();
    play(&format!("{path}.loop.steps"), steps, held)?;
    match before.symmetric_difference(held).next() {
        Some(lock) => {
            let message = format!("a round of this loop does not leave '{lock}' as it found it");
            fault(path, message, "lock and unlock inside the loop, or both outside")
        }
        None => Ok(()),
    }
}
