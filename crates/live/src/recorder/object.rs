// SPDX-License-Identifier: GPL-2.0-only
//! Loading the recorder's programs.

use libbpf_rs::btf::Btf;
use libbpf_rs::{Link, Object, ObjectBuilder, OpenObject};

use super::wire::CPU_WORDS;
use super::{Offsets, Settings, reason};
use crate::loader::log::{Listener, explain, warnings};
use crate::loader::variable::{self, Variable};
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
    pub offsets: Offsets,
    pub bss_bytes: usize,
}

/// Loads the programs and attaches them.
pub fn load(settings: &Settings) -> Result<Loaded, String> {
    load_for(settings, true).or_else(|_| load_for(settings, false))
}

/// There are kernels that refuse the programs that tell of messages.
fn load_for(settings: &Settings, wants_messages: bool) -> Result<Loaded, String> {
    let listener = Listener::new();
    let because = |error: libbpf_rs::Error| {
        format!("the recorder cannot be attached: {error}; {}", warnings(&listener.text()))
    };
    let bytes = compile::recorder_object();
    let btf =
        Btf::from_raw("recorder", bytes).map_err(because)?.ok_or("the recorder has no BTF")?;
    let variables = variable::variables(&btf);
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

fn constants(open: &mut OpenObject, variables: &[Variable], settings: &Settings, cpus: usize) {
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
fn offset(variables: &[Variable], name: &str) -> usize {
    let found = variables.iter().find(|v| v.name == name && v.section == ".bss");
    found.unwrap_or_else(|| unreachable!("a test checks that the recorder has {name}")).offset
}
