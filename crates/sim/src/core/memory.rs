// SPDX-License-Identifier: GPL-2.0-only
//! The memory of `struct task_struct`, shared with the scheduler under test.
//!
//! A native scheduler reads and writes fields of `p` directly, so the fields that both sides use
//! live in a block of memory per task at the offsets of the scheduler's own headers. The core reads
//! and writes them in place. Blocks never move.

use std::alloc::{Layout, handle_alloc_error};
use std::ptr::null_mut;

use super::task::TaskId;

/// "This field does not exist": the core then keeps its value in a scratch word behind the block.
pub const ABSENT: u32 = u32::MAX;

/// Byte offsets of fields in a task's block. Widths are the kernel's (given in brackets).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskLayout {
    /// Bytes of the whole structure.
    pub size: u32,
    /// `scx.slice` [u64].
    pub slice: u32,
    /// `scx.dsq_vtime` [u64].
    pub dsq_vtime: u32,
    /// `scx.weight` [u32].
    pub weight: u32,
    /// `scx.flags` [u32]: the bits that schedulers read.
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
    /// `se.slice` [u64] that the task has asked for, and whether it has: `se.custom_slice` [u8].
    pub se_slice: u32,
    pub custom_slice: u32,
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

impl TaskLayout {
    /// The smallest layout: for schedulers written in Rust, which use the methods of
    /// [`Core`](crate::Core).
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

    /// The same, with absent fields pointing to the scratch behind the block.
    fn with_scratch(mut self, scratch: u32) -> TaskLayout {
        for offset in self.offsets() {
            *offset = if *offset == ABSENT { scratch } else { *offset };
        }
        self
    }

    fn offsets(&mut self) -> [&mut u32; 33] {
        [
            &mut self.slice,
            &mut self.dsq_vtime,
            &mut self.weight,
            &mut self.scx_flags,
            &mut self.selected_cpu,
            &mut self.static_prio,
            &mut self.prio,
            &mut self.normal_prio,
            &mut self.rt_priority,
            &mut self.policy,
            &mut self.flags,
            &mut self.nr_cpus_allowed,
            &mut self.cpus_ptr,
            &mut self.cpus_mask,
            &mut self.pid,
            &mut self.tgid,
            &mut self.comm,
            &mut self.sum_exec_runtime,
            &mut self.exec_start,
            &mut self.start_time,
            &mut self.se_slice,
            &mut self.custom_slice,
            &mut self.real_parent,
            &mut self.parent,
            &mut self.group_leader,
            &mut self.mm,
            &mut self.wake_cpu,
            &mut self.cpu,
            &mut self.recent_used_cpu,
            &mut self.on_cpu,
            &mut self.state,
            &mut self.nvcsw,
            &mut self.nivcsw,
        ]
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
            se_slice: ABSENT,
            custom_slice: ABSENT,
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

/// The slice that a fair task has asked for, bounded as by the kernel (`__setparam_fair`); 0: none.
pub fn put_slice(block: *mut u8, at: &TaskLayout, asked_us: u64) {
    put(block, at.se_slice, asked_us.clamp(100, 100_000) * 1000);
    put(block, at.custom_slice, u8::from(asked_us > 0));
}

/// Bytes before each block: the owner's number.
const HEADER: usize = 64;
/// Bytes behind each block: where absent fields are written.
const SCRATCH: usize = 64;
/// Blocks of the first chunk, and the fewest of each other.
const FEW: usize = 256;
const HUGE_PAGE: usize = 2 << 20;

/// All tasks' blocks. They never move, and come zeroed from the system, so that untouched pages of
/// a large structure cost nothing. Many tasks touch all pages; if these were small, most of the
/// time that it takes to make a task would be page faults, so all chunks but a small first one
/// are huge pages.
pub struct Arena {
    /// Where fields are; absent ones point behind the block.
    pub layout: TaskLayout,
    stride: usize,
    chunks: Vec<Chunk>,
    /// The begin of the next block.
    next: *mut u8,
    /// Blocks that the last chunk still has room for.
    left: usize,
    used: u32,
}

impl Arena {
    pub fn new(layout: TaskLayout) -> Arena {
        let size = layout.size.next_multiple_of(64) as usize;
        Arena {
            layout: layout.with_scratch(size as u32),
            stride: HEADER + size + SCRATCH,
            chunks: Vec::new(),
            next: null_mut(),
            left: 0,
            used: 0,
        }
    }

    /// A new, zeroed block for the next task.
    pub fn add(&mut self) -> *mut u8 {
        if self.left == 0 {
            self.grow();
        }
        // SAFETY: the chunk has room for a block, its header and its scratch.
        let block = unsafe { self.next.add(HEADER) };
        // SAFETY: the header precedes the block in the same chunk, and is aligned.
        unsafe { block.sub(8).cast::<u32>().write(self.used) };
        self.next = self.next.wrapping_add(self.stride);
        (self.left, self.used) = (self.left - 1, self.used + 1);
        block
    }

    /// Makes room for the first tasks, if these are many.
    pub fn reserve(&mut self, tasks: usize) {
        if self.chunks.is_empty() && tasks > FEW {
            self.take(Chunk::of_huge_pages(tasks * self.stride));
        }
    }

    fn grow(&mut self) {
        let few = FEW * self.stride;
        self.take(match self.chunks.is_empty() {
            true => (Chunk::new(few), few),
            false => Chunk::of_huge_pages(few),
        });
    }

    fn take(&mut self, (chunk, bytes): (Chunk, usize)) {
        (self.next, self.left) = (chunk.begin, bytes / self.stride);
        self.chunks.push(chunk);
    }
}

/// Zeroed memory from the system.
struct Chunk {
    mapped: *mut u8,
    bytes: usize,
    /// Its first byte of use.
    begin: *mut u8,
}

impl Chunk {
    fn new(bytes: usize) -> Chunk {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping, which changes no other memory.
        let mapped = unsafe { libc::mmap(null_mut(), bytes, rights, kind, -1, 0) };
        if mapped == libc::MAP_FAILED {
            handle_alloc_error(Layout::from_size_align(bytes, 64).expect("a sane structure size"));
        }
        Chunk { mapped: mapped.cast(), bytes, begin: mapped.cast() }
    }

    /// At least `fewest` bytes, from the boundary of a huge page on, and their number. A system
    /// without huge pages gives small ones.
    fn of_huge_pages(fewest: usize) -> (Chunk, usize) {
        let bytes = fewest.next_multiple_of(HUGE_PAGE);
        let mut chunk = Chunk::new(bytes + HUGE_PAGE);
        chunk.begin = chunk.mapped.wrapping_add(chunk.mapped.align_offset(HUGE_PAGE));
        // SAFETY: advice about pages of the chunk, which does not change their content.
        unsafe { libc::madvise(chunk.begin.cast(), bytes, libc::MADV_HUGEPAGE) };
        (chunk, bytes)
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: mapped with the same size, and its owner is gone.
        unsafe { libc::munmap(self.mapped.cast(), self.bytes) };
    }
}

/// The task that a block belongs to.
///
/// # Safety
/// `block` must come from [`Arena::add`].
pub unsafe fn owner(block: *const u8) -> TaskId {
    // SAFETY: `add` wrote it there.
    TaskId(unsafe { block.sub(8).cast::<u32>().read() })
}

/// Reads a field in place.
pub(crate) fn get<T: Copy>(block: *const u8, offset: u32) -> T {
    // SAFETY: blocks live as long as the core, and offsets lie inside the block or its scratch.
    unsafe { block.add(offset as usize).cast::<T>().read_unaligned() }
}

/// Writes a field in place.
pub(crate) fn put<T: Copy>(block: *mut u8, offset: u32, value: T) {
    // SAFETY: as above.
    unsafe { block.add(offset as usize).cast::<T>().write_unaligned(value) }
}
