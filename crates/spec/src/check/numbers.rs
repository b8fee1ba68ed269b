// SPDX-License-Identifier: GPL-2.0-only
//! Names are unique and short; numbers are not absurd. The players' own limits are in
//! [`model::play::limits`].
//!
//! Headlines and totals name measures and task groups that exist: `wakeup_latency_ns.p99
//! fair_waker`.

use std::collections::BTreeSet;

use model::metric::{MEASURES, PROGRAM, measure};
use model::play::limits;
use model::{Step, Workload};

use super::{Checked, each_step, fault, task_path};
use crate::source::advice;

/// The kernel keeps this many bytes of a thread's name.
pub const NAME_BYTES_MAX: usize = 15;
/// The most tasks at a time; Linux's default `threads-max` is of this order on a small machine.
pub const TASKS_MAX: u64 = 100_000;
/// The most members of a channel: each is a pipe with two descriptors.
const MEMBERS_MAX: u32 = 100_000;
/// The most reloads of a trial.
const RELOADS_MAX: u64 = 10_000;
/// The most bytes of a message: a pipe's capacity.
const MESSAGE_BYTES_MAX: u64 = 65_536;

pub fn check(workload: &Workload) -> Checked {
    if workload.tasks.is_empty() && workload.program.is_none() {
        return fault("", "the workload has neither tasks nor a program", "add a [[task]] table");
    }
    if workload.duration_us == Some(0) {
        return fault("duration_us", "a workload cannot last 0 µs", "write a duration in µs");
    }
    reloads(workload)?;
    program(workload)?;
    channels(workload)?;
    let mut names = BTreeSet::new();
    for (index, group) in workload.tasks.iter().enumerate() {
        name(&task_path(index), "task", &group.name)?;
        if !names.insert(&group.name) {
            let message = format!("a second task named '{}'", group.name);
            return fault(format!("task[{index}].name"), message, "give each group its own name");
        }
        each_step(index, group, &mut step_numbers)?;
    }
    total(workload)
}

/// Reloads are spread over the workload's duration, so it must have one.
fn reloads(workload: &Workload) -> Checked {
    if workload.reloads > 0 && workload.duration_us.is_none() {
        let hint = "write duration_us = …: they are spread evenly over it";
        return fault("reloads", "reloads without a duration", hint);
    }
    range("reloads", "reloads", u64::from(workload.reloads), 0, RELOADS_MAX)
}

/// Names go into `comm`, metrics and cells, which are separated by spaces.
fn name(path: &str, what: &str, name: &str) -> Checked {
    let path = format!("{path}.name");
    let allowed = |letter: char| letter.is_alphanumeric() || "_.:-+".contains(letter);
    if name.is_empty() || !name.chars().all(allowed) {
        let message = format!("'{name}' cannot be a {what}'s name");
        return fault(path, message, "use letters, digits and _ . : - +, no spaces");
    }
    if ["all", PROGRAM].contains(&name) {
        let hint = format!("'all' and '{PROGRAM}' have a meaning in metrics; choose another");
        return fault(path, format!("'{name}' cannot be a {what}'s name"), hint);
    }
    if name.len() > NAME_BYTES_MAX {
        let message = format!("'{name}' is {} bytes long", name.len());
        return fault(path, message, format!("the kernel keeps {NAME_BYTES_MAX}: shorten it"));
    }
    Ok(())
}

fn step_numbers(path: &str, step: &Step) -> Checked {
    match step {
        Step::Send { bytes, .. } | Step::Receive { bytes, .. } => {
            range(path, "message bytes", u64::from(*bytes), 1, MESSAGE_BYTES_MAX)
        }
        Step::Fork { count, .. } => range(path, "forked tasks", u64::from(*count), 0, TASKS_MAX),
        _ => named(path, step),
    }
}

/// Locks, conditions, barriers and semaphores need a name.
fn named(path: &str, step: &Step) -> Checked {
    let names: &[&String] = match step {
        Step::Lock(name) | Step::Unlock(name) | Step::Signal(name) | Step::Broadcast(name) => {
            &[name]
        }
        Step::Barrier(name) | Step::Resume(name) => &[name],
        Step::SemaphorePost(name) | Step::SemaphoreWait(name) => &[name],
        Step::Wait { condition, lock } | Step::Sync { condition, lock } => &[condition, lock],
        _ => &[],
    };
    if names.iter().any(|name| name.is_empty()) {
        return fault(
            path,
            "an empty name",
            "name the lock, condition, barrier, semaphore or task",
        );
    }
    Ok(())
}

fn range(path: &str, what: &str, value: u64, least: u64, most: u64) -> Checked {
    limits::range(what, value, least, most).map(|_| ()).map_err(|refusal| refusal.inside(path))
}

fn channels(workload: &Workload) -> Checked {
    let mut names = BTreeSet::new();
    for (index, channel) in workload.channels.iter().enumerate() {
        let path = format!("channel[{index}]");
        name(&path, "channel", &channel.name)?;
        if !names.insert(&channel.name) {
            let message = format!("a second channel named '{}'", channel.name);
            return fault(format!("{path}.name"), message, "give each channel its own name");
        }
        let count = u64::from(channel.count);
        range(&format!("{path}.count"), "members", count, 1, u64::from(MEMBERS_MAX))?;
    }
    Ok(())
}

fn program(workload: &Workload) -> Checked {
    let Some(program) = &workload.program else { return Ok(()) };
    if program.command.first().is_none_or(|command| command.is_empty()) {
        return fault("program.command", "an empty command", "write [\"program\", \"argument\"]");
    }
    let parsers: Vec<&str> = model::parsers::names().collect();
    if program.prepare.iter().any(|command| command.first().is_none_or(String::is_empty)) {
        let hint = "write [[\"program\", \"argument\"]]";
        return fault("program.prepare", "an empty command", hint);
    }
    if program.scratch && !program.sources.is_empty() {
        let message = "a program cannot work in an empty folder and in a source tree";
        return fault("program.sources", message, "write one of them");
    }
    if !parsers.contains(&program.parser.as_str()) {
        let hint = advice(&program.parser, parsers.iter().copied()).unwrap_or_default();
        let message = format!("unknown parser '{}'", program.parser);
        return fault("program.parser", message, hint);
    }
    Ok(())
}

/// Tasks that exist at the same time from the start; templates are counted where they are forked.
fn total(workload: &Workload) -> Checked {
    let mut tasks = 0_u64;
    for (index, group) in workload.tasks.iter().enumerate().filter(|(_, group)| !group.template) {
        tasks += u64::from(group.count);
        if tasks > TASKS_MAX {
            let message = format!("{tasks} tasks are too many");
            let hint = format!("at most {TASKS_MAX} together");
            return fault(format!("task[{index}].count"), message, hint);
        }
    }
    Ok(())
}

const STATISTICS: [&str; 5] = ["p50", "p90", "p99", "p999", "max"];

pub fn check_headlines(workload: &Workload) -> Checked {
    for (index, headline) in workload.headline.iter().enumerate() {
        check_one(&format!("headline[{index}]"), workload, headline)?;
    }
    Ok(())
}

/// Checks the headline at `path`.
pub fn check_one(path: &str, workload: &Workload, headline: &str) -> Checked {
    let Some((what, group)) = headline.split_once(' ') else {
        let hint = "write a measure and a task group, e.g. 'completion_ns all'";
        return fault(path, format!("'{headline}' is not a headline"), hint);
    };
    let (name, statistic) = match what.split_once('.') {
        Some((name, statistic)) => (name, Some(statistic)),
        None => (what, None),
    };
    let Some(measure) = measure(name) else {
        let names = MEASURES.iter().map(|measure| measure.name);
        let hint = advice(name, names).unwrap_or_default();
        return fault(path, format!("unknown measure '{name}'"), hint);
    };
    match (measure.distribution, statistic) {
        (true, None) => {
            let hint = format!("write '{name}.p99 {group}'");
            return fault(path, format!("'{name}' is a distribution"), hint);
        }
        (true, Some(statistic)) if !STATISTICS.contains(&statistic) => {
            let hint = advice(statistic, STATISTICS).unwrap_or_default();
            return fault(path, format!("unknown statistic '{statistic}'"), hint);
        }
        (false, Some(_)) => {
            let message = format!("'{name}' is one number, not a distribution");
            return fault(path, message, format!("write '{name} {group}'"));
        }
        _ => {}
    }
    let mut groups: Vec<&str> = workload.tasks.iter().map(|group| group.name.as_str()).collect();
    groups.extend(workload.totals.iter().map(|total| total.name.as_str()));
    groups.push("all");
    if workload.program.is_some() {
        groups.push(PROGRAM);
    }
    if groups.contains(&group) {
        return Ok(());
    }
    let hint = advice(group, groups.iter().copied()).unwrap_or_default();
    fault(path, format!("unknown task group '{group}'"), hint)
}

/// Totals name groups that exist, and have unique names.
pub fn check_totals(workload: &Workload) -> Checked {
    let groups: Vec<&str> = workload.tasks.iter().map(|group| group.name.as_str()).collect();
    for (index, total) in workload.totals.iter().enumerate() {
        let path = format!("total[{index}]");
        let name = total.name.as_str();
        let before = workload.totals[..index].iter().any(|other| other.name == name);
        if before || groups.contains(&name) || name == "all" || name == PROGRAM {
            let hint = "choose another name";
            return fault(format!("{path}.name"), format!("there is a '{name}' already"), hint);
        }
        if total.groups.len() < 2 {
            let hint = "name two task groups or more";
            return fault(format!("{path}.groups"), format!("'{name}' is no total"), hint);
        }
        for (at, group) in total.groups.iter().enumerate() {
            let path = format!("{path}.groups[{at}]");
            if !groups.contains(&group.as_str()) {
                let hint = advice(group, groups.iter().copied()).unwrap_or_default();
                return fault(path, format!("unknown task group '{group}'"), hint);
            }
            if total.groups[..at].contains(group) {
                return fault(path, format!("'{group}' is named twice"), "delete one of them");
            }
        }
    }
    Ok(())
}
