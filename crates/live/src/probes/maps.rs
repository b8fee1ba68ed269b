// SPDX-License-Identifier: GPL-2.0-only
//! The probes' maps: their sizes, and mapping them into user space.

use libbpf_rs::{Map, MapCore, Object, OpenObject};

use super::layout::{BUCKETS, MEASURES};
use super::shared::SharedMap;
use crate::loader::variable::{self, Variable};

/// Slots for tasks: one for each task number, within these bounds.
const SLOTS_LEAST: usize = 1 << 12;
/// 16 MiB of slots. Where numbers go higher, two tasks may want the same slot; the second is
/// reported.
pub(super) const SLOTS_MOST: usize = 1 << 17;

/// One slot for each task number, up to a limit of memory. A power of two.
pub fn slots() -> usize {
    let highest = std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap_or_default();
    let highest: usize = highest.trim().parse().unwrap_or(SLOTS_MOST);
    highest.next_power_of_two().clamp(SLOTS_LEAST, SLOTS_MOST)
}

/// Sizes the maps, and leaves out what only a trace needs.
pub fn size(
    open: &mut OpenObject,
    (slots, cpus): (usize, usize),
    groups: usize,
    trace: bool,
) -> libbpf_rs::Result<()> {
    for mut map in open.maps_mut() {
        match map.name().to_str() {
            Some("tasks") => map.set_max_entries(slots as u32)?,
            Some("histograms") => map.set_max_entries((groups * MEASURES * BUCKETS) as u32)?,
            Some("series") => map.set_max_entries(cpus as u32)?,
            Some("events") => map.set_autocreate(trace)?,
            _ => {}
        }
    }
    for mut program in open.progs_mut() {
        let for_trace = program.name().to_string_lossy().starts_with("trace_");
        program.set_autoload(trace || !for_trace);
    }
    Ok(())
}

/// A map by its name; a section is a map, too.
pub fn find_map<'a>(object: &'a Object, name: &str) -> Result<Map<'a>, String> {
    let is_it = |map: &Map| variable::is_section(&map.name().to_string_lossy(), name);
    object.maps().find(is_it).ok_or_else(|| format!("the probes have no map {name}"))
}

/// The values of a map, mapped into this process.
pub fn map_memory<T: Copy>(
    object: &Object,
    name: &str,
    entries: usize,
) -> Result<SharedMap<T>, String> {
    let map = find_map(object, name)?;
    SharedMap::new(&map, entries)
        .map_err(|error| format!("the map {name} cannot be mapped: {error}"))
}

/// The size of the section that the global variables are in.
pub fn bss_bytes(variables: &[Variable]) -> usize {
    let globals = variables.iter().filter(|variable| variable.section == ".bss");
    globals.map(|variable| variable.offset + variable.size).max().unwrap_or(0)
}
