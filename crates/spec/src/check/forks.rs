// SPDX-License-Identifier: GPL-2.0-only
//! Forks name templates, templates are forked, and no chain of forks comes back to itself.

use std::collections::{BTreeMap, BTreeSet};

use model::{Step, TaskGroup, Workload};

use super::{Checked, ENDLESS, TASKS_MAX, each_step, every_step, fault, task_path};
use crate::source::advice;

pub fn check(workload: &Workload) -> Checked {
    let mut forked: BTreeMap<&str, String> = BTreeMap::new();
    every_step(workload, &mut |path, group, step| {
        if let Step::Fork { task, .. } = step {
            known(workload, path, task)?;
            forked.entry(task).or_insert_with(|| path.to_owned());
        }
        only_where_it_makes_sense(workload, path, group, step)
    })?;
    for (index, group) in workload.tasks.iter().enumerate().filter(|(_, group)| group.template) {
        template(index, group, forked.contains_key(group.name.as_str()))?;
        recursion(workload, &group.name, &mut BTreeSet::new(), &forked)?;
    }
    // Recursion is excluded here, so counting children terminates.
    let mut all = workload.tasks.iter().enumerate();
    all.try_for_each(|(index, group)| bounded(workload, index, group))
}

fn find<'a>(workload: &'a Workload, name: &str) -> Option<&'a TaskGroup> {
    workload.tasks.iter().find(|group| group.name == name)
}

fn known(workload: &Workload, path: &str, task: &str) -> Checked {
    match find(workload, task) {
        Some(group) if group.template => Ok(()),
        Some(_) => {
            let message = format!("'{task}' starts by itself and cannot be forked");
            fault(path, message, format!("add 'template = true' to the task '{task}'"))
        }
        None => {
            let names = workload.tasks.iter().filter(|group| group.template);
            let names: Vec<&str> = names.map(|group| group.name.as_str()).collect();
            let hint = advice(task, names.iter().copied())
                .unwrap_or_else(|| "add a [[task]] with 'template = true'".into());
            fault(path, format!("there is no task '{task}' to fork"), hint)
        }
    }
}

fn only_where_it_makes_sense(
    workload: &Workload,
    path: &str,
    group: usize,
    step: &Step,
) -> Checked {
    let group = &workload.tasks[group];
    match step {
        Step::Exec if group.template && group.steps.last() != Some(step) => {
            fault(path, "steps after exec are never played", "make exec the last step")
        }
        Step::WaitChildren if !forks(group) => {
            let message = format!("the task '{}' has no children to wait for", group.name);
            fault(path, message, "add a fork step before it, or delete it")
        }
        _ => Ok(()),
    }
}

fn forks(group: &TaskGroup) -> bool {
    let is_fork = &mut |_: &str, step: &Step| match step {
        Step::Fork { .. } => fault("", "", ""),
        _ => Ok(()),
    };
    each_step(0, group, is_fork).is_err()
}

fn template(index: usize, group: &TaskGroup, forked: bool) -> Checked {
    let path = task_path(index);
    let name = &group.name;
    if !forked {
        let hint =
            format!("add a step {{ fork = {{ task = \"{name}\" }} }}, or delete the template");
        return fault(path, format!("nobody forks the template '{name}'"), hint);
    }
    let wrong = if group.repeat.is_some() {
        ("repeat", "a forked task plays its steps once", "use a loop step instead")
    } else if group.count != 1 {
        ("count", "a template has no count", "the fork step says how many")
    } else if group.delay_us + group.jitter_us != 0 {
        ("delay_us", "a forked task starts when it is forked", "use a sleep step instead")
    } else {
        return Ok(());
    };
    fault(format!("{path}.{}", wrong.0), wrong.1, wrong.2)
}

/// A template that forks itself, directly or through others, never stops.
fn recursion<'a>(
    workload: &'a Workload,
    name: &'a str,
    above: &mut BTreeSet<&'a str>,
    forked: &BTreeMap<&str, String>,
) -> Checked {
    let Some(group) = find(workload, name) else { return Ok(()) };
    if !above.insert(name) {
        let path = forked.get(name).cloned().unwrap_or_default();
        let message = format!("'{name}' forks itself without end");
        return fault(path, message, "let templates fork only others that do not lead back");
    }
    let mut children = BTreeSet::new();
    each_step(0, group, &mut |_, step| {
        if let Step::Fork { task, .. } = step {
            children.insert(task.as_str());
        }
        Ok(())
    })?;
    children.into_iter().try_for_each(|child| recursion(workload, child, above, forked))?;
    above.remove(name);
    Ok(())
}

/// One pass over a task's steps must not leave more children than a machine can hold.
fn bounded(workload: &Workload, index: usize, group: &TaskGroup) -> Checked {
    let children = children(workload, &group.steps).saturating_mul(u64::from(group.count));
    if children > TASKS_MAX {
        let message = format!("a round of '{}' forks {children} processes", group.name);
        let hint = format!("at most {TASKS_MAX}: fork fewer, or repeat rounds with wait_children");
        return fault(task_path(index), message, hint);
    }
    Ok(())
}

/// Processes that the steps fork, their children's children included; the waits between them do not
/// count, so it is an upper bound. Called after recursion has been excluded.
fn children(workload: &Workload, steps: &[Step]) -> u64 {
    let processes_of = |step: &Step| match step {
        Step::Fork { task, count } => {
            let below = find(workload, task).map_or(0, |group| children(workload, &group.steps));
            u64::from(*count).saturating_mul(below.saturating_add(1))
        }
        Step::Loop { count, steps } => {
            let once = *count == ENDLESS || steps.contains(&Step::WaitChildren);
            let rounds = if once { 1 } else { *count };
            children(workload, steps).saturating_mul(rounds)
        }
        other => children(workload, other.inner()),
    };
    steps.iter().map(processes_of).fold(0, u64::saturating_add)
}
