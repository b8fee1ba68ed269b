// SPDX-License-Identifier: GPL-2.0-only
//! This machine: its CPUs, its kernel, and what this user may do on it.

use std::fs::OpenOptions;
use std::path::Path;

use anyhow::{Context as _, Result};
use live::active::active;
use live::facts;
use live::facts::Context;
use live::topology::topology;
use model::{Backend, Machine};

use super::core_sharing;
use super::race::VM_KERNEL;
use crate::execution::locations::data_folder;
use crate::exit::bad_input;
use crate::output;
use crate::planned_experiment::host_cpus;
use spec::machine::{self, HERE};
use vm::kernels;

/// One CPU that counts instructions.
const COUNTING: &str = "uniprocessor";

/// This machine and its kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// The machine file `here`, with this machine's cores, caches and nodes.
    pub machine: Machine,
    pub release: String,
    /// The kernel's own scheduler: `cfs` or `eevdf`.
    pub fair: String,
    pub sched_ext: SchedExt,
    pub is_root: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchedExt {
    Absent,
    Free,
    Taken(String),
}

pub fn this_machine() -> Result<Host> {
    let facts = facts::provenance(&Context::default());
    let active = active();
    let sched_ext = match active.sched_ext_state.as_str() {
        "absent" => SchedExt::Absent,
        "enabled" | "enabling" => SchedExt::Taken(active.sched_ext_ops),
        _ => SchedExt::Free,
    };
    let hz = facts.kernel_facts.get("HZ").and_then(|hz| hz.parse().ok());
    Ok(Host {
        machine: here(hz)?,
        release: facts.kernel_release,
        fair: active.fair,
        sched_ext,
        is_root: live::facts::is_root(),
    })
}

/// The machine `here` with its cores, caches and nodes. If this process may use only some CPUs, or
/// they do not divide evenly, it has as many CPUs and no further structure.
fn here(hz: Option<u32>) -> Result<Machine> {
    let plain = machine::load(HERE, Path::new(""), host_cpus())?;
    let plain = Machine { hz: hz.unwrap_or(plain.hz), ..plain };
    let seen = topology();
    let smt_percent = if seen.smt > 1 { share()? } else { plain.smt_percent };
    let [smt, llcs, nodes] = [seen.smt, seen.llcs, seen.nodes];
    let detailed = Machine { smt, smt_percent, llcs, nodes, ..plain.clone() };
    let all_ours = seen.cpus == plain.cpus;
    Ok(if all_ours && machine::divides(&detailed) { detailed } else { plain })
}

/// What a thread has beside its sibling: as measured here, else as usual.
fn share() -> Result<u32> {
    let Ok(home) = data_folder() else { return Ok(machine::SMT_PERCENT) };
    Ok(core_sharing::measured(&home)?.unwrap_or(machine::SMT_PERCENT))
}

impl Host {
    /// The machine in words: `here: 4 CPUs in 2 cores, …`.
    pub fn words(machine: &Machine) -> String {
        let plural = |count: u32, noun: &str| match count {
            1 => format!("1 {noun}"),
            _ => format!("{count} {noun}s"),
        };
        let Machine { name, cpus, smt, llcs, nodes, hz, .. } = machine;
        format!(
            "{name}: {} in {}, {}, {}, {hz} ticks a second",
            plural(*cpus, "CPU"),
            plural(cpus / smt, "core"),
            plural(*llcs, "last-level cache"),
            plural(*nodes, "node"),
        )
    }

    pub fn can_load(&self) -> bool {
        self.is_root && self.sched_ext == SchedExt::Free
    }

    /// The backend; and why, if the user did not choose it. `elsewhere`: the race is for another
    /// machine.
    pub fn backend(
        &self,
        on: Option<Backend>,
        elsewhere: bool,
    ) -> Result<(Backend, Option<String>)> {
        if let (Some(Backend::Live), SchedExt::Taken(name)) = (on, &self.sched_ext) {
            return Err(bad_input(format!(
                "--on live: the sched_ext scheduler `{name}` is running; stop it first, or write \
                 --on sim"
            )));
        }
        if let Some(on) = on {
            return Ok((on, None));
        }
        if elsewhere {
            return Ok((Backend::MODEL, Some("the machine is not this one".into())));
        }
        if self.can_load() {
            return Ok((Backend::Live, None));
        }
        Ok((Backend::MODEL, Some(self.why_not_load())))
    }

    pub fn why_not_load(&self) -> String {
        match &self.sched_ext {
            SchedExt::Absent => format!("Linux {} here has no sched_ext", self.release),
            SchedExt::Taken(name) => format!("the sched_ext scheduler `{name}` is running here"),
            SchedExt::Free => "only root may load schedulers (sudo, --on live)".into(),
        }
    }
}

/// The machine's name; and why it is not this one, if the user did not name it.
pub fn machine_for(backend: Backend, named: Option<&str>) -> Result<(String, Option<String>)> {
    match (named, backend) {
        (Some(named), _) => Ok((named.into(), None)),
        (None, backend) if backend.boots_kernels() => virtual_machine(),
        (None, _) => Ok((HERE.into(), None)),
    }
}

/// A machine that is emulated in real time shows the speed of the emulation and what else the
/// host does. With counted instructions numbers are exact, but only one CPU can be emulated.
fn virtual_machine() -> Result<(String, Option<String>)> {
    let Some(why) = without_kvm()? else { return Ok((HERE.into(), None)) };
    output::tell(format_args!(
        "KVM does not work ({why}): on one CPU in virtual time; --machine here emulates all in \
         real time"
    ));
    Ok((COUNTING.into(), Some("KVM does not work here".into())))
}

/// Why KVM does not work. Without a kernel to try, what the device says is believed; the campaign
/// downloads the kernel.
fn without_kvm() -> Result<Option<String>> {
    let Ok(kernel) = kernels::find(&data_folder()?, VM_KERNEL) else {
        let device = OpenOptions::new().read(true).write(true).open("/dev/kvm");
        return Ok(device.err().map(|error| format!("/dev/kvm: {error}")));
    };
    let executable = std::env::current_exe().context("cannot find this program's own file")?;
    Ok(vm::kvm(&kernel, &executable).err().map(|why| why.short()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(sched_ext: SchedExt, is_root: bool) -> Host {
        let machine = Machine { name: "here".into(), cpus: 4, smt: 2, ..Machine::default() };
        let (release, fair) = ("6.18.1".into(), "eevdf".into());
        Host { machine, release, fair, sched_ext, is_root }
    }

    #[test]
    fn live_is_chosen_only_where_schedulers_can_be_loaded() {
        let chosen = |sched_ext, is_root| {
            let (backend, why) = host(sched_ext, is_root).backend(None, false).expect("a choice");
            (backend, why.unwrap_or_default())
        };
        assert_eq!(chosen(SchedExt::Free, true), (Backend::Live, String::new()));
        let (backend, why) = chosen(SchedExt::Free, false);
        assert!(backend == Backend::Sim && why.contains("only root"), "{why}");
        let (backend, why) = chosen(SchedExt::Absent, true);
        assert!(backend == Backend::Sim && why.contains("6.18.1 here has no sched_ext"), "{why}");
        let (backend, why) = chosen(SchedExt::Taken("lavd".into()), true);
        assert!(backend == Backend::Sim && why.contains("`lavd` is running"), "{why}");
    }

    #[test]
    fn the_backend_of_the_option_is_used_unless_a_scheduler_is_loaded() {
        let free = host(SchedExt::Free, true);
        assert_eq!(free.backend(Some(Backend::Vm), false).expect("a choice"), (Backend::Vm, None));
        assert_eq!(free.backend(None, true).expect("a choice").0, Backend::Sim);
        let taken = host(SchedExt::Taken("lavd".into()), true);
        let error = taken.backend(Some(Backend::Live), false).expect_err("refused").to_string();
        assert!(error.contains("stop it first"), "{error}");
    }

    #[test]
    fn this_machine_can_be_looked_at() {
        let host = this_machine().expect("a look");
        assert!(host.machine.cpus > 0 && machine::divides(&host.machine));
        assert!(["cfs", "eevdf"].contains(&host.fair.as_str()), "{}", host.fair);
        let words = Host::words(&Machine { name: "here".into(), cpus: 4, smt: 2, ..host.machine });
        assert!(words.starts_with("here: 4 CPUs in 2 cores, "), "{words}");
    }
}
