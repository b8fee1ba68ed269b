// SPDX-License-Identifier: GPL-2.0-only
//! Loading the recorder's programs.

use std::mem::size_of;

use compile::recorder_types::record_limit;
use libbpf_rs::btf::Btf;
use libbpf_rs::{Link, Object, ObjectBuilder, OpenObject};

use super::{Offsets, Settings, reason};
use crate::loader::log::{Listener, explain, warnings};
use compile::variables::{self, Global};

use crate::loader::variable;
use crate::probes::maps;

/// Slots for what was told of tasks, 8 bytes each.
const SLOTS_LEAST: usize = 1 << 12;
const SLOTS_MOST: usize = 1 << 20;

/// The program that is read once, instead of being attached to events.
const FIRST_LOOK: &str = "record_running";

/// Programs in the kernel.
pub struct Loaded {
    pub object: Object,
    pub links: Vec<Link>,
    pub first_look: Link,
    pub messages: bool,
    pub(super) offsets: Offsets,
    pub bss_bytes: usize,
}

/// Loads the programs and attaches them.
pub fn load(settings: &Settings) -> Result<Loaded, String> {
    load_for(settings, true).or_else(|_| load_for(settings, false))
}

/// Loads with or without the programs that tell of messages, which some kernels refuse.
fn load_for(settings: &Settings, wants_messages: bool) -> Result<Loaded, String> {
    let listener = Listener::new();
    let because = |error: libbpf_rs::Error| {
        format!("the recorder cannot be attached: {error}; {}", warnings(&listener.text()))
    };
    let bytes = compile::recorder_object();
    let btf =
        Btf::from_raw("recorder", bytes).map_err(because)?.ok_or("the recorder has no BTF")?;
    let variables = variables::globals(&btf);
    let cpus = libbpf_rs::num_possible_cpus().map_err(because)?;
    let mut open = ObjectBuilder::default().open_memory(bytes).map_err(because)?;
    size(&mut open, settings, cpus, wants_messages).map_err(because)?;
    constants(&mut open, &variables, settings, cpus);
    let object = open.load().map_err(|error| {
        format!("the recorder: {}", explain(&error.to_string(), &listener.text()))
    })?;
    let (mut links, mut first_look, mut messages) = (Vec::new(), None, false);
    for program in object.progs_mut().filter(|program| program.autoload()) {
        let link = maps::attach(&program).map_err(because)?;
        messages |= link.is_some() && maps::tells_messages(&program);
        if program.name() == FIRST_LOOK { first_look = link } else { links.extend(link) }
    }
    let offsets = Offsets {
        recording: offset(&variables, "recording"),
        lost_events: offset(&variables, "lost_events"),
    };
    let first_look = first_look.ok_or("the recorder has no list of tasks")?;
    let bss_bytes = maps::bss_bytes(&variables);
    Ok(Loaded { object, links, first_look, messages, offsets, bss_bytes })
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

fn constants(open: &mut OpenObject, variables: &[Global], settings: &Settings, cpus: usize) {
    let (only, comm) = match &settings.only {
        Some(only) => (only.number(), only.comm()),
        None => (0, [0; 16]),
    };
    let words = cpus.div_ceil(64).min(CPU_WORDS) as u32;
    let mut write = |name: &str, bytes: &[u8]| {
        if let Some(found) = variables.iter().find(|variable| variable.name == name) {
            variable::write(open, found, bytes);
        }
    };
    write("slot_mask", &(slots() as u32 - 1).to_le_bytes());
    write("own_process", &std::process::id().to_le_bytes());
    write("cpu_words", &words.to_le_bytes());
    write("only", &only.to_le_bytes());
    write("only_comm", &comm);
    write("takes_file", &reason::takes_file());
}

/// Where a global variable of the programs is.
fn offset(variables: &[Global], name: &str) -> usize {
    let found = variables.iter().find(|v| v.name == name && v.section == ".bss");
    found.unwrap_or_else(|| unreachable!("a test checks that the recorder has {name}")).offset
}

pub use compile::recorder_types::{
    RecordCpu as CpuState, RecordEvent as RawEvent, RecordTask as TaskFacts, record_file as file,
    record_kind as kind, record_leaves as leaves, record_limit::NO_SYSCALL, record_only as only,
    record_waker as waker,
};

pub const SYSCALLS: usize = record_limit::SYSCALLS as usize;
/// CPUs with a place in [`TaskFacts::cpus`], by 64.
pub const CPU_WORDS: usize = record_limit::CPU_WORDS as usize;

/// What is kept of the events in memory.
#[derive(Debug, Default)]
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

    pub fn bytes(&self) -> u64 {
        let (events, facts) = (self.events.len(), self.facts.len());
        (events * size_of::<RawEvent>() + facts * size_of::<TaskFacts>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use libbpf_rs::btf::Btf;
    use std::mem::offset_of;

    #[test]
    fn the_programs_have_every_variable_that_is_looked_up() {
        let object = compile::recorder_object();
        let btf = Btf::from_raw("recorder", object).expect("an object").expect("with BTF");
        let found = variables::globals(&btf);
        for name in ["slot_mask", "own_process", "cpu_words", "only", "only_comm", "takes_file"] {
            assert!(found.iter().any(|v| v.name == name && v.section == ".rodata"), "{name}");
        }
        for name in ["recording", "lost_events"] {
            assert!(found.iter().any(|v| v.name == name && v.section == ".bss"), "{name}");
        }
        let table = found.iter().find(|v| v.name == "takes_file").expect("the table");
        assert_eq!(table.ty.size, SYSCALLS);
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
