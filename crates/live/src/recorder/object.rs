// SPDX-License-Identifier: GPL-2.0-only
//! Loading the recorder's programs.
//!
//! What recording costs: the programs' own time, as the kernel counts it, and this process's.

use std::collections::BTreeMap;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use compile::recorder_types::record_limit;
use libbpf_rs::{Link, Object, OpenObject};
use nix::sys::resource::{UsageWho, getrusage};

use super::{Settings, reason};
use crate::loader::built_in::BuiltIn;
use crate::probes::{count_runs, maps, run_statistics};

/// Slots for what was told of tasks, 8 bytes each.
const SLOTS_LEAST: usize = 1 << 12;
const SLOTS_MOST: usize = 1 << 20;

/// The program that is read once, instead of being attached to events.
const FIRST_LOOK: &str = "record_running";

/// Programs in the kernel. Dropping them detaches them.
pub struct Loaded {
    // Fields are dropped in order: the links first.
    pub links: Vec<Link>,
    pub first_look: Option<Link>,
    pub object: Object,
    pub messages: bool,
    pub built_in: BuiltIn,
}

/// Loads the programs and attaches them.
pub fn load(settings: &Settings) -> Result<Loaded, String> {
    load_for(settings, true).or_else(|_| load_for(settings, false))
}

/// Loads with or without the programs that tell of messages, which some kernels refuse.
fn load_for(settings: &Settings, wants_messages: bool) -> Result<Loaded, String> {
    let because = |error: libbpf_rs::Error| format!("the recorder cannot be attached: {error}");
    let cpus = libbpf_rs::num_possible_cpus().map_err(because)?;
    let recorder = BuiltIn::new("the recorder", compile::recorder_object())?;
    let (only, comm) = match &settings.only {
        Some(only) => (only.number(), only.comm()),
        None => (0, [0; 16]),
    };
    let constants: [(&str, &[u8]); 6] = [
        ("slot_mask", &(slots() as u32 - 1).to_le_bytes()),
        ("own_process", &std::process::id().to_le_bytes()),
        ("cpu_words", &(cpus.div_ceil(64).min(CPU_WORDS) as u32).to_le_bytes()),
        ("only", &only.to_le_bytes()),
        ("only_comm", &comm),
        ("takes_file", &reason::takes_file()),
    ];
    let object = recorder.load(&constants, |open| size(open, settings, cpus, wants_messages))?;
    let (mut links, mut first_look, mut messages) = (Vec::new(), None, false);
    for program in object.progs_mut().filter(|program| program.autoload()) {
        let link = maps::attach(&program).map_err(because)?;
        messages |= link.is_some() && maps::tells_messages(&program);
        if program.name() == FIRST_LOOK { first_look = link } else { links.extend(link) }
    }
    if first_look.is_none() {
        return Err("the recorder has no list of tasks".into());
    }
    Ok(Loaded { links, first_look, object, messages, built_in: recorder })
}

/// One slot for each task number, up to a limit of memory. A power of two.
fn slots() -> usize {
    maps::highest_number().next_power_of_two().clamp(SLOTS_LEAST, SLOTS_MOST)
}

fn size(
    open: &mut OpenObject,
    settings: &Settings,
    cpus: usize,
    messages: bool,
) -> libbpf_rs::Result<()> {
    for mut map in open.maps_mut() {
        match map.name().to_str() {
            Some("events") => map.set_max_entries(settings.buffer_bytes)?,
            Some("told") => map.set_max_entries(slots() as u32)?,
            Some("cpus") => map.set_max_entries(cpus as u32)?,
            _ => {}
        }
    }
    maps::choose(open, (maps::is_older(), messages), |_| true);
    Ok(())
}

pub use compile::recorder_types::{
    RecordCpu as CpuState, RecordEvent as RawEvent, RecordTask as TaskFacts, record_file as file,
    record_kind as kind, record_leaves as leaves, record_limit::NO_SYSCALL, record_only as only,
    record_waker as waker,
};

pub const SYSCALLS: usize = record_limit::SYSCALLS as usize;
/// CPUs with a place in [`TaskFacts::cpus`], by 64.
pub const CPU_WORDS: usize = record_limit::CPU_WORDS as usize;

/// The size of a pipe with this number of slots, in bytes; at most `u32::MAX`.
pub fn bytes_of(slots: u32) -> u32 {
    // SAFETY: no pointers.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    slots.saturating_mul(page_bytes as u32)
}

/// What is kept of the events in memory.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// The events, as CPUs have reserved their places.
    pub events: Vec<RawEvent>,
    /// What [`kind::TASK`]s say.
    pub facts: Vec<TaskFacts>,
}

impl Kept {
    pub fn keep(&mut self, bytes: &[u8]) {
        if bytes.len() < size_of::<RawEvent>() {
            return;
        }
        // SAFETY: long enough, and any bytes are an event.
        let mut event = unsafe { bytes.as_ptr().cast::<RawEvent>().read_unaligned() };
        if u32::from(event.kind) == kind::TASK && bytes.len() >= size_of::<TaskFacts>() {
            event.other = self.facts.len() as u32;
            // SAFETY: long enough, and any bytes are facts.
            self.facts.push(unsafe { bytes.as_ptr().cast::<TaskFacts>().read_unaligned() });
        }
        self.events.push(event);
    }

    /// Drops the events before an instant. The facts about tasks that are alive then stay, and so
    /// does which task runs on each CPU.
    pub fn forget_before(&mut self, time_ns: u64) {
        let (mut known, mut running) = (BTreeMap::new(), BTreeMap::new());
        let mut before: Vec<&RawEvent> =
            self.events.iter().filter(|event| event.time_ns < time_ns).collect();
        before.sort_by_key(|event| event.time_ns);
        for event in before {
            match u32::from(event.kind) {
                kind::TASK => _ = known.insert(event.task, *event),
                kind::EXIT => _ = known.remove(&event.task),
                kind::SWITCH => _ = running.insert(event.cpu, event.other),
                kind::RUNNING => _ = running.insert(event.cpu, event.task),
                _ => {}
            }
        }
        let (kind, other, detail) = (kind::RUNNING as u16, 0, 0);
        let running = running.into_iter().filter(|(_, task)| *task != 0);
        let running =
            running.map(|(cpu, task)| RawEvent { time_ns, task, other, detail, cpu, kind });
        let known = known.into_values().map(|event| RawEvent { time_ns, ..event });
        let after = self.events.iter().filter(|event| event.time_ns >= time_ns).copied();
        let mut events: Vec<RawEvent> = known.chain(running).chain(after).collect();
        let mut facts = Vec::new();
        for event in events.iter_mut().filter(|event| u32::from(event.kind) == kind::TASK) {
            if let Some(of_task) = self.facts.get(event.other as usize) {
                event.other = facts.len() as u32;
                facts.push(*of_task);
            }
        }
        (self.events, self.facts) = (events, facts);
    }

    pub fn bytes(&self) -> u64 {
        let (events, facts) = (self.events.len(), self.facts.len());
        (events * size_of::<RawEvent>() + facts * size_of::<TaskFacts>()) as u64
    }
}

/// CPU time that a recording took from the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// In the programs; `None` where the kernel does not count it for this user.
    pub programs_ns: Option<u64>,
    /// How often one of them ran.
    pub runs: u64,
    pub own_ns: u64,
    pub length_ns: u64,
    /// How many CPUs could work meanwhile.
    pub cpus: u32,
}

impl Cost {
    /// The part of the machine's CPU time, in percent.
    pub fn percent(&self) -> Option<f64> {
        let machine_ns = self.length_ns as f64 * f64::from(self.cpus);
        let taken_ns = (self.programs_ns? + self.own_ns) as f64;
        (machine_ns > 0.0).then(|| 100.0 * taken_ns / machine_ns)
    }

    /// What one event took of the task at work, on average; programs of other tasks and of
    /// interrupts ran, too.
    pub fn event_ns(&self) -> Option<u64> {
        self.programs_ns?.checked_div(self.runs)
    }
}

/// Counts while the programs are attached.
pub struct Meter {
    /// The kernel counts as long as this is open; `None`: it does not for this user.
    counting: Option<OwnedFd>,
    /// Runs and time.
    programs_before: (u64, u64),
    own_before: Duration,
}

impl Meter {
    pub fn start(object: &Object) -> Meter {
        Meter { counting: count_runs(), programs_before: programs(object), own_before: own_time() }
    }

    pub fn finish(&self, object: &Object, length_ns: u64, cpus: u32) -> Cost {
        let ((runs_before, before_ns), (runs, ns)) = (self.programs_before, programs(object));
        let programs_ns = ns.saturating_sub(before_ns);
        Cost {
            programs_ns: self.counting.as_ref().map(|_| programs_ns),
            runs: runs.saturating_sub(runs_before),
            own_ns: own_time().saturating_sub(self.own_before).as_nanos() as u64,
            length_ns,
            cpus,
        }
    }
}

/// How often all programs ran so far, and for how long, as far as it was counted.
fn programs(object: &Object) -> (u64, u64) {
    let loaded = object.progs().filter(|program| program.autoload());
    let counted = loaded.filter_map(|program| run_statistics(program.as_fd().as_raw_fd()));
    counted.fold((0, 0), |(runs, sum_ns), (more, ns)| (runs + more, sum_ns + ns))
}

/// The CPU time of this process.
fn own_time() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok();
    let of = |time: nix::sys::time::TimeVal| {
        Duration::new(time.tv_sec() as u64, time.tv_usec() as u32 * 1_000)
    };
    usage.map(|usage| of(usage.user_time()) + of(usage.system_time())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn the_programs_have_every_variable_that_is_looked_up() {
        let recorder = BuiltIn::new("the recorder", compile::recorder_object()).expect("types");
        for name in ["slot_mask", "own_process", "cpu_words", "only", "only_comm"] {
            recorder.variable(name, ".rodata");
        }
        for name in ["recording", "lost_events"] {
            recorder.offset(name);
        }
        assert_eq!(recorder.variable("takes_file", ".rodata").ty.size, SYSCALLS);
    }

    #[test]
    fn what_is_forgotten_leaves_who_was_there_and_who_ran() {
        let mut kept = Kept::default();
        let mut say = |time_ns, kind: u32, task, other, cpu| {
            let event = RawEvent { time_ns, task, other, detail: 0, cpu, kind: kind as u16 };
            if kind == kind::TASK {
                kept.facts.push(TaskFacts {
                    event,
                    static_prio: other as i32,
                    ..TaskFacts::default()
                });
            }
            let other = if kind == kind::TASK { kept.facts.len() as u32 - 1 } else { other };
            kept.events.push(RawEvent { other, ..event });
        };
        say(10, kind::TASK, 7, 100, 0);
        say(10, kind::TASK, 8, 120, 0);
        say(20, kind::RUNNING, 7, 0, 1);
        say(30, kind::SWITCH, 0, 8, 0);
        say(40, kind::TASK, 7, 110, 0);
        say(50, kind::EXIT, 8, 0, 0);
        say(50, kind::SWITCH, 8, 0, 0);
        say(60, kind::TASK, 9, 130, 0);
        say(70, kind::WAKE, 9, 0, 0);
        kept.forget_before(60);
        let kinds: Vec<_> =
            kept.events.iter().map(|e| (e.time_ns, e.kind.into(), e.task)).collect();
        let expected =
            [(60, kind::TASK, 7), (60, kind::RUNNING, 7), (60, kind::TASK, 9), (70, kind::WAKE, 9)];
        assert_eq!(kinds, expected);
        let prios: Vec<i32> = kept.facts.iter().map(|facts| facts.static_prio).collect();
        assert_eq!(prios, [110, 130]);
        assert_eq!((kept.events[0].other, kept.events[2].other), (0, 1));
        kept.forget_before(60);
        assert_eq!(kept.events.len(), 4, "the same once more changes nothing");
    }

    #[test]
    fn what_is_cut_off_is_not_read() {
        let mut kept = Kept::default();
        kept.keep(&[0; 3]);
        assert!(kept.events.is_empty());
        let mut facts = [0; size_of::<TaskFacts>()];
        facts[offset_of!(RawEvent, kind)] = kind::TASK as u8;
        kept.keep(&facts);
        assert_eq!((kept.events.len(), kept.facts.len()), (1, 1));
        assert_eq!(kept.bytes(), (size_of::<RawEvent>() + size_of::<TaskFacts>()) as u64);
    }
}
