// SPDX-License-Identifier: GPL-2.0-only
//! Nobody waits for ever: a task that waits for a name can be woken by a task that names it, and
//! mutexes are released.
//!
//! Channels exist and have senders and receivers; where the numbers of messages are simple, they
//! agree.

use std::collections::{BTreeMap, BTreeSet};

use model::play::Refusal;
use model::{Channel, Step, TaskGroup, Workload};

use super::{Checked, endless, every_step, fault};
use crate::source::advice;

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

/// The messages of one channel.
#[derive(Default)]
struct Traffic {
    sent: Total,
    received: Total,
    bytes: Vec<u32>,
}

/// Messages in the whole trial; `None` if they cannot be counted.
struct Total(Option<u64>);

impl Default for Total {
    fn default() -> Total {
        Total(Some(0))
    }
}

impl Total {
    fn add(&mut self, messages: Option<u64>) {
        self.0 = self.0.zip(messages).and_then(|(total, more)| total.checked_add(more));
    }

    fn is_nothing(&self) -> bool {
        self.0 == Some(0)
    }
}

pub fn check(workload: &Workload) -> Checked {
    every_step(workload, &mut |path, _, step| match step {
        Step::Send { channel, fan, .. } => {
            let channel = known(workload, path, channel)?;
            fan_fits(path, *fan, channel)
        }
        Step::Receive { channel, .. } => known(workload, path, channel).map(|_| ()),
        _ => Ok(()),
    })?;
    let traffic = traffic(workload);
    for (index, channel) in workload.channels.iter().enumerate() {
        let path = format!("channel[{index}]");
        balance(&path, workload, &channel.name, traffic.get(channel.name.as_str()))?;
    }
    Ok(())
}

fn known<'a>(workload: &'a Workload, path: &str, name: &str) -> Result<&'a Channel, Refusal> {
    if let Some(channel) = workload.channels.iter().find(|channel| channel.name == name) {
        return Ok(channel);
    }
    let names = workload.channels.iter().map(|channel| channel.name.as_str());
    let hint = advice(name, names)
        .unwrap_or_else(|| format!("add [[channel]] with name = \"{name}\" and count"));
    fault(path, format!("there is no channel '{name}'"), hint)
}

fn fan_fits(path: &str, fan: u32, channel: &Channel) -> Checked {
    if fan >= 1 && fan <= channel.count {
        return Ok(());
    }
    let message =
        format!("fan {fan} does not fit '{}', which has {} members", channel.name, channel.count);
    fault(path, message, format!("write 1 … {}", channel.count))
}

fn traffic(workload: &Workload) -> BTreeMap<&str, Traffic> {
    let mut all = BTreeMap::new();
    for group in workload.tasks.iter().filter(|group| group.count > 0) {
        add(&mut all, &group.steps, rounds(workload, group));
    }
    all
}

/// How often all tasks of a group together play their steps; `None` if unknown.
fn rounds(workload: &Workload, group: &TaskGroup) -> Option<u64> {
    let open = group.template || endless(group) || workload.duration_us.is_some();
    let exits = group.steps.contains(&Step::Exit);
    (!open && !exits).then(|| group.repeat.unwrap_or(1).saturating_mul(u64::from(group.count)))
}

fn add<'a>(all: &mut BTreeMap<&'a str, Traffic>, steps: &'a [Step], rounds: Option<u64>) {
    for step in steps {
        match step {
            Step::Send { channel, bytes, fan } => {
                let traffic = all.entry(channel).or_default();
                traffic.sent.add(rounds.and_then(|rounds| rounds.checked_mul(u64::from(*fan))));
                traffic.bytes.push(*bytes);
            }
            Step::Receive { channel, bytes } => {
                let traffic = all.entry(channel).or_default();
                traffic.received.add(rounds);
                traffic.bytes.push(*bytes);
            }
            Step::Loop { count, steps } => {
                add(all, steps, rounds.and_then(|rounds| rounds.checked_mul(*count)));
            }
            other => add(all, other.inner(), rounds),
        }
    }
}

fn balance(path: &str, workload: &Workload, name: &str, traffic: Option<&Traffic>) -> Checked {
    let Some(Traffic { sent, received, bytes }) = traffic else {
        // A parameter may have removed the groups that use it.
        let used = workload.tasks.iter().any(|group| group.count == 0);
        return if used { Ok(()) } else { unused(path, name) };
    };
    if bytes.iter().any(|size| *size != bytes[0]) {
        let message = format!("messages of '{name}' have different sizes");
        return fault(path, message, "send and receive the same number of bytes");
    }
    if sent.is_nothing() {
        return fault(path, format!("nobody sends to '{name}'"), "add a send step");
    }
    if received.is_nothing() {
        return fault(path, format!("nobody receives from '{name}'"), "add a receive step");
    }
    match (sent.0, received.0) {
        (Some(sent), Some(received)) if sent != received => {
            let message = format!("'{name}': {sent} messages sent but {received} received");
            fault(path, message, "make repeat × count × fan of both sides agree")
        }
        _ => Ok(()),
    }
}

fn unused(path: &str, name: &str) -> Checked {
    fault(
        path,
        format!("nobody uses the channel '{name}'"),
        "add send and receive steps, or delete it",
    )
}
