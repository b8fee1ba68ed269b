// SPDX-License-Identifier: GPL-2.0-only
//! Loading a scheduler, and calling it: the engine calls its callbacks, and they call kfuncs.
//!
//! Calling a callback neither locks, allocates nor looks anything up: it takes a few stores and an
//! indirect call.

use std::cell::RefCell;
use std::sync::atomic::Ordering::Relaxed;

use compile::native::Native;
use compile::native::interface::{Flag, OPS_FLAGS, Support, first_refused};
use model::{Call, CpuFacts, Knobs, Seed, When, Words};

use super::abi::{MAX_LOOPS, SharedState};
use super::arena_library::{ArenaLibrary, Shape};
use super::callbacks::{self, Callbacks, Settings};
use super::fault::{CALLBACK, CALLS};
use super::inside::Watch;
use super::maps::Map;
use super::object::{Loaded, Program, Set, programs};
use super::references;
use super::simulator::{Simulator, This};
use super::{bpf_timers, helpers, interleaved, kfuncs};
use crate::core::memory::{SharedObjects, TaskLayout};
use crate::core::{Core, TaskId};
use crate::ext::error::lacking;

/// The machine that a scheduler is loaded on.
#[derive(Clone, Debug)]
pub struct Host {
    pub cpus: CpuFacts,
    /// Ticks per second.
    pub hz: u32,
    /// The seed of `bpf_get_prandom_u32`.
    pub seed: Seed,
}

/// A scheduler's native object, loaded for one trial on one simulated kernel. With `RACES` it was
/// compiled as [`compile::native::Form::Interleaved`], and its callbacks wait for each other as the
/// kernel's locks make them. With `INSIDE` its calls are counted; a trial that does not ask pays
/// nothing for that.
pub struct NativeScheduler<const RACES: bool = false, const INSIDE: bool = false> {
    pub(super) callbacks: Callbacks,
    settings: Settings,
    calls: Vec<(u64, Call)>,
    library: Option<ArenaLibrary>,
    pub(super) layout: TaskLayout,
    pub(super) simulator: This,
    pub(super) programs: Vec<Program>,
    pub(super) watch: RefCell<Watch>,
    state: *mut SharedState,
    /// With debug information about source lines.
    pub(super) object: Vec<u8>,
    // Dropped last, because the fields above point into it.
    pub(super) loaded: Loaded,
}

impl<const RACES: bool, const INSIDE: bool> NativeScheduler<RACES, INSIDE> {
    /// Loads a scheduler with fresh globals, sets its knobs and makes its maps.
    pub fn load(native: &Native, knobs: &Knobs, host: Host) -> Result<Self, String> {
        let loaded = Loaded::new(&native.object)?;
        let words = Words { cpus: host.cpus.clone(), ..Words::default() };
        let set = loaded.set_knobs(native, knobs, &words)?;
        let (callbacks, settings) = table_of(native, &loaded)?;
        check_flags(native, settings.flags)?;
        let state = loaded.export().state;
        let mut simulator = Box::new(Simulator::new(state, host.cpus.cpus(), host.seed));
        simulator.maps = maps(native, &loaded, &set, host.cpus.cpus())?;
        set.values.iter().try_for_each(|value| write_value(&mut simulator.maps, value))?;
        let simulator = Box::into_raw(simulator);
        connect::<RACES>(&loaded, simulator, &host)?;
        super::fault::object_at(loaded.range());
        #[cfg(target_arch = "x86_64")]
        super::zero_reads::allow(native, loaded.range().0);
        let mut layout = TaskLayout::of(loaded.export().task_fields());
        layout.objects = SharedObjects::of(loaded.export().objects());
        let object = native.object.clone();
        Ok(NativeScheduler {
            callbacks,
            settings,
            calls: set.calls,
            library: ArenaLibrary::of(&native.facts),
            layout,
            simulator,
            programs: programs(native, &loaded, knobs),
            watch: if INSIDE { Watch::new(native).into() } else { RefCell::default() },
            state,
            object,
            loaded,
        })
    }

    /// Name, flags and limits.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Where its `struct task_struct` has its fields.
    pub fn layout(&self) -> TaskLayout {
        self.layout
    }

    /// The lines printed with `bpf_printk` so far.
    pub fn notes(&self) -> Vec<String> {
        // SAFETY: ours, and no callback runs.
        let notes = unsafe { &(*self.simulator).notes };
        notes.clone()
    }

    /// Makes user space's calls of programs that are due; the result of the first that fails, or 0.
    pub(super) fn make_calls(&self, core: &mut Core, when: When, number: u32) -> i32 {
        let due = self.calls.iter().filter(|(_, call)| call.when == when);
        for (code, call) in due {
            let mut argument = call.argument.clone();
            let before = core.machine.this_cpu;
            let last = core.machine.topology.cpus - 1;
            core.machine.this_cpu = call.on.unwrap_or(before).min(last);
            let result = self.call_program(core, number, *code, argument.as_mut_ptr());
            core.machine.this_cpu = before;
            let library = self.library.filter(|library| library.init.address == *code);
            let result = match library {
                Some(library) if result == 0 => self.describe_machine(core, number, &library),
                _ => result,
            };
            if result != 0 && !call.may_fail {
                core.error(format!(
                    "the program {}, which its settings call, failed ({result})",
                    call.program
                ));
                return result;
            }
        }
        0
    }

    fn describe_machine(&self, core: &mut Core, number: u32, library: &ArenaLibrary) -> i32 {
        let shape = Shape::of(&core.machine.topology);
        // SAFETY: it was found by its programs' names.
        unsafe {
            library.describe(&shape, |program, argument| {
                self.call_program(core, number, program.address, argument)
            })
        }
    }

    /// Calls a program of the type `syscall`, given its address relative to the object.
    fn call_program(&self, core: &mut Core, number: u32, code: u64, argument: *mut u8) -> i32 {
        let code = self.loaded.range().0 + code;
        // SAFETY: the address is that of a function which takes one pointer, or nothing.
        let program: unsafe extern "C" fn(*mut u8) -> i32 =
            unsafe { std::mem::transmute(code as *const ()) };
        // SAFETY: the argument has the size of the structure that the function takes.
        self.call(core, number, |_| unsafe { program(argument) })
    }

    /// Calls a callback. Callbacks nest: a kfunc may make the kernel call another one.
    #[inline]
    pub(super) fn call<R>(
        &self,
        core: &mut Core,
        number: u32,
        callback: impl FnOnce(This) -> R,
    ) -> R {
        self.call_of(core, number, None, callback)
    }

    /// The same of a callback that concerns a task.
    #[inline]
    pub(super) fn call_of<R>(
        &self,
        core: &mut Core,
        number: u32,
        task: Option<&TaskId>,
        callback: impl FnOnce(This) -> R,
    ) -> R {
        if RACES {
            core.enter_callback(callbacks::hold(core, number, task));
        }
        let here = core.this_cpu();
        let began_ns = if INSIDE { self.look_before_call(core, here) } else { 0 };
        let before = CALLBACK.load(Relaxed);
        CALLBACK.store(number, Relaxed);
        CALLS.store(CALLS.load(Relaxed).wrapping_add(1), Relaxed);
        // SAFETY: simulator and state are ours and live as long as we do.
        unsafe {
            let outer = std::mem::replace(&mut (*self.simulator).core, &raw mut *core);
            let cpu = std::mem::replace(&mut (*self.state).cpu, here);
            (*self.state).loops_left = MAX_LOOPS;
            let holds = (*self.state).holds;
            let result = callback(self.simulator);
            if (*self.state).holds != holds {
                references::refuse_rest(core, &mut *self.state, holds);
            }
            (*self.simulator).core = outer;
            (*self.state).cpu = cpu;
            CALLBACK.store(before, Relaxed);
            if INSIDE {
                self.count_call(core, number, (here, began_ns));
            }
            if RACES {
                core.leave_callback();
            }
            result
        }
    }

    /// Takes what a callback that is left has of the state that all callbacks share.
    pub(super) fn take_shared(&self) -> [u64; 4] {
        let callback = CALLBACK.swap(0, Relaxed).into();
        // SAFETY: simulator and state are ours.
        unsafe {
            let core = std::mem::replace(&mut (*self.simulator).core, std::ptr::null_mut());
            [callback, core as u64, (*self.state).cpu.into(), (*self.state).loops_left as u64]
        }
    }

    pub(super) fn give_shared(&self, [callback, core, cpu, loops_left]: [u64; 4]) {
        CALLBACK.store(callback as u32, Relaxed);
        CALLS.store(CALLS.load(Relaxed).wrapping_add(1), Relaxed);
        // SAFETY: as above; the kernel is still there.
        unsafe {
            (*self.simulator).core = core as *mut Core;
            (*self.state).cpu = cpu as u32;
            (*self.state).loops_left = loops_left as i64;
        }
    }
}

impl<const RACES: bool, const INSIDE: bool> Drop for NativeScheduler<RACES, INSIDE> {
    fn drop(&mut self) {
        // SAFETY: `load` made it, and nobody calls back any more.
        drop(unsafe { Box::from_raw(self.simulator) });
        let _ = &self.loaded;
    }
}

fn table_of(native: &Native, loaded: &Loaded) -> Result<(Callbacks, Settings), String> {
    let tables: Vec<_> = native.facts.ops.values().collect();
    let [place] = tables[..] else {
        let names: Vec<&str> = native.facts.ops.keys().map(String::as_str).collect();
        return Err(format!("{}: one scheduler to a file, not {}", native.name, names.join(", ")));
    };
    let export = loaded.export();
    let cpu_form: Vec<_> = export.ops_fields().collect();
    let is_cpu_form = cpu_form.contains(&("size", place.size));
    let fields = if is_cpu_form { cpu_form } else { export.ops_cid_fields().collect() };
    if !fields.contains(&("size", place.size)) {
        return Err(format!("{}: its table of callbacks has an unknown form", native.name));
    }
    // SAFETY: the place is the object's table, of this form.
    unsafe { callbacks::read(loaded.at(*place), fields.into_iter()) }
        .map_err(|error| format!("{}: {error}", native.name))
}

/// Refuses flags that the simulator lacks, and bits that have no name, as the kernel does.
fn check_flags(native: &Native, flags: u64) -> Result<(), String> {
    if let Some(name) = first_refused(OPS_FLAGS, flags) {
        return Err(format!("{}: {}", native.name, lacking(name)));
    }
    let is_known = |flag: &&Flag| flag.2 != Support::Internal;
    let known = OPS_FLAGS.iter().filter(is_known).fold(0, |known, flag| known | flag.1);
    match flags & !known {
        0 => Ok(()),
        unknown => Err(format!("{}: unknown bits {unknown:#x} in ops.flags", native.name)),
    }
}

fn maps(native: &Native, loaded: &Loaded, set: &Set, cpus: u32) -> Result<Vec<Box<Map>>, String> {
    let make = |fact: &compile::native::Map| {
        let max_entries = set.entries.get(&fact.name).copied().unwrap_or(fact.max_entries);
        let fact = compile::native::Map { max_entries, ..fact.clone() };
        let mut map = Map::new(&fact, cpus).map_err(|error| format!("{}: {error}", native.name))?;
        if let Some(at) = fact.inner_at {
            let from = loaded.at(fact.place).wrapping_add(at as usize).cast::<*mut u8>();
            let count = fact.place.size.saturating_sub(at.into()) as usize / size_of::<*mut u8>();
            // SAFETY: the rest of the variable is a list of pointers.
            map.set_inner(unsafe { std::slice::from_raw_parts(from, count) }.to_vec());
        }
        if let Some(inner) = fact.inner.as_ref().filter(|_| set.filled.contains(&fact.name)) {
            map.fill(inner, cpus).map_err(|error| format!("{}: {error}", native.name))?;
        }
        // SAFETY: every map variable has at least a word, which nothing else uses.
        unsafe { loaded.at(fact.place).cast::<*const Map>().write(&raw const *map) };
        Ok(map)
    };
    native.facts.maps.iter().map(make).collect()
}

/// Writes a value of an array, for one CPU or for all.
fn write_value(maps: &mut [Box<Map>], value: &Call) -> Result<(), String> {
    let map = maps.iter_mut().find(|map| map.name == value.program);
    let map = map.ok_or_else(|| format!("there is no map {}", value.program))?;
    let key = value.key.unwrap_or(0).to_ne_bytes();
    let cpus = value.on.map_or(0..map.cpus(), |cpu| cpu..cpu + 1);
    for cpu in cpus {
        // SAFETY: an array's key is a number, and the value has the type of the map's values.
        let result = unsafe { map.update(key.as_ptr(), value.argument.as_ptr(), 0, cpu) };
        if result != 0 {
            return Err(format!(
                "the map {} has no value with the key {} for CPU {cpu}",
                map.name,
                value.key.unwrap_or(0)
            ));
        }
    }
    Ok(())
}

/// Writes the addresses of the kfuncs and of the trial's state into the object.
fn connect<const RACES: bool>(loaded: &Loaded, simulator: This, host: &Host) -> Result<(), String> {
    let export = loaded.export();
    for (name, slot) in export.calls() {
        let interleaved = if RACES { interleaved::function(name) } else { None };
        let function = interleaved
            .or_else(|| function(name))
            .ok_or(format!("the simulator has no function {name}()"))?;
        // SAFETY: the slot is a pointer in the object's data.
        unsafe { (slot as *mut *const ()).write(function) };
    }
    // SAFETY: the object's own data.
    unsafe {
        (*export.state).simulator = simulator.cast();
        (*export.state).nr_cpu_ids = host.cpus.cpus();
        *export.hz = u64::from(host.hz);
    }
    Ok(())
}

/// The kfunc or helper of this name in the shim's `FAIRGROUND_CALLS`.
pub(super) fn function(name: &str) -> Option<*const ()> {
    // Forms of a kfunc differ by what stands behind `___`; there is one of each.
    let name = name.split_once("___").map_or(name, |(name, _)| name);
    kfuncs::function(name)
        .or_else(|| helpers::function(name))
        .or_else(|| bpf_timers::function(name))
}
