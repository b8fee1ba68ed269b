// SPDX-License-Identifier: GPL-2.0-only
//! The memory of `struct task_struct`, shared with the scheduler under test.
//!
//! A native scheduler reads and writes fields of `p` directly, so the fields that both sides use live in
//! a block of memory per task at the offsets of the scheduler's own headers. The core reads and writes
//! them in place. Blocks never move.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

/// "This field does not exist": the core then keeps its value in a scratch word behind the block.
pub const ABSENT: u32 = u32::MAX;

/// Byte offsets of fields in a task's block. Widths are the kernel's (given in brackets).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct TaskLayout {
    /// Bytes of the whole structure.
    pub size: u32,
    /// `scx.slice` [u64].
    pub slice: u32,
    /// `scx.dsq_vtime` [u64].
    pub dsq_vtime: u32,
    /// `scx.weight` [u32].
    pub weight: u32,
    /// `scx.flags` [u32].
    pub scx_flags: u32,
    /// `scx.selected_cpu` [i32].
    pub selected_cpu: u32,
    /// `static_prio`, `prio`, `normal_prio` [i32], `rt_priority`, `policy`, `flags` [u32].
    pub static_prio: u32,
    pub prio: u32,
    pub normal_prio: u32,
    pub rt_priority: u32,
    pub policy: u32,
    pub flags: u32,
    /// `nr_cpus_allowed` [i32], `cpus_ptr` [pointer, to `cpus_mask`], `cpus_mask` [bitmap].
    pub nr_cpus_allowed: u32,
    pub cpus_ptr: u32,
    pub cpus_mask: u32,
    /// Bytes of `cpus_mask`; CPUs beyond it do not appear in it.
    pub cpus_mask_bytes: u32,
    /// `pid`, `tgid` [i32], `comm` [16 bytes].
    pub pid: u32,
    pub tgid: u32,
    pub comm: u32,
    /// `se.sum_exec_runtime`, `se.exec_start`, `start_time` [u64].
    pub sum_exec_runtime: u32,
    pub exec_start: u32,
    pub start_time: u32,
    /// `real_parent`, `parent`, `group_leader`, `mm` [pointer]; `mm` points to the leader's block.
    pub real_parent: u32,
    pub parent: u32,
    pub group_leader: u32,
    pub mm: u32,
    /// `wake_cpu` [i32], `thread_info.cpu` [u32], `recent_used_cpu` [i32], `on_cpu` [i32].
    pub wake_cpu: u32,
    pub cpu: u32,
    pub recent_used_cpu: u32,
    pub on_cpu: u32,
    /// `__state` [u32], `nvcsw`, `nivcsw` [u64].
    pub state: u32,
    pub nvcsw: u32,
    pub nivcsw: u32,
}

/// Words behind each block: the owner's number, and scratch for absent fields.
const HEADER: usize = 64;
const SCRATCH: usize = 192;

impl TaskLayout {
    /// The smallest layout: for schedulers written in Rust, which use [`super::Core`]'s methods.
    pub const fn compact() -> TaskLayout {
        TaskLayout {
            slice: 0,
            dsq_vtime: 8,
            weight: 16,
            scx_flags: 20,
            static_prio: 24,
            prio: 28,
            policy: 32,
            flags: 36,
            nr_cpus_allowed: 40,
            cpu: 44,
            sum_exec_runtime: 48,
            pid: 56,
            tgid: 60,
            size: 64,
            ..TaskLayout::absent()
        }
    }

    /// A layout without any field; fill in what exists.
    pub const fn absent() -> TaskLayout {
        TaskLayout {
            size: 0,
            slice: ABSENT,
            dsq_vtime: ABSENT,
            weight: ABSENT,
            scx_flags: ABSENT,
            selected_cpu: ABSENT,
            static_prio: ABSENT,
            prio: ABSENT,
            normal_prio: ABSENT,
            rt_priority: ABSENT,
            policy: ABSENT,
            flags: ABSENT,
            nr_cpus_allowed: ABSENT,
            cpus_ptr: ABSENT,
            cpus_mask: ABSENT,
            cpus_mask_bytes: 0,
            pid: ABSENT,
            tgid: ABSENT,
            comm: ABSENT,
            sum_exec_runtime: ABSENT,
            exec_start: ABSENT,
            start_time: ABSENT,
            real_parent: ABSENT,
            parent: ABSENT,
            group_leader: ABSENT,
            mm: ABSENT,
            wake_cpu: ABSENT,
            cpu: ABSENT,
            recent_used_cpu: ABSENT,
            on_cpu: ABSENT,
            state: ABSENT,
            nvcsw: ABSENT,
            nivcsw: ABSENT,
        }
    }
}
