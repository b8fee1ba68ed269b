// SPDX-License-Identifier: GPL-2.0-only
//! A machine file → [`model::Machine`].

use std::ops::RangeInclusive;
use std::path::Path;

use model::play::Refusal;
use model::{Backend, Machine, Workload};

use super::SpecError;
use super::source::Document;
use crate::assets::{self, Asset, Kind};

/// The machine file that stands for the host.
pub use model::machine::HERE;
/// The machine whose costs the others of its kind have, see [`load`].
const COUNTED: &str = "counted_4";
/// The most CPUs of a machine: what the kernel's masks of CPUs can hold.
pub const CPUS_MAX: u32 = 8192;
/// The least memory in MiB that a kernel with its initramfs boots in.
const MEMORY_MIB_MIN: u32 = 128;
/// The shortest and the longest turn of a CPU under the virtual clock, ns.
const QUANTUM_NS: RangeInclusive<u32> = 50..=1_000_000;
/// What a `PAUSE` instruction may take, ns.
const PAUSE_NS: RangeInclusive<u32> = 1..=1_000;
/// What a thread has of its core while its sibling is busy, per cent, if a file does not say it.
/// Two threads of today's cores do 1.1 to 1.3 times the work of one.
pub const SMT_PERCENT: u32 = 60;
/// The slowest and the fastest that a CPU can become, per cent.
const SPEED_PERCENT: RangeInclusive<u32> = 1..=1000;
/// Advice for `rt_runtime_us`.
const RT_RUNTIME: &str = "write 0 … 1000000, or -1 for no limit";

/// Reads a machine by name or path; the machine `here` has `host_cpus`.
///
/// `counted_16` is `counted_4` with 16 CPUs, unless there is a built-in file of that name.
pub fn load(name: &str, base: &Path, host_cpus: u32) -> Result<Machine, SpecError> {
    match counted(name).filter(|_| assets::builtin(Kind::Machine, name).is_none()) {
        Some(cpus) => {
            assets::note_shadowed_by_file(Kind::Machine, name, "");
            let model = read(&assets::find(Kind::Machine, COUNTED, base)?, host_cpus)?;
            let about = format!("{cpus} CPUs in virtual time, with the costs of `{COUNTED}`");
            Ok(Machine { name: name.to_owned(), about, cpus, ..model })
        }
        None => read(&assets::find(Kind::Machine, name, base)?, host_cpus),
    }
}

/// The machine for recordings that were all made on the same number of CPUs, if they were made on
/// several.
pub fn of_recordings(workloads: &[Workload], host_cpus: u32) -> Result<Option<Machine>, SpecError> {
    let cpus = |workload: &Workload| workload.recording.as_ref().map_or(0, |its| its.cpus);
    let several = workloads.first().map(cpus).filter(|cpus| *cpus > 1);
    match several.filter(|several| workloads.iter().all(|workload| cpus(workload) == *several)) {
        Some(several) => load(&format!("counted_{several}"), Path::new(""), host_cpus).map(Some),
        None => Ok(None),
    }
}

/// The number of CPUs in `counted_16`.
fn counted(name: &str) -> Option<u32> {
    let cpus = name.strip_prefix("counted_")?.parse().ok()?;
    (1..=CPUS_MAX).contains(&cpus).then_some(cpus)
}

pub fn read(asset: &Asset, host_cpus: u32) -> Result<Machine, SpecError> {
    let mut document = Document::parse(&asset.label, &asset.text)?;
    document.set_name(&asset.stem)?;
    let mut machine: Machine = document.read()?;
    if machine.smt > 1 && !document.places.has("smt_percent") {
        machine.smt_percent = SMT_PERCENT;
    }
    if machine.cpus == 0 && machine.name == HERE {
        machine.cpus = host_cpus.max(1);
    }
    match fault(&machine) {
        Some(Refusal { path, message, hint }) => {
            Err(document.places.error(&path, message).hint(hint))
        }
        None => Ok(machine),
    }
}

/// What no machine can have; `None` if it is one.
pub fn fault(machine: &Machine) -> Option<Refusal> {
    let refusal = |path: &str, message: String, hint: String| {
        Some(Refusal { path: path.into(), message, hint })
    };
    let speeds_or_cpus = impossible_speed(machine).or_else(|| impossible_cpus(machine));
    if speeds_or_cpus.is_some() {
        return speeds_or_cpus;
    }
    if machine.memory_mib < MEMORY_MIB_MIN {
        let message = format!("{} MiB are too little to boot", machine.memory_mib);
        return refusal("memory_mib", message, format!("write {MEMORY_MIB_MIN} or more"));
    }
    if !(-1..=1_000_000).contains(&machine.rt_runtime_us) {
        let message = format!("{} µs are no part of a second", machine.rt_runtime_us);
        return refusal("rt_runtime_us", message, RT_RUNTIME.into());
    }
    let turns =
        [("quantum_ns", machine.quantum_ns, QUANTUM_NS), ("pause_ns", machine.pause_ns, PAUSE_NS)];
    for (name, value, range) in turns {
        if !range.contains(&value) {
            let hint = format!("write {} … {}", range.start(), range.end());
            return refusal(name, format!("{name} = {value} is out of range"), hint);
        }
    }
    uneven(machine).and_then(|(field, message, hint)| refusal(field, message, hint.into()))
}

/// Whether a kernel runs on so many CPUs; 0 stands for the host's, in `here` alone.
fn impossible_cpus(machine: &Machine) -> Option<Refusal> {
    let message = match machine.cpus {
        0 => "a machine without a CPU".to_owned(),
        cpus if cpus > CPUS_MAX => format!("{cpus} CPUs are too many for a kernel"),
        _ => return None,
    };
    let hint = format!("write 1 … {CPUS_MAX}; the machine `{HERE}` has as many as this host");
    Some(Refusal { path: "cpus".into(), message, hint })
}

/// Whether the speeds of threads and cores are some that no CPU can have.
fn impossible_speed(machine: &Machine) -> Option<Refusal> {
    let Machine { smt_percent, boost_percent, .. } = machine;
    if !(1..=100).contains(smt_percent) {
        let message = format!("{smt_percent} per cent of a core are no thread's share");
        let hint = "write 1 … 100, today about 60".into();
        return Some(Refusal { path: "smt_percent".into(), message, hint });
    }
    let outside = boost_percent.iter().position(|percent| !SPEED_PERCENT.contains(percent));
    outside.map(|index| Refusal {
        path: format!("boost_percent[{index}]"),
        message: format!("{} per cent are no speed", boost_percent[index]),
        hint: "write 1 … 1000; 100 is the speed without a boost".into(),
    })
}

/// Whether its cores, caches and nodes divide evenly, as [`read`] demands.
pub fn divides(machine: &Machine) -> bool {
    uneven(machine).is_none()
}

/// What does not divide evenly. Caches and nodes have equal parts, and no core lies in two of them.
fn uneven(machine: &Machine) -> Option<(&'static str, String, &'static str)> {
    let Machine { cpus, smt, llcs, nodes, .. } = *machine;
    let capacities = machine.capacity.len();
    if smt == 0 || cpus % smt != 0 {
        let hint = "write a divisor of the number of CPUs, usually 1 or 2";
        return Some(("smt", format!("{cpus} CPUs do not make cores of {smt}"), hint));
    }
    if llcs == 0 || (cpus / smt) % llcs != 0 {
        let message = format!("{} cores cannot share {llcs} caches evenly", cpus / smt);
        return Some(("llcs", message, "write a divisor of the number of cores"));
    }
    if nodes == 0 || llcs % nodes != 0 {
        let message = format!("{llcs} last-level caches do not divide among {nodes} nodes");
        return Some(("nodes", message, "write a divisor of llcs; a cache serves one node"));
    }
    (capacities != 0 && capacities != cpus as usize).then(|| {
        let message = format!("{capacities} capacities for {cpus} CPUs");
        ("capacity", message, "write one for each CPU, or none")
    })
}
/// The backend before a machine's name, if there is one, and the name.
pub(crate) fn restricted(text: &str) -> (Option<Backend>, &str) {
    let only = |word: &str| {
        let mut shaping = Backend::EXECUTING.into_iter().filter(|on| on.shapes_machine());
        shaping.find(|backend| backend.word() == word)
    };
    match text.split_once(':').map(|(word, name)| (only(word), name)) {
        Some((Some(backend), name)) => (Some(backend), name),
        _ => (None, text),
    }
}
