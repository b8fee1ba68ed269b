// SPDX-License-Identifier: GPL-2.0-only
//! The workload ends, and no task spins through its steps without using time.

use model::{Step, TaskGroup, Workload};

use super::{Checked, ENDLESS, fault, task_path};

pub fn check(workload: &Workload) -> Checked {
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
        Step::Fork { count, .. } => *count > 0,
        Step::Loop { count, steps } => *count > 0 && takes_time(steps),
        Step::Within { steps, .. } => takes_time(steps),
        _ => true,
    })
}
