// SPDX-License-Identifier: GPL-2.0-only
//! A loaded scheduler: the engine calls its callbacks, and they call kfuncs.
//!
//! Calling a callback neither locks, allocates nor looks anything up: it takes a few stores and an
//! indirect call.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::atomic::Ordering::Relaxed;

use compile::native::Native;
use model::{KnobValue, Seed};

use super::abi::{self, MAX_LOOPS, State};
use super::callbacks::{self, Callbacks, Settings};
use super::fault::{CALLBACK, CALLBACKS, CALLS};
use super::maps::Map;
use super::object::Loaded;
use super::simulator::{Simulator, This, memory};
use super::{bpf_timers, table};
use crate::core::{Core, TaskId};

/// The machine that a scheduler is loaded on.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    pub cpus: u32,
    /// Ticks per second.
    pub hz: u32,
    /// The seed of `bpf_get_prandom_u32`.
    pub seed: Seed,
}

/// A scheduler's native object, loaded for one trial on one simulated kernel.
pub struct NativeScheduler {
    callbacks: Callbacks,
    settings: Settings,
    fields: BTreeMap<String, u32>,
    cpus_mask: usize,
    simulator: This,
    state: *mut State,
    object: Vec<u8>,
    // Dropped last, because the fields above point into it.
    loaded: Loaded,
}

impl NativeScheduler {
    /// Loads a scheduler with fresh globals, sets its knobs and makes its maps.
    ///
    /// # Errors
    /// A knob or flag is unknown, a map or callback is not modelled, or the system refuses the
    /// object. The sentence names it.
    pub fn load(
        native: &Native,
        knobs: &BTreeMap<String, KnobValue>,
        host: Host,
    ) -> Result<NativeScheduler, String> {
        NativeScheduler::load_with(native, knobs, host, &|_| None)
    }

    /// Like [`load`](NativeScheduler::load), but `replace` may give other functions for the kfuncs
    /// and helpers that it is asked for by name. A replacement must have the parameters and the
    /// result of the original.
    ///
    /// # Errors
    /// As for [`load`](NativeScheduler::load).
    pub fn load_with(
        native: &Native,
        knobs: &BTreeMap<String, KnobValue>,
        host: Host,
        replace: &dyn Fn(&str) -> Option<*const ()>,
    ) -> Result<NativeScheduler, String> {
        let loaded = Loaded::new(&native.object)?;
        for (name, value) in knobs {
            loaded.set_knob(native, name, *value)?;
        }
        let (callbacks, settings) = table_of(native, &loaded)?;
        check_flags(native, &loaded, settings.flags)?;
        let state = loaded.export().state;
        let mut simulator = Box::new(Simulator::new(state, host.cpus, host.seed));
        simulator.maps = maps(native, &loaded, host.cpus)?;
        let simulator = Box::into_raw(simulator);
        connect(&loaded, simulator, host, replace)?;
        super::fault::object_at(loaded.range());
        let named = |(name, offset): (&str, u64)| (name.to_owned(), offset as u32);
        let fields: BTreeMap<String, u32> = loaded.export().task_fields().map(named).collect();
        let cpus_mask = fields.get("cpus_mask").copied().unwrap_or_default() as usize;
        let object = native.object.clone();
        Ok(NativeScheduler {
            callbacks,
            settings,
            fields,
            cpus_mask,
            simulator,
            state,
            loaded,
            object,
        })
    }

    /// The shared object, with debug information about source lines.
    pub fn object(&self) -> &[u8] {
        &self.object
    }

    pub fn callbacks(&self) -> &Callbacks {
        &self.callbacks
    }

    /// Name, flags and limits.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Offsets in its `struct task_struct`, by the names of the fields; `size`, `cpus_mask_bytes`.
    pub fn task_fields(&self) -> &BTreeMap<String, u32> {
        &self.fields
    }

    /// The lines printed with `bpf_printk` so far.
    pub fn notes(&self) -> Vec<String> {
        // SAFETY: ours, and no callback runs.
        let notes = unsafe { &(*self.simulator).notes };
        notes.clone()
    }

    /// Takes the records of a ring buffer since the last call; empty if there is no such map.
    pub fn ring(&self, name: &str) -> Vec<Vec<u8>> {
        // SAFETY: ours, and no callback runs.
        let maps = unsafe { &mut (*self.simulator).maps };
        let found = maps.iter_mut().find(|map| map.name == name);
        found.and_then(|map| map.ring()).map(|ring| ring.take()).unwrap_or_default()
    }

    /// Calls a callback. Callbacks nest: a kfunc may make the kernel call another one.
    #[inline]
    fn call<R>(&self, core: &mut Core, number: u32, callback: impl FnOnce(This) -> R) -> R {
        let cpu = core.this_cpu();
        let before = CALLBACK.load(Relaxed);
        CALLBACK.store(number, Relaxed);
        CALLS.store(CALLS.load(Relaxed).wrapping_add(1), Relaxed);
        // SAFETY: simulator and state are ours and live as long as we do.
        unsafe {
            let outer = std::mem::replace(&mut (*self.simulator).core, &raw mut *core);
            let cpu = std::mem::replace(&mut (*self.state).cpu, cpu);
            (*self.state).loops_left = MAX_LOOPS;
            let result = callback(self.simulator);
            (*self.simulator).core = outer;
            (*self.state).cpu = cpu;
            CALLBACK.store(before, Relaxed);
            result
        }
    }
}

/// The number of a callback: its index in [`CALLBACKS`].
const fn number(name: &str) -> u32 {
    let mut index = 0;
    while index < CALLBACKS.len() {
        if is_same(CALLBACKS[index].as_bytes(), name.as_bytes()) {
            return index as u32;
        }
        index += 1;
    }
    panic!("no such callback")
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    a.len() == b.len() && index == a.len()
}

/// Defines callbacks whose arguments are tasks (passed as pointers) and numbers.
macro_rules! plain {
    ($($name:ident($($task:ident: TaskId),*; $($plain:ident: $type:ty),*);)*) => {
        /// The callbacks, by the kernel's names. An absent one does nothing.
        impl NativeScheduler {
            $(#[inline]
            pub fn $name(&self, core: &mut Core, $($task: TaskId,)* $($plain: $type),*) {
                if let Some(callback) = self.callbacks.$name {
                    $(let $task = core.task_memory($task);)*
                    // SAFETY: the scheduler's function with the types that the kernel gives it.
                    self.call(core, const { number(stringify!($name)) }, |_| unsafe {
                        callback($($task,)* $($plain),*)
                    })
                }
            })*
        }
    };
}

plain! {
    enable(task: TaskId;);
    disable(task: TaskId;);
    enqueue(task: TaskId; flags: u64);
    dequeue(task: TaskId; flags: u64);
    tick(task: TaskId;);
    runnable(task: TaskId; flags: u64);
    running(task: TaskId;);
    stopping(task: TaskId; runnable: bool);
    quiescent(task: TaskId; flags: u64);
    set_weight(task: TaskId; weight: u32);
    update_idle(; cpu: i32, idle: bool);
    cpu_online(; cpu: i32);
    cpu_offline(; cpu: i32);
}

impl NativeScheduler {
    pub fn init(&self, core: &mut Core) -> i32 {
        let Some(callback) = self.callbacks.init else { return 0 };
        // SAFETY: here and below: the scheduler's function with the types that the kernel gives it.
        self.call(core, const { number("init") }, |_| unsafe { callback() })
    }

    pub fn exit(&self, core: &mut Core, kind: u64, code: i64, reason: &str, message: &str) {
        let Some(callback) = self.callbacks.exit else { return };
        let text = |text: &str| CString::new(text.replace('\0', " ")).unwrap_or_default();
        let (reason, message, dump) = (text(reason), text(message), text(""));
        let mut info = abi::ExitInfo {
            kind: kind as u32,
            exit_cpu: -1,
            exit_code: code,
            flags: 0,
            reason: reason.as_ptr(),
            bt: std::ptr::null(),
            bt_len: 0,
            msg: message.as_ptr(),
            dump: dump.as_ptr(),
        };
        self.call(core, const { number("exit") }, |_| unsafe { callback(&mut info) });
    }

    pub fn init_task(&self, core: &mut Core, task: TaskId, fork: bool) -> i32 {
        let Some(callback) = self.callbacks.init_task else { return 0 };
        let task = core.task_memory(task);
        let mut args = abi::InitTask { fork, cgroup: std::ptr::null() };
        let number = const { number("init_task") };
        self.call(core, number, |_| unsafe { callback(task, &mut args) })
    }

    pub fn exit_task(&self, core: &mut Core, task: TaskId, cancelled: bool) {
        if let Some(callback) = self.callbacks.exit_task {
            let task = core.task_memory(task);
            let mut args = abi::ExitTask { cancelled };
            let number = const { number("exit_task") };
            self.call(core, number, |_| unsafe { callback(task, &mut args) });
        }
        self.forget(task);
    }

    #[inline]
    pub fn select_cpu(&self, core: &mut Core, task: TaskId, prev_cpu: i32, wake_flags: u64) -> i32 {
        let Some(callback) = self.callbacks.select_cpu else { return prev_cpu };
        let task = core.task_memory(task);
        let number = const { number("select_cpu") };
        self.call(core, number, |_| unsafe { callback(task, prev_cpu, wake_flags) })
    }

    #[inline]
    pub fn dispatch(&self, core: &mut Core, cpu: i32, prev: Option<TaskId>) {
        let Some(callback) = self.callbacks.dispatch else { return };
        let prev = memory(core, prev);
        self.call(core, const { number("dispatch") }, |_| unsafe { callback(cpu, prev) })
    }

    pub fn r#yield(&self, core: &mut Core, from: TaskId, to: Option<TaskId>) -> bool {
        let Some(callback) = self.callbacks.r#yield else { return false };
        let (from, to) = (core.task_memory(from), memory(core, to));
        self.call(core, const { number("yield") }, |_| unsafe { callback(from, to) })
    }

    /// The new mask is in the task's memory.
    pub fn set_cpumask(&self, core: &mut Core, task: TaskId) {
        let Some(callback) = self.callbacks.set_cpumask else { return };
        let task = core.task_memory(task);
        let mask = task.wrapping_add(self.cpus_mask).cast::<u64>();
        let number = const { number("set_cpumask") };
        self.call(core, number, |_| unsafe { callback(task, mask) })
    }

    /// Calls the callback of an expired timer, by its number from [`Core::timer_new`].
    pub fn timer(&self, core: &mut Core, timer: u32) {
        let number = const { number("a timer") };
        self.call(core, number, |this| unsafe { bpf_timers::expire(this, timer) })
    }

    /// A task's storage ends with it.
    fn forget(&self, task: TaskId) {
        // SAFETY: ours.
        for map in unsafe { &mut (*self.simulator).maps } {
            map.storage_delete(task.0);
        }
    }
}

impl Drop for NativeScheduler {
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
    let expected = export.ops_fields().find(|(name, _)| *name == "size").map(|(_, size)| size);
    if expected != Some(place.size) {
        return Err(format!(
            "{}: only cpu-form schedulers are modelled (SCX_OPS_DEFINE)",
            native.name
        ));
    }
    // SAFETY: the place is the object's table, of the right size.
    unsafe { callbacks::read(loaded.at(*place), export) }
        .map_err(|error| format!("{}: {error}", native.name))
}

/// Refuses bits of `ops.flags` that have no name, as the kernel does.
fn check_flags(native: &Native, loaded: &Loaded, flags: u64) -> Result<(), String> {
    let known = loaded.export().flags().fold(0, |known, (_, bit)| known | bit);
    match flags & !known {
        0 => Ok(()),
        unknown => Err(format!("{}: unknown bits {unknown:#x} in ops.flags", native.name)),
    }
}

fn maps(native: &Native, loaded: &Loaded, cpus: u32) -> Result<Vec<Box<Map>>, String> {
    let make = |fact: &compile::native::Map| {
        let map = Map::new(fact, cpus).map_err(|error| format!("{}: {error}", native.name))?;
        // SAFETY: every map variable has at least a word, which nothing else uses.
        unsafe { loaded.at(fact.place).cast::<*const Map>().write(&raw const *map) };
        Ok(map)
    };
    native.facts.maps.iter().map(make).collect()
}

/// Writes the addresses of the kfuncs and of the trial's state into the object.
fn connect(
    loaded: &Loaded,
    simulator: This,
    host: Host,
    replace: &dyn Fn(&str) -> Option<*const ()>,
) -> Result<(), String> {
    let export = loaded.export();
    for (name, slot) in export.calls() {
        let function = replace(name).or_else(|| table::function(name));
        let function = function.ok_or(format!("the simulator has no function {name}()"))?;
        // SAFETY: the slot is a pointer in the object's data.
        unsafe { (slot as *mut *const ()).write(function) };
    }
    // SAFETY: the object's own data.
    unsafe {
        (*export.state).simulator = simulator.cast();
        (*export.state).nr_cpu_ids = host.cpus;
        *export.hz = u64::from(host.hz);
    }
    Ok(())
}
