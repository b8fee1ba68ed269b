// SPDX-License-Identifier: GPL-2.0-only
//! The probes' maps: what is in them, their sizes, and mapping them into user space.
//!
//! Memory that BPF programs and user space share.

use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd};
use std::{io, ptr};

pub use compile::probe_types::probe_detail::PREEMPTED;
pub use compile::probe_types::{
    ProbeEvent, ProbeSeries, ProbeTally, ProbeTask, ProbeTotals, probe_activity as activity,
    probe_event_kind as event_kind,
};
use compile::probe_types::{probe_measure, probe_size, probe_spent};
use libbpf_rs::btf::types::{Func, FuncProto, Ptr, Struct, Typedef};
use libbpf_rs::btf::{Btf, ReferencesType};
use libbpf_rs::{Link, Map, MapCore, MapFlags, Object, OpenObject, ProgramMut};

use crate::loader::knobs;
use crate::recorder::object::CpuState;

pub const MAX_GROUPS: usize = probe_size::MAX_GROUPS as usize;
/// Of one histogram: [`model::histogram::bucket`] of waits up to 2^40 ns.
pub const BUCKETS: usize = probe_size::BUCKETS as usize;
/// Histograms of one group.
pub const MEASURES: usize = probe_measure::MEASURES as usize;
pub const WAKEUPS: usize = probe_measure::WAKEUPS as usize;
pub const OTHER_WAITS: usize = probe_measure::OTHER_WAITS as usize;
/// Places in `ProbeInterval::ns`.
pub const BUSY: usize = probe_spent::BUSY as usize;
pub const WAITED: usize = probe_spent::WAITED as usize;

/// The smallest sample; 0 when there is none.
pub fn smallest_ns(tally: &ProbeTally) -> u64 {
    if tally.count == 0 { 0 } else { !tally.min_complement }
}

pub fn add_tally(sum: &mut ProbeTally, other: &ProbeTally) {
    sum.count += other.count;
    sum.max_ns = sum.max_ns.max(other.max_ns);
    sum.min_complement = sum.min_complement.max(other.min_complement);
}

pub fn add_totals(sum: &mut ProbeTotals, other: &ProbeTotals) {
    sum.tasks += other.tasks;
    sum.cpu_time_ns += other.cpu_time_ns;
    sum.voluntary_switches += other.voluntary_switches;
    sum.involuntary_switches += other.involuntary_switches;
    sum.migrations += other.migrations;
    add_tally(&mut sum.wakeups, &other.wakeups);
    add_tally(&mut sum.other_waits, &other.other_waits);
}

/// Slots for tasks: one for each task number, within these bounds.
const SLOTS_LEAST: usize = 1 << 12;
/// 16 MiB of slots. Where numbers go higher, two tasks may want the same slot; the second is
/// reported.
pub(super) const SLOTS_MOST: usize = 1 << 17;

/// One slot for each task number, up to a limit of memory. A power of two.
pub fn slots() -> usize {
    highest_number().next_power_of_two().clamp(SLOTS_LEAST, SLOTS_MOST)
}

/// The highest number that a task can have, plus one.
pub fn highest_number() -> usize {
    let highest = std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap_or_default();
    highest.trim().parse().unwrap_or(SLOTS_MOST)
}

/// What the object is loaded for.
#[derive(Clone, Copy)]
pub struct Use {
    pub slots: usize,
    pub cpus: usize,
    pub groups: usize,
    /// Whether events are kept.
    pub trace: bool,
    /// Whether the kernel is one of those that `probes_older.h` is for.
    pub older: bool,
    /// Whether a trace tells of messages. There are kernels that refuse such programs.
    pub messages: bool,
}

impl Use {
    /// The same for a kernel that refuses to tell of messages.
    pub fn without_messages(self) -> Use {
        Use { messages: false, ..self }
    }
}

/// How the programs and maps for older kernels end.
const OLDER: &str = "_older";

/// Whether the kernel's `sched_switch` has no `prev_state`.
pub fn is_older() -> bool {
    let Ok(btf) = Btf::from_vmlinux() else { return false };
    let Some(pointer) = btf.type_by_name::<Typedef<'_>>("btf_trace_sched_switch") else {
        return false;
    };
    let function = pointer.referenced_type().skip_mods_and_typedefs();
    let function = Ptr::try_from(function).ok().map(|pointer| pointer.referenced_type());
    let parameters = function.and_then(|function| FuncProto::try_from(function).ok());
    // The first one is the tracepoint's own.
    parameters.is_some_and(|parameters| parameters.len() < 5)
}

/// Sizes the maps, and leaves out what only a trace or another kernel needs.
pub fn size(open: &mut OpenObject, needed: Use) -> libbpf_rs::Result<()> {
    let Use { slots, cpus, groups, trace, older, messages } = needed;
    for mut map in open.maps_mut() {
        match map.name().to_str() {
            Some("tasks") => map.set_max_entries(slots as u32)?,
            Some("histograms") => map.set_max_entries((groups * MEASURES * BUCKETS) as u32)?,
            Some("series") => map.set_max_entries(cpus as u32)?,
            Some("events") => map.set_autocreate(trace)?,
            Some("cpus") => {
                map.set_autocreate(trace)?;
                map.set_max_entries(cpus as u32)?;
            }
            Some("retired_older") => {
                map.set_autocreate(older)?;
                map.set_max_entries((cpus * MAX_GROUPS) as u32)?;
            }
            _ => {}
        }
    }
    choose(open, (older, messages), |name| trace || !name.starts_with("trace_"));
    Ok(())
}

/// Loads the programs that are wanted and that the kernel is made for: an older one, one that tells
/// of messages.
pub fn choose(
    open: &mut OpenObject,
    (older, messages): (bool, bool),
    is_wanted: impl Fn(&str) -> bool,
) {
    let names: Vec<String> =
        open.progs().map(|program| program.name().to_string_lossy().into_owned()).collect();
    let kernel = Btf::from_vmlinux().ok();
    let has_sessions = kernel.as_ref().is_some_and(has_sessions);
    for (mut program, name) in open.progs_mut().zip(&names) {
        let section = program.section().to_string_lossy().into_owned();
        let has_target = message_target(&section).is_none_or(|(function, is_session)| {
            messages
                && !older
                && is_session == has_sessions
                && kernel.as_ref().is_some_and(|kernel| has_function(kernel, function))
        });
        program.set_autoload(is_wanted(name) && fits(name, &names, older) && has_target);
    }
}

/// Whether the kernel has sessions of programs, at the begin and the end of a function, and keeps
/// them with the task, so that any number of calls may be under way: from Linux 6.14 on.
fn has_sessions(kernel: &Btf<'_>) -> bool {
    kernel.type_by_name::<Struct<'_>>("fprobe_hlist").is_some()
        && has_function(kernel, "bpf_session_is_return")
}

/// The function of the kernel at whose end a program of `messages.h` runs, and whether it runs at
/// its begin, too. A kernel that lacks the function, or cannot run programs there, tells nothing of
/// those messages.
pub fn message_target(section: &str) -> Option<(&str, bool)> {
    let at_end = section.strip_prefix("fexit/").map(|function| (function, false));
    at_end.or_else(|| Some((section.strip_prefix("kprobe.session/")?, true)))
}

pub fn tells_messages(program: &ProgramMut<'_>) -> bool {
    message_target(&program.section().to_string_lossy()).is_some()
}

/// Attaches a program; `None` where a kernel without a place for it has the function.
pub fn attach(program: &ProgramMut<'_>) -> libbpf_rs::Result<Option<Link>> {
    match program.attach() {
        Err(_) if tells_messages(program) => Ok(None),
        attached => attached.map(Some),
    }
}

fn has_function(kernel: &Btf<'_>, name: &str) -> bool {
    kernel.type_by_name::<Func<'_>>(name).is_some()
}

/// Of a program and its namesake for older kernels, one is loaded.
fn fits(name: &str, names: &[String], older: bool) -> bool {
    let has_namesake = names.iter().any(|known| known.strip_suffix(OLDER) == Some(name));
    if older { !has_namesake } else { !name.ends_with(OLDER) }
}

/// A map by its name; a section is a map, too.
pub fn find_map<'a>(object: &'a Object, name: &str) -> Result<Map<'a>, String> {
    let is_it = |map: &Map| knobs::is_section(&map.name().to_string_lossy(), name);
    object.maps().find(is_it).ok_or_else(|| format!("the probes have no map {name}"))
}

/// Lets every CPU begin outside of interrupts: one may have begun after the program for its
/// beginning was attached, and ended before that for its end was.
pub fn forget_interrupts(object: &Object) -> Result<(), String> {
    let map = find_map(object, "cpus")?;
    let cpus = libbpf_rs::num_possible_cpus().map_err(|error| error.to_string())? as u32;
    (0..cpus).try_for_each(|cpu| {
        map.update(&cpu.to_le_bytes(), &[0; size_of::<CpuState>()], MapFlags::ANY)
            .map_err(|error| format!("CPU {cpu} has no state: {error}"))
    })
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

/// The values of an array map, mapped into our memory. Everything is read and written volatile: the
/// other side may do so at any time, and every value is plain data of which any bytes are valid.
pub struct SharedMap<T> {
    start: *mut T,
    entries: usize,
    _values: PhantomData<T>,
}

// SAFETY: it is memory shared with the kernel anyway; all access is volatile and by value.
unsafe impl<T: Copy + Send> Send for SharedMap<T> {}
// SAFETY: as above.
unsafe impl<T: Copy + Send> Sync for SharedMap<T> {}

impl<T: Copy> SharedMap<T> {
    /// Maps `entries` values of a map that was made with `BPF_F_MMAPABLE`.
    pub fn new(map: &impl AsFd, entries: usize) -> io::Result<SharedMap<T>> {
        SharedMap::map(entries, libc::MAP_SHARED, map.as_fd().as_raw_fd())
    }

    /// Memory of our own for `entries` values, zero at first. Forked processes do not have it.
    pub fn own(entries: usize) -> io::Result<SharedMap<T>> {
        let own = SharedMap::<T>::map(entries, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        // SAFETY: the range is this mapping. No forked process needs it.
        unsafe { libc::madvise(own.start.cast(), own.bytes(), libc::MADV_DONTFORK) };
        Ok(own)
    }

    /// All pages are there at once: reading and writing them needs nothing from the kernel.
    fn map(entries: usize, kind: i32, file: i32) -> io::Result<SharedMap<T>> {
        let (bytes, access) = (entries * size_of::<T>(), libc::PROT_READ | libc::PROT_WRITE);
        let kind = kind | libc::MAP_POPULATE;
        // SAFETY: a fresh mapping, of a map of at least this size; nothing of ours is touched.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, file, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(SharedMap { start: start.cast(), entries, _values: PhantomData })
    }

    pub fn len(&self) -> usize {
        self.entries
    }

    /// The address of a value, for callers that know how long the mapping lives.
    pub fn place(&self, index: usize) -> *mut T {
        assert!(index < self.entries, "a shared map has no value {index}");
        // SAFETY: inside the mapping.
        unsafe { self.start.add(index) }
    }

    pub fn get(&self, index: usize) -> T {
        assert!(index < self.entries, "a shared map has no value {index}");
        // SAFETY: inside the mapping, and any bytes are a `T`.
        unsafe { self.start.add(index).read_volatile() }
    }

    pub fn set(&self, index: usize, value: T) {
        assert!(index < self.entries, "a shared map has no value {index}");
        // SAFETY: inside the mapping.
        unsafe { self.start.add(index).write_volatile(value) }
    }

    pub fn iter(&self) -> impl Iterator<Item = T> {
        (0..self.entries).map(|index| self.get(index))
    }
}

impl<T> SharedMap<T> {
    fn bytes(&self) -> usize {
        self.entries * size_of::<T>()
    }
}

impl SharedMap<u8> {
    /// Reads a plain value at a byte offset.
    pub fn read<V: Copy>(&self, offset: usize) -> V {
        assert!(offset + size_of::<V>() <= self.entries, "a shared section has no byte {offset}");
        // SAFETY: inside the mapping; variables are aligned in their section.
        unsafe { self.start.add(offset).cast::<V>().read_volatile() }
    }

    /// Writes a plain value at a byte offset.
    pub fn write<V: Copy>(&self, offset: usize, value: V) {
        assert!(offset + size_of::<V>() <= self.entries, "a shared section has no byte {offset}");
        // SAFETY: inside the mapping; variables are aligned in their section.
        unsafe { self.start.add(offset).cast::<V>().write_volatile(value) }
    }
}

impl<T> Drop for SharedMap<T> {
    fn drop(&mut self) {
        // SAFETY: this mapping, and there are no borrows of it.
        unsafe { libc::munmap(self.start.cast(), self.bytes()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_two_namesakes_is_loaded() {
        let names = ["count_switch", "count_switch_older", "count_waking"].map(str::to_owned);
        let loaded = |older: bool| -> Vec<&String> {
            names.iter().filter(|name| fits(name, &names, older)).collect()
        };
        assert_eq!(loaded(false), ["count_switch", "count_waking"]);
        assert_eq!(loaded(true), ["count_switch_older", "count_waking"]);
    }

    #[test]
    fn only_what_tells_of_messages_may_be_missing() {
        assert_eq!(message_target("fexit/pipe_read"), Some(("pipe_read", false)));
        assert_eq!(message_target("kprobe.session/tcp_recvmsg"), Some(("tcp_recvmsg", true)));
        assert_eq!(message_target("tp_btf/sched_switch"), None);
    }
}
