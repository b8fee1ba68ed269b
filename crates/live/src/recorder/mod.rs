// SPDX-License-Identifier: GPL-2.0-only
//! Records what the tasks of this machine do, with BPF programs in its kernel.
//!
//! `recorder.bpf.c` sends events, as few and as small as possible; this side keeps them as they
//! come, and makes a [`Recording`] of them when all is over. [`obstacles`] says what a machine
//! lacks, [`convert`] puts the events right.

pub(crate) mod convert;
mod group_folders;
pub(crate) mod object;
mod only;
pub(crate) mod reason;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use convert::Frame;
use libbpf_rs::{Iter, MapCore, MapFlags, Object, RingBuffer, RingBufferBuilder};
use model::ControlGroup;
pub use object::Cost;
use object::{Kept, Loaded, Meter};
pub use only::TaskFilter;
use recording::event::{Recording, TracerCosts};

use crate::facts::highest_cpu;
use crate::player::tapes;
use crate::probes::maps::SharedMap;
use crate::probes::{maps, monotonic_ns};

#[derive(Clone, Debug)]
pub struct Settings {
    /// Room for events that were not read yet, for all CPUs together; a power of two.
    pub buffer_bytes: u32,
    /// Whose events are recorded; `None`: everybody's.
    pub only: Option<TaskFilter>,
    /// Only so much of the end is kept; `None`: everything.
    pub last: Option<Duration>,
}

/// Attached programs. Dropping them detaches them.
pub struct Recorder {
    programs: Loaded,
    ring: RingBuffer<'static>,
    kept: Rc<RefCell<Kept>>,
    globals: SharedMap<u8>,
    only: Option<TaskFilter>,
    meter: Option<Meter>,
    start_ns: u64,
    window: Option<Window>,
    control_groups: BTreeMap<u64, ControlGroup>,
}

/// What is kept of a recording that goes on for long.
struct Window {
    last_ns: u64,
    /// Nothing before it is kept.
    from_ns: u64,
    /// How many events had been lost when it moved last, and the time before.
    lost: [u64; 2],
}

/// The oldest events are dropped only when they exceed the window by one `SLACK`th of its length,
/// because dropping copies all events.
const SLACK: u64 = 4;

impl Window {
    /// Moves on if much is outdated; returns the instant before which everything is.
    fn moves(&mut self, now_ns: u64, lost_events: u64) -> Option<u64> {
        let oldest_ns = now_ns.saturating_sub(self.last_ns);
        if oldest_ns < self.from_ns + self.last_ns / SLACK {
            return None;
        }
        self.from_ns = oldest_ns;
        self.lost = [lost_events, self.lost[0]];
        Some(oldest_ns)
    }
}

/// What was recorded so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub events: u64,
    /// The memory that they take.
    pub bytes: u64,
    /// Events for which there was no room.
    pub lost_events: u64,
}

impl Recorder {
    /// Loads and attaches the programs. They send nothing yet.
    ///
    /// # Errors
    /// The reason in one sentence.
    pub fn attach(settings: &Settings) -> Result<Recorder, String> {
        let programs = object::load(settings)?;
        let kept = Rc::new(RefCell::new(Kept::default()));
        let bytes = programs.built_in.bss_bytes();
        Ok(Recorder {
            ring: ring(&programs.object, kept.clone())?,
            kept,
            globals: maps::map_memory(&programs.object, ".bss", bytes)?,
            programs,
            only: settings.only.clone(),
            meter: None,
            start_ns: 0,
            window: settings.last.map(|last| Window {
                last_ns: last.as_nanos() as u64,
                from_ns: 0,
                lost: [0; 2],
            }),
            control_groups: BTreeMap::new(),
        })
    }

    fn switch(&self, is_on: bool) {
        let recording = self.programs.built_in.offset("recording");
        self.globals.write(recording, u32::from(is_on));
    }

    /// Records from now on.
    ///
    /// # Errors
    /// When the kernel does not say who runs at the moment.
    pub fn start(&mut self) -> Result<(), String> {
        // A task that is forked between two looks has a parent that the first one has marked.
        self.mark()?;
        self.mark()?;
        self.control_groups = group_folders::all();
        maps::forget_interrupts(&self.programs.object)?;
        self.meter = Some(Meter::start(&self.programs.object));
        self.start_ns = monotonic_ns();
        if let Some(window) = &mut self.window {
            window.from_ns = self.start_ns;
        }
        self.switch(true);
        let Some(link) = self.programs.first_look.take() else { return Ok(()) };
        let failed = |error: &dyn std::fmt::Display| format!("the tasks cannot be listed: {error}");
        let mut listed = Iter::new(&link).map_err(|error| failed(&error))?;
        // The program sends what it finds as events, and writes nothing.
        listed.read_to_end(&mut Vec::new()).map_err(|error| failed(&error))?;
        Ok(())
    }

    /// Marks the tasks of [`TaskFilter`] that are there now.
    fn mark(&self) -> Result<(), String> {
        let Some(only) = &self.only else { return Ok(()) };
        let map = maps::find_map(&self.programs.object, only.map())?;
        for key in only.keys()? {
            map.update(&key, &[1], MapFlags::ANY)
                .map_err(|error| format!("{only} has too many parts: {error}"))?;
        }
        Ok(())
    }

    /// Reads what the programs have sent. Call it often, so that the buffer does not overflow.
    ///
    /// # Errors
    /// When the buffer cannot be read.
    pub fn look(&mut self) -> Result<Progress, String> {
        self.ring.consume().map_err(|error| format!("the buffer cannot be read: {error}"))?;
        if matches!(self.only, Some(TaskFilter::Cgroup(_))) {
            self.mark()?;
        }
        let lost_events = self.globals.read(self.programs.built_in.offset("lost_events"));
        let mut kept = self.kept.borrow_mut();
        let moved = self.window.as_mut().and_then(|w| w.moves(monotonic_ns(), lost_events));
        if let Some(oldest_ns) = moved {
            kept.forget_before(oldest_ns);
        }
        Ok(Progress { events: kept.events.len() as u64, bytes: kept.bytes(), lost_events })
    }

    /// Makes a recording of what is kept, and goes on.
    ///
    /// # Errors
    /// When the buffer cannot be read.
    pub fn recording(&mut self, source: &str) -> Result<Recording, String> {
        let end_ns = monotonic_ns();
        let lost_events = self.look()?.lost_events;
        let kept = self.kept.borrow().clone();
        Ok(self.made(source, kept, end_ns, lost_events))
    }

    /// Stops, detaches, and makes a recording of what is kept.
    ///
    /// # Errors
    /// When the buffer cannot be read.
    pub fn finish(mut self, source: &str) -> Result<(Recording, Cost), String> {
        self.switch(false);
        let end_ns = monotonic_ns();
        self.programs.links.clear();
        let lost_events = self.look()?.lost_events;
        let cost = self.meter.take().map(|meter| {
            meter.finish(&self.programs.object, end_ns - self.start_ns, highest_cpu() + 1)
        });
        let kept = std::mem::take(&mut *self.kept.borrow_mut());
        let mut recording = self.made(source, kept, end_ns, lost_events);
        let event_ns = cost.as_ref().and_then(Cost::event_ns).unwrap_or(0);
        recording.tracer = TracerCosts::of_event(event_ns);
        recording.preemption_ns = tapes::call_costs().switch_ns();
        Ok((recording, cost.unwrap_or_default()))
    }

    fn made(&mut self, source: &str, mut kept: Kept, end_ns: u64, lost_events: u64) -> Recording {
        // Those that have come meanwhile; those that have gone are known.
        for (number, group) in group_folders::all() {
            self.control_groups.entry(number).or_insert(group);
        }
        let mut start_ns = self.start_ns;
        let lost_before = self.window.as_ref().map_or(0, |window| window.lost[1]);
        if let Some(window) = &self.window {
            start_ns = start_ns.max(end_ns.saturating_sub(window.last_ns));
            kept.forget_before(start_ns);
        }
        let release = nix::sys::utsname::uname()
            .map(|name| name.release().to_string_lossy().into_owned())
            .unwrap_or_default();
        let frame = Frame {
            source: format!("{source} on Linux {release}"),
            cpus: highest_cpu() + 1,
            start_ns,
            end_ns,
            lost_events: lost_events - lost_before,
            control_groups: self.control_groups.clone(),
        };
        let mut recording = convert::recording(kept, &frame);
        recording.untold = limitations(self.only.as_ref(), self.programs.messages);
        recording
    }
}

/// The events' buffer, whose reader keeps them.
fn ring(object: &Object, kept: Rc<RefCell<Kept>>) -> Result<RingBuffer<'static>, String> {
    let cannot = |error: libbpf_rs::Error| format!("the buffer cannot be read: {error}");
    let map = maps::find_map(object, "events")?;
    let mut builder = RingBufferBuilder::new();
    let keep = move |bytes: &[u8]| {
        kept.borrow_mut().keep(bytes);
        0
    };
    builder.add(&map, keep).map_err(cannot)?;
    builder.build().map_err(cannot)
}

/// What nobody can read off the events.
fn limitations(only: Option<&TaskFilter>, messages: bool) -> Vec<String> {
    let mut untold = vec![
        "a change of nice, policy or affinity is noted when the task next leaves its CPU".into(),
        "what a task waited for that polled several files is judged by what woke it".into(),
    ];
    if !messages {
        untold.push(
            "messages that were there before their reader came: this kernel does not tell them"
                .into(),
        );
    }
    untold.extend(
        only.map(|only| {
            format!("only {only} was recorded: a CPU that ran something else looks idle")
        }),
    );
    untold
}

/// The oldest kernel: `bpf_task_pt_regs`.
const OLDEST: (u32, u32) = (5, 15);

/// Bits of the effective capabilities (`capabilities(7)`).
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

const REMEDY: &str = "run it with sudo, or give the program the capabilities with `sudo setcap \
                      cap_bpf,cap_perfmon+ep FILE`";

/// Everything that keeps this process from recording on this kernel, a sentence each; empty if
/// nothing does.
pub fn obstacles() -> Vec<String> {
    let kernel = nix::sys::utsname::uname().ok();
    let kernel = kernel.and_then(|name| too_old(&name.release().to_string_lossy()));
    let space = space().map(|why| why + "; record outside");
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let without_btf = !Path::new("/sys/kernel/btf/vmlinux").exists();
    let btf = without_btf.then(|| {
        "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF), which recording needs".to_owned()
    });
    [kernel, space, lacking(&status), btf].into_iter().flatten().collect()
}

fn too_old(release: &str) -> Option<String> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
    let version = (numbers.next()?, numbers.next()?);
    (version < OLDEST).then(|| format!("recording needs Linux 5.15 or newer; this is {release}"))
}

/// The kernel's numbers of tasks are those of its first name space. A kernel without such name
/// spaces has no such file.
pub(crate) fn space() -> Option<String> {
    let space = fs::read_link("/proc/self/ns/pid");
    let is_other = space.is_ok_and(|space| space != Path::new("pid:[4026531836]"));
    is_other
        .then(|| "inside a PID name space (a container) task numbers are not the kernel's".into())
}

/// What a process lacks that has this status. Before there were the others, CAP_SYS_ADMIN was
/// needed, and it still includes them.
fn lacking(status: &str) -> Option<String> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    let effective = u64::from_str_radix(line.trim(), 16).ok()?;
    let has = |bit: u32| effective >> bit & 1 == 1;
    let wanted = [("CAP_BPF", CAP_BPF), ("CAP_PERFMON", CAP_PERFMON)];
    let missing: Vec<&str> =
        wanted.iter().filter(|(_, bit)| !has(*bit)).map(|(name, _)| *name).collect();
    (!has(CAP_SYS_ADMIN) && !missing.is_empty())
        .then(|| format!("recording needs {}: {REMEDY}", missing.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_capabilities_are_named() {
        let needs = |effective: u64| lacking(&format!("Name:\tx\nCapEff:\t{effective:016x}\n"));
        for enough in [u64::MAX, 1 << CAP_SYS_ADMIN, 1 << CAP_BPF | 1 << CAP_PERFMON] {
            assert_eq!(needs(enough), None);
        }
        let neither = needs(0).expect("nothing is allowed");
        assert!(neither.starts_with("recording needs CAP_BPF and CAP_PERFMON: run it with sudo"));
        let one = needs(1 << CAP_BPF).expect("half is allowed");
        assert!(one.starts_with("recording needs CAP_PERFMON: "), "{one}");
    }

    #[test]
    fn older_kernels_are_named() {
        assert_eq!(too_old("5.15.0-91-generic"), None);
        assert_eq!(too_old("7.3-rc1"), None);
        let said = too_old("5.10.0-28-amd64").expect("it is too old");
        assert_eq!(said, "recording needs Linux 5.15 or newer; this is 5.10.0-28-amd64");
    }
}
