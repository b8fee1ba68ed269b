// SPDX-License-Identifier: GPL-2.0-only
//! What a native scheduler asks of the simulated kernel: one method for each kfunc, with the
//! kfunc's meaning.
//!
//! The engine's `Core` implements it (see `bridge`); tests have a kernel of their own. Errors of
//! the scheduler's (a queue that does not exist, …) are the kernel's to notice and to act upon.

use crate::core::TaskId;

/// A place in a queue that an iterator remembers between two calls; it lies in the scheduler's
/// memory.
pub type Cursor = u32;

/// The simulated kernel.
#[allow(missing_docs)]
pub trait Kernel: 'static {
    /// Time on the present CPU, ns.
    fn now(&self) -> u64;
    fn jiffies(&self) -> u64;
    fn this_cpu(&self) -> u32;
    fn cpus(&self) -> u32;
    /// The task that runs here, be it the idle task.
    fn current(&self) -> TaskId;
    fn memory(&self, task: TaskId) -> *mut u8;
    /// The task whose memory this is, if it is a task's.
    ///
    /// # Safety
    /// What stands in front of a pointer that is not null is read; a wrong one may be a crash.
    unsafe fn task_at(&self, memory: *const u8) -> Option<TaskId>;
    fn task_of_pid(&self, pid: i32) -> Option<TaskId>;
    /// Throws the scheduler out because of an error of its own making.
    fn error(&mut self, message: String);
    /// The scheduler says that it fails (`scx_bpf_error`).
    fn error_bpf(&mut self, message: String);
    /// The scheduler wants to leave (`scx_bpf_exit`).
    fn exit_bpf(&mut self, code: i64, message: String);

    fn create_dsq(&mut self, dsq: u64, node: i32) -> i32;
    fn destroy_dsq(&mut self, dsq: u64);
    fn dsq_nr_queued(&mut self, dsq: u64) -> i32;
    fn dsq_insert(&mut self, task: TaskId, dsq: u64, slice: u64, flags: u64) -> bool;
    fn dsq_insert_vtime(
        &mut self,
        task: TaskId,
        dsq: u64,
        slice: u64,
        vtime: u64,
        flags: u64,
    ) -> bool;
    fn dsq_move_to_local(&mut self, dsq: u64, flags: u64) -> bool;
    /// Moves a task out of an iterator's queue; with a key into an ordered one.
    fn dsq_move(
        &mut self,
        cursor: Cursor,
        task: TaskId,
        dsq: u64,
        flags: u64,
        slice: Option<u64>,
        vtime: Option<u64>,
    ) -> bool;
    fn dispatch_nr_slots(&mut self) -> u32;
    fn dispatch_cancel(&mut self);
    fn dsq_reenqueue(&mut self, dsq: u64, flags: u64);
    fn dsq_peek(&mut self, dsq: u64) -> Option<TaskId>;
    fn iter_new(&mut self, dsq: u64, flags: u64) -> Result<Cursor, i32>;
    fn iter_next(&mut self, cursor: Cursor) -> Option<TaskId>;
    fn iter_destroy(&mut self, cursor: Cursor);

    /// The CPU and whether it is idle and claimed.
    fn select_cpu_dfl(&mut self, task: TaskId, prev_cpu: i32, wake_flags: u64) -> (i32, bool);
    fn select_cpu_and(
        &mut self,
        task: TaskId,
        prev_cpu: i32,
        wake_flags: u64,
        cpus: &[u64],
        flags: u64,
    ) -> i32;
    fn kick_cpu(&mut self, cpu: i32, flags: u64);
    fn test_and_clear_cpu_idle(&mut self, cpu: i32) -> bool;
    fn pick_idle_cpu(&mut self, cpus: &[u64], node: Option<i32>, flags: u64) -> i32;
    fn pick_any_cpu(&mut self, cpus: &[u64], node: Option<i32>, flags: u64) -> i32;
    /// The idle CPUs, or the CPUs of wholly idle cores.
    fn idle_cpus(&mut self, whole_cores: bool, node: Option<i32>) -> Vec<u64>;
    /// A CPU out of the set by the machine's rotating cursor; the number of CPUs if there is none.
    fn distribute(&mut self, a: &[u64], b: &[u64]) -> u32;
    fn nodes(&self) -> u32;
    fn cpu_node(&mut self, cpu: i32) -> i32;
    /// The CPUs that share the CPU's last-level cache: the first, and how many.
    fn llc(&mut self, cpu: u32) -> (u32, u32);
    /// The CPU's capacity, 1 … 1024.
    fn cpu_capacity(&mut self, cpu: i32) -> u32;
    fn task_running(&self, task: TaskId) -> bool;
    fn task_cpu(&self, task: TaskId) -> i32;
    fn cpu_curr(&mut self, cpu: i32) -> Option<TaskId>;
    fn task_set_slice(&mut self, task: TaskId, slice: u64) -> bool;
    fn task_vtime(&self, task: TaskId) -> u64;
    fn task_set_vtime(&mut self, task: TaskId, vtime: u64) -> bool;
    /// A new timer's number, from 0.
    fn timer_new(&mut self) -> u32;
    /// It expires so many ns from now, on the present CPU.
    fn timer_start(&mut self, timer: u32, delay_ns: u64);
    /// Whether it was on its way.
    fn timer_cancel(&mut self, timer: u32) -> bool;
}
