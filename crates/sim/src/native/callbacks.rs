// SPDX-License-Identifier: GPL-2.0-only
//! A scheduler's `struct sched_ext_ops`, read from its memory.

use std::ffi::{CStr, c_char, c_void};

use super::abi::{self, Export};

/// A `struct task_struct *`.
pub type Task = *mut u8;

/// Functions of one task and a 64-bit word of flags.
type WithFlags = unsafe extern "C" fn(Task, u64);
type OfTask = unsafe extern "C" fn(Task);
/// Functions of one CPU.
type OfCpu = unsafe extern "C" fn(i32);

/// The callbacks with the kernel's types; `None` for absent ones.
#[derive(Clone, Copy, Default)]
pub struct Callbacks {
    pub init: Option<unsafe extern "C" fn() -> i32>,
    pub exit: Option<unsafe extern "C" fn(*mut abi::ExitInfo)>,
    pub init_task: Option<unsafe extern "C" fn(Task, *mut abi::InitTask) -> i32>,
    pub exit_task: Option<unsafe extern "C" fn(Task, *mut abi::ExitTask)>,
    pub enable: Option<OfTask>,
    pub disable: Option<OfTask>,
    pub select_cpu: Option<unsafe extern "C" fn(Task, i32, u64) -> i32>,
    pub enqueue: Option<WithFlags>,
    pub dequeue: Option<WithFlags>,
    pub dispatch: Option<unsafe extern "C" fn(i32, Task)>,
    pub tick: Option<OfTask>,
    pub runnable: Option<WithFlags>,
    pub running: Option<OfTask>,
    pub stopping: Option<unsafe extern "C" fn(Task, bool)>,
    pub quiescent: Option<WithFlags>,
    pub r#yield: Option<unsafe extern "C" fn(Task, Task) -> bool>,
    pub set_weight: Option<unsafe extern "C" fn(Task, u32)>,
    pub set_cpumask: Option<unsafe extern "C" fn(Task, *const u64)>,
    pub update_idle: Option<unsafe extern "C" fn(i32, bool)>,
    pub cpu_online: Option<OfCpu>,
    pub cpu_offline: Option<OfCpu>,
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
}

/// Callbacks that a kernel makes and the model does not.
///
/// DIVERGES: there are no control groups and no nested schedulers. `dump*` and `core_sched_before`
/// are allowed: they serve debug dumps and core scheduling, which is off.
const LACKING: &[&str] = &[
    "cgroup_init",
    "cgroup_exit",
    "cgroup_prep_move",
    "cgroup_move",
    "cgroup_cancel_move",
    "cgroup_set_weight",
    "cgroup_set_bandwidth",
    "cgroup_set_idle",
    "sub_attach",
    "sub_detach",
    "sub_caps_updated",
    "sub_ecaps_updated",
    "cpu_acquire",
    "cpu_release",
];

/// Reads a table.
///
/// # Errors
/// The table has callbacks that the model lacks; the message names them.
///
/// # Safety
/// `ops` must be a `struct sched_ext_ops` of the object that exports `export`.
pub unsafe fn read(ops: *const u8, export: &Export) -> Result<(Callbacks, Settings), String> {
    let mut callbacks = Callbacks::default();
    let mut settings = Settings::default();
    let mut lacking = Vec::new();
    for (name, offset) in export.ops_fields() {
        let field = ops.wrapping_add(offset as usize);
        // SAFETY: the field lies in the table.
        if LACKING.contains(&name) && unsafe { !field.cast::<*const c_void>().read().is_null() } {
            lacking.push(name);
        }
        // SAFETY: as above, and fields have the kernel's types.
        unsafe {
            read_callback(&mut callbacks, name, field);
            read_setting(&mut settings, name, field);
        }
    }
    match lacking.is_empty() {
        true => Ok((callbacks, settings)),
        false => Err(format!("the simulator never calls ops.{}", lacking.join(", ops."))),
    }
}

unsafe fn read_callback(callbacks: &mut Callbacks, name: &str, field: *const u8) {
    /// Takes the pointer as the type of the callback that it is assigned to.
    macro_rules! take {
        ($($name:ident),*) => {
            match name {
                // SAFETY: a null pointer is `None`, any other the function of this name.
                $(stringify!($name) => callbacks.$name = unsafe { as_callback(field) },)*
                // SAFETY: as above.
                "yield" => callbacks.r#yield = unsafe { as_callback(field) },
                _ => {}
            }
        };
    }
    take!(
        init,
        exit,
        init_task,
        exit_task,
        enable,
        disable,
        select_cpu,
        enqueue,
        dequeue,
        dispatch,
        tick,
        runnable,
        running,
        stopping,
        quiescent,
        set_weight,
        set_cpumask,
        update_idle,
        cpu_online,
        cpu_offline
    );
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
            "dispatch_max_batch" => settings.dispatch_max_batch = field.cast::<u32>().read(),
            "name" => {
                let name = CStr::from_ptr(field.cast::<c_char>());
                settings.name = name.to_string_lossy().into_owned();
            }
            _ => {}
        }
    }
}
