// SPDX-License-Identifier: GPL-2.0-only
//! Which combinations of contestant and workload a backend can execute. The others are left out of
//! its part of the plan, and the user is told.

use std::collections::BTreeSet;

use model::{Backend, Contestant, Experiment, PolicyClass, SchedulerChoice, TaskGroup, Workload};

/// A part of an experiment, before machines and repeats.
pub type Part<'a> = (Backend, &'a Contestant, &'a Workload);

/// Every combination that its backend can run, in the experiment's order.
pub fn runnable(experiment: &Experiment) -> Vec<Part<'_>> {
    let all = parts(experiment).into_iter();
    all.filter(|&(backend, contestant, workload)| why_not(backend, contestant, workload).is_none())
        .collect()
}

/// The contestants that every backend can run in some cell, in the experiment's order.
pub fn on_every_backend(experiment: &Experiment) -> Vec<String> {
    let runnable = runnable(experiment);
    let runs = |backend, name: &str| {
        runnable.iter().any(|(other, contestant, _)| *other == backend && contestant.name == name)
    };
    let names = experiment.contestants.iter().map(|contestant| &contestant.name);
    names.filter(|name| experiment.backends.iter().all(|&on| runs(on, name))).cloned().collect()
}

/// What is left out and why, a sentence for each reason; none if nothing is.
pub fn left_out(experiment: &Experiment) -> Vec<String> {
    let reasons = parts(experiment).into_iter();
    let reasons: BTreeSet<String> = reasons
        .filter_map(|(backend, contestant, workload)| why_not(backend, contestant, workload))
        .collect();
    reasons.into_iter().collect()
}

fn parts(experiment: &Experiment) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    for &backend in &experiment.backends {
        for workload in &experiment.workloads {
            parts.extend(
                experiment.contestants.iter().map(|contestant| (backend, contestant, workload)),
            );
        }
    }
    parts
}

/// Why a backend cannot run this, whatever the machine; `None` if it can try.
pub fn why_not(backend: Backend, contestant: &Contestant, workload: &Workload) -> Option<String> {
    let (name, reloads) = (&contestant.name, workload.reloads > 0);
    if reloads && !contestant.scheduler.is_sched_ext() {
        return Some(format!(
            "{name} is the kernel's own, which {} cannot take out and load again",
            workload.name
        ));
    }
    if !backend.is_model() {
        return None;
    }
    match &contestant.scheduler {
        SchedulerChoice::Kernel => {
            Some(format!("{name} is a kernel's own scheduler, which the simulator does not have"))
        }
        SchedulerChoice::Program { .. } => {
            Some(format!("{name} is an installed program, which the simulator cannot run"))
        }
        _ if workload.program.is_some() => {
            Some(format!("{} is a real program, which the simulator cannot run", workload.name))
        }
        _ if reloads => Some(format!(
            "{} loads the scheduler again and again, which the simulator does once",
            workload.name
        )),
        SchedulerChoice::Policy { policy } if !above_fair(policy.class, workload) => Some(format!(
            "{name} leaves tasks of {} to the kernel's fair class, which the simulator does not \
             have",
            workload.name
        )),
        SchedulerChoice::Claimed { .. } => {
            Some(format!("{name} is a name in somebody's result, which nothing can run"))
        }
        SchedulerChoice::Policy { .. } | SchedulerChoice::File { .. } => None,
    }
}

/// Whether every task of the workload is in a class above the fair one when `class` is the policy
/// of those that choose none.
fn above_fair(class: PolicyClass, workload: &Workload) -> bool {
    let class_of = |group: &TaskGroup| group.policy.as_ref().map_or(class, |policy| policy.class);
    let fair = [PolicyClass::Other, PolicyClass::Batch, PolicyClass::Idle];
    !workload.tasks.iter().any(|group| fair.contains(&class_of(group)))
}
