// SPDX-License-Identifier: GPL-2.0-only
//! What a backend cannot take over from a machine's file, known before anything runs: the user is
//! told, or refused where it could not run at all.

use model::{Backend, Experiment, Machine};

/// What QEMU's `q35` carries.
pub const VM_CPUS_MAX: u32 = 255;

/// A sentence for each machine's field that a backend of the experiment does not heed.
pub fn unheeded(experiment: &Experiment) -> Vec<String> {
    let mut notes = Vec::new();
    for &backend in &experiment.backends {
        for machine in experiment.machines.iter().filter(|one| experiment.has(backend, one)) {
            let fields = fields(backend, machine);
            if !fields.is_empty() {
                notes.push(sentence(backend, machine, &fields));
            }
        }
    }
    notes
}

/// Why a machine cannot be had on a backend at all.
pub fn impossible(experiment: &Experiment) -> Option<String> {
    let vm = experiment.backends.contains(&Backend::Vm);
    let too_large =
        |machine: &&Machine| machine.cpus > VM_CPUS_MAX && experiment.has(Backend::Vm, machine);
    let large = experiment.machines.iter().find(too_large);
    large.filter(|_| vm).map(|machine| {
        format!(
            "{} has {} CPUs, and a virtual machine has at most {VM_CPUS_MAX}",
            machine.name, machine.cpus
        )
    })
}

/// The fields that are set and not heeded.
fn fields(backend: Backend, machine: &Machine) -> Vec<&'static str> {
    let usual = Machine::default();
    let shape = backend == Backend::Live;
    let kernels = backend != Backend::Sim;
    let all = [
        ("smt", shape && machine.smt != usual.smt),
        ("llcs", shape && machine.llcs != usual.llcs),
        ("nodes", shape && machine.nodes != usual.nodes),
        ("capacity", kernels && !machine.capacity.is_empty()),
        ("hz", kernels && machine.hz != usual.hz),
        ("rt_runtime_us", shape && machine.rt_runtime_us != usual.rt_runtime_us),
    ];
    all.into_iter().filter(|(_, is_unheeded)| *is_unheeded).map(|(name, _)| name).collect()
}

fn sentence(backend: Backend, machine: &Machine, fields: &[&str]) -> String {
    let why = match backend {
        Backend::Live => "the machine that we are on has its own",
        _ => "a real kernel has its own",
    };
    let verb = if fields.len() == 1 { "is" } else { "are" };
    let (name, fields, backend) = (&machine.name, fields.join(", "), backend.word());
    format!("{fields} of {name} {verb} not heeded by {backend}: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(backends: &[Backend], machine: Machine) -> Vec<String> {
        unheeded(&Experiment {
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
            runs_per_boot: 1,
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
            ["hz of big is not heeded by vm: a real kernel has its own"]
        );
        assert_eq!(
            said(&[Backend::Live], machine),
            ["smt, nodes, hz of big are not heeded by live: the machine that we are on has its \
                own"]
        );
        assert!(said(&[Backend::Vm, Backend::Live], Machine::default()).is_empty());
    }
}
