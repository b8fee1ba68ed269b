// SPDX-License-Identifier: GPL-2.0-only
//! Reasons why this machine or kernel cannot run a trial, checked before anything is changed.

use model::{SchedulerChoice, Step, Trial};

use crate::facts::cpus_online;
use crate::loader::{Obstacle, obstacles};
use crate::program;
use process::installed::find;

/// The first obstacle, with a remedy.
pub fn first(trial: &Trial) -> Option<String> {
    let scheduler = scheduler(&trial.contestant.scheduler).or_else(|| reloads(trial));
    scheduler.or_else(|| programs(trial)).or_else(|| cpus(trial))
}

/// A difference between the trial's machine and this one that does not prevent the trial.
pub fn differences(trial: &Trial, cpus: u32) -> Option<String> {
    let machine = &trial.machine;
    (machine.cpus != cpus)
        .then(|| format!("machine `{}` has {} CPUs, this one {cpus}", machine.name, machine.cpus))
}

fn scheduler(choice: &SchedulerChoice) -> Option<String> {
    if let SchedulerChoice::Program { command } = choice {
        let name = command.first().map_or("", String::as_str);
        if find(name).is_none() {
            return Some(format!(
                "the scheduler `{name}` is not installed here; try: cargo install {name}"
            ));
        }
    }
    if !choice.is_sched_ext() {
        return None;
    }
    let remedy = |obstacle| match obstacle {
        Obstacle::NoSchedExt => Some("use --on vm, or boot another"),
        Obstacle::NotRoot => Some("use sudo, or --on vm"),
        // The loader says these, once it knows the scheduler.
        Obstacle::NoBtf | Obstacle::Taken { .. } => None,
    };
    let worded = |obstacle: Obstacle| {
        let text = obstacle.to_string();
        remedy(obstacle).map(|remedy| format!("{text}; {remedy}"))
    };
    obstacles().into_iter().find_map(worded)
}

fn reloads(trial: &Trial) -> Option<String> {
    let reloads = trial.workload.reloads > 0 && !trial.contestant.scheduler.is_sched_ext();
    reloads.then(|| "the kernel's own scheduler cannot be reloaded; use a sched_ext one".into())
}

fn programs(trial: &Trial) -> Option<String> {
    trial.workload.program.as_ref().and_then(program::missing)
}

/// A CPU that the workload names and the machine lacks.
fn cpus(trial: &Trial) -> Option<String> {
    let online = cpus_online();
    let groups = trial.workload.tasks.iter().filter(|group| group.template || group.count > 0);
    for group in groups {
        let mut wanted = group.affinity.clone();
        collect(&group.steps, &mut wanted);
        if let Some(cpu) = wanted.iter().find(|cpu| !online.contains(cpu)) {
            return Some(format!(
                "tasks of `{}` want CPU {cpu}; this machine has {}: {online:?}",
                group.name,
                online.len()
            ));
        }
    }
    None
}

fn collect(steps: &[Step], wanted: &mut Vec<u32>) {
    for step in steps {
        match step {
            Step::Affinity(cpus) => wanted.extend(cpus),
            other => collect(other.inner(), wanted),
        }
    }
}
