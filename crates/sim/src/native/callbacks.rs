// SPDX-License-Identifier: GPL-2.0-only
//! A scheduler's `struct sched_ext_ops`, read from its memory.

use std::ffi::{CStr, c_char};
use std::sync::atomic::Ordering::Relaxed;

use compile::native::interface::{MEMBERS, Support};

use super::abi;
use super::fault::CALLBACK;
use crate::core::kernel::OpsPresent;
use crate::core::{Core, TaskId};
use crate::ext::error;
use crate::races::Hold;
use crate::races::lost_updates::Runs;

/// A `struct task_struct *`.
pub type TaskPointer = *mut u8;

/// Declares [`Callbacks`], and all that follows from the list of the callbacks.
macro_rules! callbacks {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?,)*) => {
        /// The callbacks with the kernel's types; `None` for absent ones.
        #[derive(Clone, Copy, Default)]
        pub struct Callbacks {
            $(pub $name: Option<unsafe extern "C" fn($($argument),*) $(-> $result)?>,)*
        }

        /// The callbacks' names by number. Number 0: no callback runs.
        pub const CALLBACKS: &[&str] =
            &["", $(kernel_name(stringify!($name)),)* "a timer", "an event"];

        impl Callbacks {
            pub fn present(&self) -> OpsPresent {
                OpsPresent { $($name: self.$name.is_some(),)* }
            }

            /// Takes the pointer as the type of the callback that it is assigned to.
            unsafe fn take(&mut self, name: &str, field: *const u8) {
                $(if name == kernel_name(stringify!($name)) {
                    // SAFETY: a null pointer is `None`, any other the function of this name.
                    self.$name = unsafe { as_callback(field) };
                })*
            }
        }
    };
}

callbacks! {
    init: fn() -> i32,
    exit: fn(*mut abi::KernelExitInfo),
    init_task: fn(TaskPointer, *mut abi::InitTask) -> i32,
    exit_task: fn(TaskPointer, *mut abi::ExitTask),
    // The cpu form has no arguments.
    enable: fn(TaskPointer, *mut abi::Enable),
    disable: fn(TaskPointer),
    select_cpu: fn(TaskPointer, i32, u64) -> i32,
    enqueue: fn(TaskPointer, u64),
    dequeue: fn(TaskPointer, u64),
    dispatch: fn(i32, TaskPointer),
    tick: fn(TaskPointer),
    runnable: fn(TaskPointer, u64),
    running: fn(TaskPointer),
    stopping: fn(TaskPointer, bool),
    quiescent: fn(TaskPointer, u64),
    r#yield: fn(TaskPointer, TaskPointer) -> bool,
    set_weight: fn(TaskPointer, u32),
    set_cpumask: fn(TaskPointer, *const u64),
    set_cmask: fn(TaskPointer, *const u64),
    cgroup_init: fn(*mut u8, *mut abi::CgroupInit) -> i32,
    cgroup_exit: fn(*mut u8),
    cgroup_prep_move: fn(TaskPointer, *mut u8, *mut u8) -> i32,
    cgroup_move: fn(TaskPointer, *mut u8, *mut u8),
    cgroup_cancel_move: fn(TaskPointer, *mut u8, *mut u8),
    cgroup_set_weight: fn(*mut u8, u32),
    cgroup_set_bandwidth: fn(*mut u8, u64, u64, u64),
    cgroup_set_idle: fn(*mut u8, bool),
    init_cids: fn() -> i32,
    update_idle: fn(i32, bool),
    cpu_acquire: fn(i32, *mut u8),
    cpu_release: fn(i32, *mut abi::CpuRelease),
    cpu_online: fn(i32),
    cpu_offline: fn(i32),
}

/// A callback's name without what Rust puts before its own keywords.
const fn kernel_name(identifier: &'static str) -> &'static str {
    match identifier.as_bytes() {
        [b'r', b'#', name @ ..] => match std::str::from_utf8(name) {
            Ok(name) => name,
            Err(_) => identifier,
        },
        _ => identifier,
    }
}

/// The number of a callback: its index in [`CALLBACKS`].
pub const fn number(name: &str) -> u32 {
    let mut index = 0;
    while index < CALLBACKS.len() {
        if is_same(CALLBACKS[index].as_bytes(), name.as_bytes()) {
            return index as u32;
        }
        index += 1;
    }
    panic!("no such callback")
}

/// Kfuncs that take tasks for a CPU: `dispatch` may call them.
pub const DISPATCH: u8 = 1;
/// Kfuncs that select a CPU for a task: `select_cpu` and `enqueue` may.
pub const SELECT: u8 = 2;
/// Kfuncs that need a callback which the kernel calls without the lock of a run queue.
pub const UNLOCKED: u8 = 4;
/// Kfuncs that sleep.
pub const SLEEPS: u8 = 8;

/// Which kfuncs each callback may call, by its number: the kernel's `scx_kf_allow_flags` and
/// `bpf_scx_check_member`.
pub const ALLOWED: [u8; CALLBACKS.len()] = {
    let mut allowed = [0; CALLBACKS.len()];
    let mut index = 0;
    while index < allowed.len() {
        allowed[index] = allowed_in(CALLBACKS[index]);
        index += 1;
    }
    allowed
};

/// Whether the running callback may call a kfunc for callbacks of any of these kinds.
#[inline]
pub(super) fn may_call(kinds: u8) -> bool {
    ALLOWED.get(CALLBACK.load(Relaxed) as usize).is_some_and(|allowed| allowed & kinds != 0)
}

const fn allowed_in(callback: &str) -> u8 {
    match callback.as_bytes() {
        b"dispatch" => DISPATCH,
        b"select_cpu" | b"enqueue" => SELECT,
        b"init" | b"init_cids" | b"init_task" | b"exit" | b"cgroup_init" | b"cgroup_exit"
        | b"cgroup_prep_move" | b"cpu_online" | b"cpu_offline" => UNLOCKED | SLEEPS,
        b"cgroup_cancel_move"
        | b"cgroup_set_weight"
        | b"cgroup_set_bandwidth"
        | b"cgroup_set_idle"
        | b"a timer" => UNLOCKED,
        _ => 0,
    }
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    a.len() == b.len() && index == a.len()
}

/// The other members of the table.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `ops.name`.
    pub name: String,
    /// `ops.flags`.
    pub flags: u64,
    /// `ops.timeout_ms`.
    pub timeout_ms: u32,
    /// `ops.dispatch_max_batch`.
    pub dispatch_max_batch: u32,
    /// `ops.cid_shard_size`.
    pub cid_shard_size: u32,
    /// Callbacks that are there and are never called.
    pub without_effect: Vec<String>,
}

/// Reads a table.
///
/// # Safety
/// `ops` must be a table of the object that exports these names and offsets of its members.
pub unsafe fn read<'a>(
    ops: *const u8,
    fields: impl Iterator<Item = (&'a str, u64)>,
) -> Result<(Callbacks, Settings), String> {
    let mut callbacks = Callbacks::default();
    let mut settings = Settings::default();
    let mut lacking = Vec::new();
    for (name, offset) in fields {
        let field = ops.wrapping_add(offset as usize);
        let is_refused = MEMBERS.contains(&(name, Support::Refused));
        // SAFETY: the field lies in the table, and those that may be refused have 64 bits.
        if is_refused && unsafe { field.cast::<u64>().read() } != 0 {
            lacking.push(name);
        }
        let is_left_out = MEMBERS.iter().any(|(member, support)| {
            *member == name && matches!(support, Support::Harmless(_)) && !is_number(name)
        });
        // SAFETY: as above; callbacks are pointers.
        if is_left_out && unsafe { field.cast::<u64>().read() } != 0 {
            settings.without_effect.push(name.to_owned());
        }
        // SAFETY: as above, and fields have the kernel's types.
        unsafe {
            callbacks.take(name, field);
            read_setting(&mut settings, name, field);
        }
    }
    if lacking.is_empty() {
        Ok((callbacks, settings))
    } else {
        Err(error::lacking(&format!("ops.{}", lacking.join(", ops."))))
    }
}

/// Whether a member without effect is none of the callbacks.
fn is_number(name: &str) -> bool {
    name.starts_with("rescue_") || name == "exit_dump_len" || name == "hotplug_seq"
}

/// Reads a pointer to a function, of the type that is wanted.
unsafe fn as_callback<F>(field: *const u8) -> Option<F> {
    // SAFETY: the caller's; function pointers and their `Option` have the same form.
    unsafe { field.cast::<Option<F>>().read() }
}

unsafe fn read_setting(settings: &mut Settings, name: &str, field: *const u8) {
    // SAFETY: the fields' types are the kernel's.
    unsafe {
        match name {
            "flags" => settings.flags = field.cast::<u64>().read(),
            "timeout_ms" => settings.timeout_ms = field.cast::<u32>().read(),
            "cid_shard_size" => settings.cid_shard_size = field.cast::<u32>().read(),
            "dispatch_max_batch" => settings.dispatch_max_batch = field.cast::<u32>().read(),
            "name" => {
                let name = CStr::from_ptr(field.cast::<c_char>());
                settings.name = name.to_string_lossy().into_owned();
            }
            _ => {}
        }
    }
}

/// What a callback holds while it runs: `select_cpu` and the callbacks about a new or dead task run
/// under the task's lock, all others under a run queue's, too; those that concern no CPU run
/// alone. Timers and programs on events hold nothing.
pub fn hold(core: &Core, number: u32, task: Option<&TaskId>) -> Hold {
    const OF_TASK: &[&str] = &["select_cpu", "init_task", "exit_task", "enable"];
    const OF_CPU: &[&str] =
        &["dispatch", "update_idle", "cpu_acquire", "cpu_release", "set_cpumask"];
    const OF_NOTHING: &[&str] = &["a timer", "an event", ""];
    let name = CALLBACKS.get(number as usize).copied().unwrap_or_default();
    let queue = match task {
        Some(_) if OF_TASK.contains(&name) => None,
        Some(task) => Some(core.machine.task(*task).cpu),
        None => OF_CPU.contains(&name).then(|| core.this_cpu()),
    };
    let alone = task.is_none() && queue.is_none() && !OF_NOTHING.contains(&name);
    let runs = Runs { callback: number, cpu: core.this_cpu() };
    Hold { runs, task: task.copied(), queue, alone }
}
