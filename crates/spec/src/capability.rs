// SPDX-License-Identifier: GPL-2.0-only
//! The capabilities of each backend, known before anything runs: which combinations of contestant
//! and workload it can execute (the others are left out of its part of the plan, and the user is
//! told), and which fields of a machine's file it ignores (the user is told, or refused if the
//! machine is impossible there).

use std::collections::BTreeSet;

use model::{
    Backend, Contestant, CpuFacts, Experiment, Machine, PolicyClass, SchedulerChoice, TaskGroup,
    Words, Workload, refusal,
};

use crate::machine::SMT_PERCENT;
use crate::today;

/// A part of an experiment, before machines and repeats.
pub type Part<'a> = (Backend, &'a Contestant, &'a Workload);

/// Every combination that its backend can run, in the experiment's order.
pub fn runnable(experiment: &Experiment) -> Vec<Part<'_>> {
    let is_absent = |backend: Backend, contestant: &Contestant| {
        backend.uses_running_kernel() && experiment.not_on_live.contains(&contestant.name)
    };
    let all = parts(experiment).into_iter();
    all.filter(|&(backend, contestant, workload)| {
        !is_absent(backend, contestant) && why_not(backend, contestant, workload).is_none()
    })
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
        SchedulerChoice::Program { command, in_simulator: None } => {
            let get = match command.as_slice() {
                [program] if today::named(program).is_some() => {
                    format!("; `fairground get {program}` brings its file")
                }
                _ => String::new(),
            };
            Some(format!("{name} is an installed program, which the simulator cannot run{get}"))
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
        SchedulerChoice::Program { .. }
        | SchedulerChoice::Policy { .. }
        | SchedulerChoice::File { .. } => None,
    }
}

/// Whether every task of the workload is in a class above the fair one when `class` is the policy
/// of those that choose none.
fn above_fair(class: PolicyClass, workload: &Workload) -> bool {
    let class_of = |group: &TaskGroup| group.policy.as_ref().map_or(class, |policy| policy.class);
    let fair = [PolicyClass::Other, PolicyClass::Batch, PolicyClass::Idle];
    !workload.tasks.iter().any(|group| fair.contains(&class_of(group)))
}

/// A sentence for each machine and backend of the experiment with fields that the backend ignores.
pub fn ignored_fields(experiment: &Experiment) -> Vec<String> {
    let mut notes = Vec::new();
    for &backend in &experiment.backends {
        for machine in experiment.machines.iter().filter(|machine| experiment.has(backend, machine))
        {
            let fields = fields(backend, machine);
            if !fields.is_empty() {
                notes.push(sentence(backend, machine, &fields));
            }
            notes.extend(turns(backend, machine));
        }
    }
    notes
}

/// Why a machine of the experiment is larger than one of its backends can have; `None` if all fit.
pub fn why_impossible(experiment: &Experiment) -> Option<String> {
    experiment.backends.iter().find_map(|&backend| {
        let most = backend.cpus_max()?;
        let mut machines = experiment.machines.iter();
        let large =
            machines.find(|machine| machine.cpus > most && experiment.has(backend, machine))?;
        let (name, cpus, noun) = (&large.name, large.cpus, backend.noun());
        Some(format!("{name} has {cpus} CPUs, and {noun} has at most {most}"))
    })
}

/// Which contestant's user space refuses which machine of the experiment, and why; `None` if none
/// does.
pub fn why_refused(experiment: &Experiment) -> Option<String> {
    experiment.contestants.iter().find_map(|contestant| {
        let values = contestant.scheduler.values();
        experiment.machines.iter().find_map(|machine| {
            let words = Words { cpus: CpuFacts::of(machine), ..Words::default() };
            let why = refusal::check(&values, &words).err()?;
            Some(format!("{} does not run on {}: {why}", contestant.name, machine.name))
        })
    })
}

/// The fields that are set and ignored.
fn fields(backend: Backend, machine: &Machine) -> Vec<&'static str> {
    let usual = Machine::default();
    let shape = !backend.shapes_machine();
    let kernels = !backend.is_model();
    let shares = [usual.smt_percent, SMT_PERCENT];
    let all = [
        ("smt", shape && machine.smt != usual.smt),
        ("smt_percent", kernels && !shares.contains(&machine.smt_percent)),
        ("boost_percent", kernels && !machine.boost_percent.is_empty()),
        ("llcs", shape && machine.llcs != usual.llcs),
        ("nodes", shape && machine.nodes != usual.nodes),
        ("capacity", kernels && !machine.capacity.is_empty()),
        ("hz", kernels && machine.hz != usual.hz),
        ("rt_runtime_us", shape && machine.rt_runtime_us != usual.rt_runtime_us),
        ("autogroup", shape && machine.autogroup != usual.autogroup),
    ];
    all.into_iter().filter(|(_, is_ignored)| *is_ignored).map(|(name, _)| name).collect()
}

/// A sentence if CPUs take no turns and the file says how long they are.
fn turns(backend: Backend, machine: &Machine) -> Option<String> {
    let usual = Machine::default();
    let is_said = machine.quantum_ns != usual.quantum_ns || machine.pause_ns != usual.pause_ns;
    let take_turns = backend.boots_kernels() && machine.counts_several_cpus();
    (is_said && !backend.is_model() && !take_turns).then(|| {
        format!(
            "quantum_ns and pause_ns of {} are ignored by {}: CPUs take turns only where a virtual \
             machine has several and clock = \"virtual\"",
            machine.name,
            backend.word()
        )
    })
}

fn sentence(backend: Backend, machine: &Machine, fields: &[&str]) -> String {
    let why = if backend.shapes_machine() {
        "a real kernel has its own"
    } else {
        "the machine that we are on has its own"
    };
    let verb = if fields.len() == 1 { "is" } else { "are" };
    let (name, fields, backend) = (&machine.name, fields.join(", "), backend.word());
    format!("{fields} of {name} {verb} ignored by {backend}: {why}")
}

/// A sentence for each recording that no machine plays on as many CPUs as it was made on.
pub fn played_on_others(experiment: &Experiment) -> Vec<String> {
    let has = |cpus: u32| experiment.machines.iter().any(|machine| machine.cpus == cpus);
    let note = |workload: &Workload| {
        let cpus = workload.recording.as_ref()?.cpus;
        let name = &workload.name;
        (cpus > 0 && !has(cpus)).then(|| {
            let played = experiment.machines[0].cpus;
            format!(
                "{name} was recorded on {cpus} CPUs and is played on {played}; --machine \
                 counted_{cpus} has as many"
            )
        })
    };
    let notes: BTreeSet<String> = experiment.workloads.iter().filter_map(note).collect();
    notes.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use model::Clock;

    use super::*;

    fn said(backends: &[Backend], machine: Machine) -> Vec<String> {
        ignored_fields(&Experiment {
            backends: backends.to_vec(),
            machines: vec![machine],
            ..Experiment::default()
        })
    }

    #[test]
    fn each_backend_says_what_it_cannot_heed() {
        let name = "big".to_owned();
        let machine = Machine { name, cpus: 4, smt: 2, nodes: 2, hz: 1000, ..Machine::default() };
        assert!(said(&[Backend::Sim], machine.clone()).is_empty());
        assert_eq!(
            said(&[Backend::Sim, Backend::Vm], machine.clone()),
            ["hz of big is ignored by vm: a real kernel has its own"]
        );
        assert_eq!(
            said(&[Backend::Live], machine),
            ["smt, nodes, hz of big are ignored by live: the machine that we are on has its \
                own"]
        );
        assert!(said(&[Backend::Vm, Backend::Live], Machine::default()).is_empty());
    }

    #[test]
    fn turns_are_those_of_several_counted_cpus() {
        let counted =
            Machine { quantum_ns: 200, cpus: 2, clock: Clock::Virtual, ..machine("counted") };
        assert!(said(&[Backend::Sim, Backend::Vm], counted.clone()).is_empty());
        let notes = said(&[Backend::Vm], Machine { cpus: 1, ..counted });
        assert!(notes[0].starts_with("quantum_ns and pause_ns of counted are ignored by vm"));
    }

    fn machine(name: &str) -> Machine {
        Machine { name: name.into(), ..Machine::default() }
    }
}
