// SPDX-License-Identifier: GPL-2.0-only
//! A CPU: its clock, its run queue, and the work that its task is doing.
//!
//! DIVERGES: the effects of an event are visible to other CPUs at once, while its cost moves the
//! clock of its own CPU ahead. So another CPU can see an effect too early, by at most that event's
//! kernel work (microseconds; a fork or an exit lets its time pass first). User work never runs
//! ahead.
//!
//! DIVERGES: caches matter only at a migration, and there is no CPU hot-plug.

use super::deadline::DeadlineQueue;
use super::ext_server::Server;
use super::rt::RtQueue;
use super::task::{NO_TASK, TaskId};

/// As soon as possible (`TIF_NEED_RESCHED`).
pub const NOW: u8 = 1;
/// Before it returns to user mode (`TIF_NEED_RESCHED_LAZY`); other CPUs send no interrupt for it.
pub const LAZY: u8 = 2;

/// A CPU. Only code that runs on it, or that holds its run-queue lock in the kernel, changes
/// fields.
pub struct Cpu {
    /// The running task; the idle task on an idle CPU.
    pub curr: TaskId,
    /// Why the CPU must call the scheduler: [`NOW`], [`LAZY`]; 0: it need not.
    pub need_resched: u8,
    /// A tick event is queued.
    pub tick_armed: bool,
    /// For the classes, the stopper thread runs instead of the idle task.
    pub stopper: bool,
    /// The CPU is inside the dispatch path.
    pub in_balance: bool,
    /// The dispatch path has decided to keep the previous task running.
    pub keep: bool,
    /// `rq->scx.in_wakeup`.
    pub in_wakeup: bool,
    /// The scheduler's `select_cpu` runs.
    pub in_select_cpu: bool,
    /// Which tasks of the local queue have to be enqueued again: `REENQ_*`; 0: none.
    pub reenqueue: u8,
    /// The scheduler was told that a higher class has the CPU.
    pub released: bool,
    /// Kernel work keeps the CPU busy until this time.
    pub free_at: u64,
    /// Time at which the task's current work is done without interruption; `u64::MAX`: no work.
    pub done_at: u64,
    /// Time of the earliest queued [`Work`](super::events::EventKind::Work); `u64::MAX`: none.
    pub armed_at: u64,
    /// Time since which the current task works.
    pub resumed_at: u64,
    /// Number of sched_ext tasks on its run queue, including the running one.
    pub nr_ext: u32,
    /// Number of times that a task of this CPU was handed to the scheduler.
    pub qseq: u64,
    /// Flags that the next enqueue on this CPU gets in addition.
    pub extra_enq_flags: u64,
    /// Kicks that wait for the end of the current operation: target and `KICK_*`.
    pub kicks: Vec<(u32, u64)>,
    /// Head of the watchdog's list: the sched_ext task that has waited longest.
    pub watch_head: u32,
    pub watch_tail: u32,
    /// The rotating start of searches for idle CPUs (`distribute_cpu_mask_prev`).
    pub cursor: u32,
    /// Real-time tasks.
    pub rt: RtQueue,
    pub deadline: DeadlineQueue,
    /// The deadline server that protects sched_ext tasks from starvation.
    pub server: Server,
    /// Since when the CPU has been idle, and how long it was idle before, ns.
    pub idle_since: u64,
    pub idle_ns: u64,
    /// Counts context switches, so that outdated events are recognised.
    pub switches: u32,
}

impl Cpu {
    /// An idle CPU.
    pub fn new(number: u32) -> Cpu {
        Cpu {
            curr: TaskId(number),
            need_resched: 0,
            tick_armed: false,
            stopper: false,
            in_balance: false,
            keep: false,
            in_wakeup: false,
            in_select_cpu: false,
            reenqueue: 0,
            released: false,
            free_at: 0,
            done_at: u64::MAX,
            armed_at: u64::MAX,
            resumed_at: 0,
            nr_ext: 0,
            qseq: 0,
            extra_enq_flags: 0,
            kicks: Vec::new(),
            watch_head: NO_TASK,
            watch_tail: NO_TASK,
            cursor: 0,
            rt: RtQueue::default(),
            deadline: DeadlineQueue::default(),
            server: Server::default(),
            idle_since: 0,
            idle_ns: 0,
            switches: 0,
        }
    }
}
