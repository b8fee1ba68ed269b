// SPDX-License-Identifier: GPL-2.0-only
//! Memory that both sides know: the shim's `fairground/state.h` and `export.inc.c`, and a few
//! kernel structures, whose layout `export.inc.c` asserts.

use std::ffi::{CStr, c_char, c_void};

/// A name and a number; lists end with a null name.
#[repr(C)]
pub struct Named {
    name: *const c_char,
    value: u64,
}

/// `struct fairground_export`.
#[repr(C)]
pub struct Export {
    /// The object's `fairground`.
    pub state: *mut SharedState,
    task_fields: *const Named,
    ops_fields: *const Named,
    calls: *const Named,
    /// `CONFIG_HZ`.
    pub hz: *mut u64,
    objects: *const Named,
    ops_cid_fields: *const Named,
}

impl Export {
    /// Offsets in `struct task_struct`, and `size` and `cpus_mask_bytes`.
    pub fn task_fields(&self) -> impl Iterator<Item = (&str, u64)> {
        named(self.task_fields)
    }

    /// Addresses of what tasks point to.
    pub fn objects(&self) -> impl Iterator<Item = (&str, u64)> {
        named(self.objects)
    }

    /// Offsets in `struct sched_ext_ops`.
    pub fn ops_fields(&self) -> impl Iterator<Item = (&str, u64)> {
        named(self.ops_fields)
    }

    /// Offsets in `struct sched_ext_ops_cid`, by the names of the cpu form.
    pub fn ops_cid_fields(&self) -> impl Iterator<Item = (&str, u64)> {
        named(self.ops_cid_fields)
    }

    /// Addresses of the slots for our functions.
    pub fn calls(&self) -> impl Iterator<Item = (&str, u64)> {
        named(self.calls)
    }
}

fn named<'a>(list: *const Named) -> impl Iterator<Item = (&'a str, u64)> {
    (0..).map_while(move |index| {
        // SAFETY: the object's lists are constants that end with a null name.
        let entry = unsafe { &*list.add(index) };
        // SAFETY: names are string literals of the object.
        let name = || unsafe { CStr::from_ptr(entry.name) }.to_str().unwrap_or_default();
        (!entry.name.is_null()).then(|| (name(), entry.value))
    })
}

/// The beginning of `struct fairground_state`.
#[repr(C)]
pub struct SharedState {
    /// Handed back with every call.
    pub simulator: *mut c_void,
    /// The CPU that the callback runs on.
    pub cpu: u32,
    /// `nr_cpu_ids`.
    pub nr_cpu_ids: u32,
    /// What is left of the budget for loops with `may_goto`.
    pub loops_left: i64,
    /// How many references the callback holds, see `references.inc.c`, and how many spin locks.
    pub holds: Holds,
    /// The first of the references.
    pub held: [Reference; 32],
}

/// What a callback holds.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Holds {
    pub references: u32,
    pub locks: u32,
}

/// `struct fairground_reference`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Reference {
    pub object: *const c_void,
    /// The kfunc that acquired it.
    pub kfunc: *const c_char,
    /// The return address of that call.
    pub caller: u64,
}

/// What a callback may loop, as `BPF_MAX_LOOPS`.
pub const MAX_LOOPS: i64 = 8 * 1024 * 1024;

/// `struct scx_exit_info`.
#[repr(C)]
pub struct KernelExitInfo {
    /// `SCX_EXIT_*`.
    pub kind: u32,
    /// The CPU, or -1.
    pub exit_cpu: i32,
    /// `scx_bpf_exit()`'s code.
    pub exit_code: i64,
    /// Always 0.
    pub flags: u64,
    pub reason: *const c_char,
    /// No back trace.
    pub bt: *const u64,
    pub bt_len: u32,
    pub msg: *const c_char,
    /// What `ops.dump` wrote.
    pub dump: *const c_char,
}

/// `struct scx_init_task_args`.
#[repr(C)]
pub struct InitTask {
    /// The task is new, not found at load.
    pub fork: bool,
    pub cgroup: *const c_void,
}

/// `struct scx_exit_task_args`.
#[repr(C)]
pub struct ExitTask {
    /// The fork failed.
    pub cancelled: bool,
}

/// `struct scx_enable_args`, of the cid form.
#[repr(C)]
pub struct Enable {
    /// The task's CPUs as a `struct scx_cmask`.
    pub cmask: *const u64,
}

/// `struct scx_cgroup_init_args`.
#[repr(C)]
pub struct CgroupInit {
    pub weight: u32,
    pub bw_period_us: u64,
    pub bw_quota_us: u64,
    pub bw_burst_us: u64,
    pub sched_idle: bool,
}

/// `struct scx_cpu_release_args`.
#[repr(C)]
pub struct CpuRelease {
    /// `SCX_CPU_PREEMPT_*`.
    pub reason: u32,
    pub task: *mut u8,
}

/// `struct scx_bpf_select_cpu_and_args`.
#[repr(C)]
pub struct SelectCpuAnd {
    /// Where the task was.
    pub prev_cpu: i32,
    /// `SCX_WAKE_*`.
    pub wake_flags: u64,
    /// `SCX_PICK_IDLE_*`.
    pub flags: u64,
}

/// `struct scx_bpf_dsq_insert_vtime_args`.
#[repr(C)]
pub struct InsertVtime {
    pub dsq_id: u64,
    pub slice: u64,
    pub vtime: u64,
    /// `SCX_ENQ_*`.
    pub enq_flags: u64,
}

/// Our use of `struct bpf_iter_scx_dsq`.
#[repr(C)]
pub struct DsqIterator {
    pub cursor: u32,
    pub is_open: u32,
    /// For the next move.
    pub slice: u64,
    /// For the next move.
    pub vtime: u64,
    /// Which of the two were set, bits 0 and 1.
    pub set: u64,
}

/// Bits of a `struct cpumask`.
pub const NR_CPUS: u32 = 8192;

/// The set behind a `struct cpumask *`.
///
/// # Safety
/// `mask` must point to a whole `struct cpumask` that lives as long as the returned slice.
pub unsafe fn cpus<'a>(mask: *const u64, cpus: u32) -> &'a [u64] {
    // SAFETY: the caller's.
    unsafe { std::slice::from_raw_parts(mask, cpus.div_ceil(64) as usize) }
}
