// SPDX-License-Identifier: GPL-2.0-only
//! This machine: its CPUs, its kernel, and what this user may do on it.

use std::fs::OpenOptions;
use std::path::Path;

use anyhow::{Context as _, Result};
use live::facts::{self, Context, active, topology};
use model::{ActiveScheduler, Backend, Machine};

use super::in_use;
use super::race::VM_KERNEL;
use crate::execution::locations::data_folder;
use crate::exit::bad_input;
use crate::output;
use crate::planned_experiment::host_cpus;
use spec::contestants::RunningKernel;
use spec::machine::{self, HERE};
use vm::{emulator, installed, kernels, qemu};

/// The first kernel series with CFS; earlier ones have schedulers of other files.
const OLDEST_FAIR: in_use::Version = (2, 6);
const FIRST_EEVDF: in_use::Version = (6, 6);
/// One CPU that counts instructions.
const COUNTING: &str = "uniprocessor";
/// The most CPUs of a virtual machine that counts: more take too long.
pub const COUNTED_MOST: u32 = 8;

/// This machine and its kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// The machine file `here`, with this machine's cores, caches and nodes.
    pub machine: Machine,
    pub release: String,
    /// The kernel's own scheduler: `cfs`, `eevdf`, `bore_cfs` or `bore`.
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
    let sched_ext = sched_ext(&active);
    let hz = facts.kernel_facts.get("HZ").and_then(|hz| hz.parse().ok());
    Ok(Host {
        machine: here(hz)?,
        release: facts.kernel_release,
        fair: active.fair,
        sched_ext,
        is_root: live::facts::is_root(),
    })
}

fn sched_ext(active: &ActiveScheduler) -> SchedExt {
    match active.sched_ext_state.as_str() {
        "absent" => SchedExt::Absent,
        "enabled" | "enabling" => SchedExt::Taken(active.sched_ext_ops.clone()),
        _ => SchedExt::Free,
    }
}

/// The running kernel, as experiments on `live` ask for it.
pub fn running_kernel() -> RunningKernel {
    let release = facts::provenance(&Context::default()).kernel_release;
    let sched_ext = sched_ext(&active());
    let can_load = live::facts::is_root() && sched_ext == SchedExt::Free;
    let no_sched_ext = (!can_load).then(|| why_not_load(&sched_ext, &release));
    RunningKernel { release, no_sched_ext }
}

fn why_not_load(sched_ext: &SchedExt, release: &str) -> String {
    match sched_ext {
        SchedExt::Absent => format!("Linux {release} here has no sched_ext"),
        SchedExt::Taken(name) => format!("the sched_ext scheduler `{name}` is running here"),
        SchedExt::Free => "only root may load schedulers (sudo, --on live)".into(),
    }
}

/// The machine `here` with its cores, caches and nodes. If this process may use only some CPUs, or
/// they do not divide evenly, it has as many CPUs and no further structure.
fn here(hz: Option<u32>) -> Result<Machine> {
    let plain = machine::load(HERE, Path::new(""), host_cpus())?;
    let (hz, autogroup) = (hz.unwrap_or(plain.hz), live::group_settings::is_on());
    let plain = Machine { hz, autogroup, ..plain };
    let seen = topology();
    let smt_percent = if seen.smt > 1 { machine::SMT_PERCENT } else { plain.smt_percent };
    let [smt, llcs, nodes] = [seen.smt, seen.llcs, seen.nodes];
    let detailed = Machine { smt, smt_percent, llcs, nodes, ..plain.clone() };
    let all_ours = seen.cpus == plain.cpus;
    Ok(if all_ours && machine::divides(&detailed) { detailed } else { plain })
}

impl Host {
    /// The same machine, where another kernel's scheduler is in use.
    ///
    /// # Errors
    /// If the text is no version.
    pub fn with_kernel(self, kernel: &str) -> Result<Host> {
        let version = in_use::version(kernel);
        let is_version = kernel.split('.').all(|part| part.parse::<u32>().is_ok());
        if !is_version || version < OLDEST_FAIR {
            return Err(bad_input(format!("--kernel {kernel}: write a version such as 6.12")));
        }
        let fair = if version >= FIRST_EEVDF { "eevdf" } else { "cfs" };
        Ok(Host { release: kernel.to_owned(), fair: fair.to_owned(), ..self })
    }

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

    /// Refuses a backend that cannot be used now.
    pub fn check(&self, on: Backend) -> Result<()> {
        match &self.sched_ext {
            SchedExt::Taken(name) if on.uses_running_kernel() => Err(bad_input(format!(
                "--on live: the sched_ext scheduler `{name}` is running; stop it first, or write \
                 --on sim"
            ))),
            _ => Ok(()),
        }
    }

    pub fn why_not_load(&self) -> String {
        why_not_load(&self.sched_ext, &self.release)
    }
}

/// The machine of a race on one backend; and why it is not this one, if the user did not name it.
pub fn machine_for(
    backend: Backend,
    named: Option<&str>,
    host: &Host,
) -> Result<(Machine, Option<String>)> {
    let load = |name| machine::load(name, Path::new(""), host_cpus());
    match named {
        Some(HERE) if !backend.uses_running_kernel() => Ok((host.machine.clone(), None)),
        Some(named) => Ok((load(named)?, None)),
        None if backend.boots_kernels() => virtual_machine(host),
        None if backend.uses_running_kernel() => Ok((load(HERE)?, None)),
        None => Ok((host.machine.clone(), None)),
    }
}

/// A machine of virtual machines with this many CPUs in virtual time, at most [`COUNTED_MOST`].
pub fn counted(cpus: u32) -> Result<Machine> {
    let cpus = cpus.clamp(1, COUNTED_MOST);
    let file = match cpus {
        1 => COUNTING,
        2 => "counted_2",
        _ => "counted_4",
    };
    let machine = machine::load(file, Path::new(""), cpus)?;
    let memory_mib = machine.memory_mib.max(256 * cpus);
    if machine.cpus == cpus {
        return Ok(machine);
    }
    Ok(Machine {
        name: format!("counted_{cpus}"),
        about: String::new(),
        cpus,
        memory_mib,
        ..machine
    })
}

/// A machine that is emulated in real time shows the speed of the emulation and what else the host
/// does, so without KVM it is one CPU that counts.
fn virtual_machine(host: &Host) -> Result<(Machine, Option<String>)> {
    let Some(why) = without_kvm()? else { return Ok((host.machine.clone(), None)) };
    output::tell(format_args!(
        "KVM does not work ({why}): on one CPU in virtual time; --machine here emulates all in \
         real time"
    ));
    Ok((counted(1)?, Some("KVM does not work here".into())))
}

/// Why no kernel can be booted here in virtual time on this many CPUs, and the command that changes
/// it.
pub fn why_no_boot(cpus: u32, offline: bool) -> Option<String> {
    let no_qemu = || qemu::version().err().map(|error| format!("{error:#}"));
    let home = data_folder().ok();
    let no_emulator = || {
        let has = home.as_deref().is_some_and(|home| matches!(emulator::find(home), Ok(Some(_))));
        (cpus > 1 && !has).then(|| {
            format!("{cpus} CPUs in virtual time need the emulator: {}", emulator::COMMAND)
        })
    };
    let no_kernel = || {
        let has = home.as_deref().is_some_and(|home| kernels::find(home, VM_KERNEL).is_ok());
        let (pull, give) = ("fairground kernel pull", "fairground kernel use --running");
        match (has, installed::find("apt-get")) {
            (true, _) => None,
            (_, Some(_)) if !offline => None,
            (_, Some(_)) => Some(format!("no kernel is here, and none may be downloaded: {pull}")),
            (_, None) => Some(format!("no kernel is here, and no apt to get one: {give}")),
        }
    };
    no_qemu().or_else(no_emulator).or_else(no_kernel)
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
    fn schedulers_are_loaded_only_where_that_can_be_done() {
        assert!(host(SchedExt::Free, true).can_load());
        let why = |sched_ext, is_root| {
            let host = host(sched_ext, is_root);
            assert!(!host.can_load());
            host.why_not_load()
        };
        assert!(why(SchedExt::Free, false).contains("only root"));
        assert!(why(SchedExt::Absent, true).contains("6.18.1 here has no sched_ext"));
        assert!(why(SchedExt::Taken("lavd".into()), true).contains("`lavd` is running"));
        let taken = host(SchedExt::Taken("lavd".into()), true);
        let error = taken.check(Backend::Live).expect_err("refused").to_string();
        assert!(error.contains("stop it first") && taken.check(Backend::Vm).is_ok(), "{error}");
    }

    #[test]
    fn the_scheduler_in_use_can_be_that_of_another_kernel() {
        let of = |kernel| host(SchedExt::Absent, false).with_kernel(kernel);
        let fair = |kernel| of(kernel).expect("a version").fair;
        assert_eq!([fair("6.6"), fair("6.12.3"), fair("7.0")], ["eevdf"; 3]);
        assert_eq!([fair("6.5"), fair("5.10")], ["cfs"; 2]);
        for wrong in ["", "mine", "6.x", "2.4", "6.12-rc1"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn any_number_of_cpus_up_to_eight_can_count() {
        let found = |cpus| counted(cpus).map(|machine| (machine.name, machine.cpus)).expect("it");
        let names = ["uniprocessor", "counted_2", "counted_3", "counted_4", "counted_8"];
        for (cpus, name) in [1, 2, 3, 4, 8].into_iter().zip(names) {
            assert_eq!(found(cpus), (name.into(), cpus));
        }
        assert_eq!(found(64), ("counted_8".into(), 8));
    }

    #[test]
    fn this_machine_can_be_looked_at() {
        let host = this_machine().expect("a look");
        assert!(host.machine.cpus > 0 && machine::divides(&host.machine));
        let known = ["cfs", "eevdf", "bore_cfs", "bore"];
        assert!(known.contains(&host.fair.as_str()), "{}", host.fair);
        let words = Host::words(&Machine { name: "here".into(), cpus: 4, smt: 2, ..host.machine });
        assert!(words.starts_with("here: 4 CPUs in 2 cores, "), "{words}");
    }
}
