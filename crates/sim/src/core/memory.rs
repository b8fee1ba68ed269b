// SPDX-License-Identifier: GPL-2.0-only
//! Memory for many tasks: that of `struct task_struct`, shared with the scheduler under test, and
//! room in lists.
//!
//! A native scheduler reads and writes fields of `p` directly, so the fields that both sides use
//! live in a block of memory per task at the offsets of the scheduler's own headers. The core reads
//! and writes them in place. Blocks never move.

use std::alloc::{Layout, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use super::task::TaskId;

/// "This field does not exist": the core then keeps its value in a scratch word behind the block.
const ABSENT: u32 = u32::MAX;

/// Declares [`TaskLayout`] from its fields and their paths in `struct task_struct`.
macro_rules! task_layout {
    ($($field:ident = $path:literal [$_type:ty],)*) => {
        /// Byte offsets of fields in a task's block.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct TaskLayout {
            /// Bytes of the whole structure.
            pub size: u32,
            /// Bytes of `cpus_mask`; CPUs beyond it do not appear in it.
            pub cpus_mask_bytes: u32,
            $(pub $field: u32,)*
            /// What tasks point to.
            pub objects: SharedObjects,
        }

        impl TaskLayout {
            /// A layout without any field; fill in what exists.
            const ABSENT: TaskLayout =
                TaskLayout {
                    size: 0,
                    cpus_mask_bytes: 0,
                    $($field: ABSENT,)*
                    objects: SharedObjects::NONE,
                };

            /// The layout of a scheduler's headers, from pairs of a field's path and its offset;
            /// `size` and `cpus_mask_bytes` are among them.
            pub fn of<'a>(fields: impl Iterator<Item = (&'a str, u64)>) -> TaskLayout {
                let mut layout = TaskLayout::ABSENT;
                for (path, offset) in fields {
                    match path {
                        "size" => layout.size = offset as u32,
                        "cpus_mask_bytes" => layout.cpus_mask_bytes = offset as u32,
                        $($path => layout.$field = offset as u32,)*
                        _ => {}
                    }
                }
                layout
            }

            /// The same, with absent fields pointing to the scratch behind the block.
            fn with_scratch(mut self, scratch: u32) -> TaskLayout {
                $(if self.$field == ABSENT {
                    self.$field = scratch;
                })*
                self
            }
        }
    };
}

task_layout! {
    slice = "scx.slice" [u64],
    dsq_vtime = "scx.dsq_vtime" [u64],
    weight = "scx.weight" [u32],
    // The bits that schedulers read.
    scx_flags = "scx.flags" [u32],
    selected_cpu = "scx.selected_cpu" [i32],
    disallow = "scx.disallow" [u8],
    lazy_resched = "scx.lazy_resched" [u8],
    // The queue that the task is in.
    dsq = "scx.dsq" [*const ShownQueue],
    // Target queue of a direct dispatch, or `DSQ_INVALID`.
    ddsp_dsq = "scx.ddsp_dsq_id" [u64],
    ddsp_enq_flags = "scx.ddsp_enq_flags" [u64],
    // Jiffies.
    runnable_at = "scx.runnable_at" [u64],
    tid = "scx.tid" [u64],
    static_prio = "static_prio" [i32],
    prio = "prio" [i32],
    normal_prio = "normal_prio" [i32],
    rt_priority = "rt_priority" [u32],
    policy = "policy" [u32],
    flags = "flags" [u32],
    nr_cpus_allowed = "nr_cpus_allowed" [i32],
    // Points to `cpus_mask`.
    cpus_ptr = "cpus_ptr" [*const u64],
    cpus_mask = "cpus_mask" [[u64]],
    pid = "pid" [i32],
    tgid = "tgid" [i32],
    comm = "comm" [[u8; 16]],
    sum_exec_runtime = "se.sum_exec_runtime" [u64],
    exec_start = "se.exec_start" [u64],
    start_time = "start_time" [u64],
    // The slice that the task has asked for, and whether it has.
    se_slice = "se.slice" [u64],
    custom_slice = "se.custom_slice" [u8],
    load_weight = "se.load.weight" [u64],
    // Number of times that the task was put on a CPU, and its waits for one, ns.
    pcount = "sched_info.pcount" [u64],
    run_delay = "sched_info.run_delay" [u64],
    last_arrival = "sched_info.last_arrival" [u64],
    last_queued = "sched_info.last_queued" [u64],
    in_iowait = "in_iowait" [u32],
    // CPU time as ticks sample it, ns.
    utime = "utime" [u64],
    start_boottime = "start_boottime" [u64],
    sched_class = "sched_class" [u64],
    cgroups = "cgroups" [u64],
    sched_task_group = "sched_task_group" [u64],
    real_cred = "real_cred" [u64],
    cred = "cred" [u64],
    // Points to the leader's `own_signal`.
    signal = "signal" [*const u8],
    thread_node = "thread_node" [[*const u8; 2]],
    // Points to `own_pid`.
    thread_pid = "thread_pid" [*const u8],
    own_signal = "fairground_signal" [[u64; 8]],
    own_pid = "fairground_pid" [[u64; 3]],
    real_parent = "real_parent" [*const u8],
    parent = "parent" [*const u8],
    group_leader = "group_leader" [*const u8],
    // Points to the leader's block.
    mm = "mm" [*const u8],
    wake_cpu = "wake_cpu" [i32],
    cpu = "thread_info.cpu" [u32],
    recent_used_cpu = "recent_used_cpu" [i32],
    on_cpu = "on_cpu" [i32],
    state = "__state" [u32],
    nvcsw = "nvcsw" [u64],
    nivcsw = "nivcsw" [u64],
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
            ddsp_dsq: 64,
            size: 72,
            ..TaskLayout::ABSENT
        }
    }
}

/// The addresses of what tasks point to in the scheduler's object, by the shim's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedObjects {
    /// The function that makes a control group in the object's memory.
    pub make_group: u64,
    pub remove_group: u64,
    /// The function that makes a session of tasks.
    pub make_session: u64,
    pub cred: u64,
    pub pid_namespace: u64,
    /// `struct sched_class` of deadline, real-time, sched_ext and idle tasks.
    pub classes: [u64; 4],
}

impl SharedObjects {
    /// Null pointers, for schedulers that are no objects.
    const NONE: SharedObjects = SharedObjects {
        make_group: 0,
        remove_group: 0,
        make_session: 0,
        cred: 0,
        pid_namespace: 0,
        classes: [0; 4],
    };

    pub fn of<'a>(named: impl Iterator<Item = (&'a str, u64)>) -> SharedObjects {
        let mut found = SharedObjects::NONE;
        for (name, address) in named {
            match name {
                "make_group" => found.make_group = address,
                "remove_group" => found.remove_group = address,
                "make_session" => found.make_session = address,
                "cred" => found.cred = address,
                "pid_namespace" => found.pid_namespace = address,
                "dl" => found.classes[0] = address,
                "rt" => found.classes[1] = address,
                "ext" => found.classes[2] = address,
                "idle" => found.classes[3] = address,
                _ => {}
            }
        }
        found
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
        self.take(if self.chunks.is_empty() {
            (Chunk::new(few), few)
        } else {
            Chunk::of_huge_pages(few)
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

/// The size of a page of memory.
const PAGE: usize = 4096;
/// Fewer pages are left to come one by one.
const FEW_PAGES: usize = 16;

/// Makes room for exactly this many more items, and populates its pages in one system call. Without
/// that, the first write to each page is a page fault.
pub(crate) fn reserve_room<T>(list: &mut Vec<T>, more: usize) {
    list.reserve_exact(more);
    populate(list.spare_capacity_mut());
}

fn populate<T>(room: &mut [MaybeUninit<T>]) {
    let pages = room.as_mut_ptr_range();
    let begin = (pages.start as usize).next_multiple_of(PAGE);
    let end = pages.end as usize / PAGE * PAGE;
    if begin + FEW_PAGES * PAGE <= end {
        // SAFETY: the pages lie inside the room, and the advice does not change what is in them. A
        // kernel that does not know it (before 5.14) refuses, and the pages come one by one.
        unsafe { libc::madvise(begin as *mut _, end - begin, libc::MADV_POPULATE_WRITE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_list_stays() {
        let mut list: Vec<u64> = (0..5).collect();
        reserve_room(&mut list, 100_000);
        assert!(list.capacity() >= 100_005);
        list.extend(5..100_005);
        assert!(list.iter().copied().eq(0..100_005));
    }
}
