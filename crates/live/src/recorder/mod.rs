// SPDX-License-Identifier: GPL-2.0-only
//! Records what the tasks of this machine do, with BPF programs in its kernel.
//!
//! `recorder.bpf.c` sends events, as few and as small as possible; this side keeps them as they
//! come, and makes a [`Recording`] of them when all is over. [`needs`] says what a machine lacks,
//! [`convert`] puts the events right.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Read;
use std::rc::Rc;

use libbpf_rs::{Iter, MapCore, MapFlags, Object, RingBuffer, RingBufferBuilder};
use model::ControlGroup;
use recording::event::Recording;

mod convert;
mod cost;
mod group_folders;
pub mod needs;
pub(crate) mod object;
mod only;
pub(crate) mod reason;
pub(crate) mod task_facts;

use crate::probes::{maps, monotonic_ns, shared::SharedMap};
use convert::Frame;
pub use cost::Cost;
use cost::Meter;
use object::{Kept, Loaded};
pub use only::TaskFilter;

/// What a recording is asked to be.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Room for events that were not read yet, for all CPUs together; a power of two.
    pub buffer_bytes: u32,
    /// Whose events are recorded; `None`: everybody's.
    pub only: Option<TaskFilter>,
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
    control_groups: BTreeMap<u64, ControlGroup>,
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
        let kept = self.kept.borrow();
        let lost_events = self.globals.read(self.programs.built_in.offset("lost_events"));
        Ok(Progress { events: kept.events.len() as u64, bytes: kept.bytes(), lost_events })
    }

    /// Stops, detaches, and makes a recording of all events.
    ///
    /// # Errors
    /// When the buffer cannot be read.
    pub fn finish(mut self, source: &str) -> Result<(Recording, Cost), String> {
        self.switch(false);
        let end_ns = monotonic_ns();
        self.programs.links.clear();
        // Those that have come meanwhile; those that have gone are known.
        for (number, group) in group_folders::all() {
            self.control_groups.entry(number).or_insert(group);
        }
        let lost_events = self.look()?.lost_events;
        let cpus = crate::facts::cpus_online().last().map_or(1, |last| last + 1);
        let length_ns = end_ns - self.start_ns;
        let cost = self.meter.map(|meter| meter.finish(&self.programs.object, length_ns, cpus));
        let release = nix::sys::utsname::uname()
            .map(|name| name.release().to_string_lossy().into_owned())
            .unwrap_or_default();
        let frame = Frame {
            source: format!("{source} on Linux {release}"),
            cpus,
            start_ns: self.start_ns,
            end_ns,
            lost_events,
            control_groups: self.control_groups,
        };
        let kept = std::mem::take(&mut *self.kept.borrow_mut());
        let mut recording = convert::recording(kept, &frame);
        recording.event_ns = cost.as_ref().and_then(Cost::event_ns).unwrap_or(0);
        recording.untold = limitations(self.only.as_ref(), self.programs.messages);
        Ok((recording, cost.unwrap_or_default()))
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
