// SPDX-License-Identifier: GPL-2.0-only
//! The fields of a machine's file that a backend ignores. The user is told, or refused if the
//! machine is impossible there.

use model::{Backend, Experiment, Machine};

use crate::machine::SMT_PERCENT;

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

/// The fields that are set and ignored.
fn fields(backend: Backend, machine: &Machine) -> Vec<&'static str> {
    let usual = Machine::default();
    let shape = !backend.shapes_machine();
    let kernels = !backend.is_model();
    let share = if machine.smt > 1 { SMT_PERCENT } else { usual.smt_percent };
    let all = [
        ("smt", shape && machine.smt != usual.smt),
        ("smt_percent", kernels && machine.smt_percent != share),
        ("boost_percent", kernels && !machine.boost_percent.is_empty()),
        ("llcs", shape && machine.llcs != usual.llcs),
        ("nodes", shape && machine.nodes != usual.nodes),
        ("capacity", kernels && !machine.capacity.is_empty()),
        ("hz", kernels && machine.hz != usual.hz),
        ("rt_runtime_us", shape && machine.rt_runtime_us != usual.rt_runtime_us),
    ];
    all.into_iter().filter(|(_, is_ignored)| *is_ignored).map(|(name, _)| name).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn said(backends: &[Backend], machine: Machine) -> Vec<String> {
        ignored_fields(&Experiment {
            name: String::new(),
            question: String::new(),
            backends: backends.to_vec(),
            baseline: String::new(),
            contestants: Vec::new(),
            workloads: Vec::new(),
            scaled: Vec::new(),
            only_on: Default::default(),
            machines: vec![machine],
            blocks: 1,
            trials_per_boot: 1,
            timeout_ms: 1,
            trace: Vec::new(),
            design: Default::default(),
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
}
