// SPDX-License-Identifier: GPL-2.0-only
//! A CPU: its clock, its run queue, and the work that its task is doing.
//!
//! DIVERGES: the effects of an event are visible to other CPUs at once, while its cost moves the
//! clock of its own CPU ahead. So another CPU can see an effect too early, by at most that event's
//! kernel work (microseconds; a fork or an exit lets its time pass first, and so does each choice
//! of the next task). User work never runs ahead.
//!
//! DIVERGES: caches matter only at a migration, and there is no CPU hot-plug.

use super::deadline::DeadlineQueue;
use super::events::EventKind;
use super::ext_server::Server;
use super::kernel::MachineState;
use super::rt::RtQueue;
use super::speed::FULL;
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
    /// It calls the scheduler when its present kernel work is done; an event comes then.
    pub waits_to_schedule: bool,
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
    pub fn new(number: u32) -> Cpu {
        Cpu {
            curr: TaskId(number),
            waits_to_schedule: false,
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

impl MachineState {
    /// The time on a CPU. Kernel work moves it ahead of the event that is being handled.
    #[inline]
    pub(crate) fn clock(&self, cpu: u32) -> u64 {
        self.now.max(self.cpus[cpu as usize].free_at)
    }

    /// Kernel work on a CPU: what its task does is delayed by it.
    #[inline]
    pub(crate) fn charge(&mut self, cpu: u32, ns: u64) {
        if ns == 0 {
            return;
        }
        let now = self.now;
        let here = &mut self.cpus[cpu as usize];
        here.free_at = here.free_at.max(now) + ns;
        if here.done_at != u64::MAX {
            self.delay_work(cpu, ns);
        }
    }

    /// Out of line, because most kernel work is done while no task works.
    #[inline(never)]
    fn delay_work(&mut self, cpu: u32, ns: u64) {
        let here = &mut self.cpus[cpu as usize];
        let until = self.tasks[here.curr.0 as usize].until;
        here.done_at = if until > 0 { until.max(here.free_at) } else { here.done_at + ns };
    }

    /// Lets the current task work from now on, and makes sure that its end is noticed.
    #[inline]
    pub(crate) fn resume(&mut self, cpu: u32) {
        let here = &mut self.cpus[cpu as usize];
        if here.curr.0 == cpu {
            here.done_at = u64::MAX;
            return;
        }
        let clock = self.now.max(here.free_at);
        let speed = self.speeds.of(cpu);
        here.resumed_at = clock;
        let task = &self.tasks[here.curr.0 as usize];
        here.done_at = match task.until {
            0 if speed == FULL => clock + task.work_left,
            0 => clock + (task.work_left * FULL).div_ceil(speed),
            until => until.max(clock),
        };
        self.arm_work(cpu);
        self.arm_tick(cpu);
    }

    /// Takes note of what the current task has left to do.
    #[inline]
    pub(crate) fn pause(&mut self, cpu: u32) {
        if self.cpus[cpu as usize].done_at != u64::MAX {
            self.interrupt_work(cpu);
        }
    }

    fn interrupt_work(&mut self, cpu: u32) {
        let speed = self.speeds.of(cpu);
        let here = &mut self.cpus[cpu as usize];
        let clock = self.now.max(here.free_at);
        let task = &mut self.tasks[here.curr.0 as usize];
        if task.until == 0 {
            let left = here.done_at.saturating_sub(clock);
            let left = if speed == FULL { left } else { left * speed / FULL };
            let done = task.work_left.saturating_sub(left);
            task.work_left -= done;
            let user_ns = if speed == FULL { done } else { done * FULL / speed };
            self.stats[here.curr.0 as usize].user_ns += user_ns;
        } else {
            self.stats[here.curr.0 as usize].user_ns += clock.saturating_sub(here.resumed_at);
        }
        here.done_at = u64::MAX;
    }

    /// An event that comes too early is harmless: it is handled by arming the next one. So only an
    /// earlier end needs a new event.
    #[inline]
    pub(crate) fn arm_work(&mut self, cpu: u32) {
        let here = &mut self.cpus[cpu as usize];
        if here.done_at < here.armed_at {
            here.armed_at = here.done_at;
            self.events.push(here.done_at, EventKind::Work, cpu, 0);
        }
    }

    /// Ticks come on a grid, and only to busy CPUs.
    fn arm_tick(&mut self, cpu: u32) {
        let here = &mut self.cpus[cpu as usize];
        if !here.tick_armed {
            here.tick_armed = true;
            let since = self.now.saturating_sub(self.tick_phase);
            let next = self.tick_phase + (since / self.tick_ns + 1) * self.tick_ns;
            self.events.push(next, EventKind::Tick, cpu, 0);
        }
    }

    /// Makes a CPU reschedule as soon as possible (`resched_curr`).
    #[inline]
    pub(crate) fn resched(&mut self, cpu: u32) {
        let here = &mut self.cpus[cpu as usize];
        if here.need_resched & NOW != 0 {
            return;
        }
        here.need_resched |= NOW;
        if cpu != self.this_cpu {
            self.send_ipi(cpu);
        }
    }

    /// Makes a CPU reschedule before it returns to user mode (`resched_curr_lazy`): another CPU
    /// notices it at its next interrupt.
    pub(crate) fn resched_lazy(&mut self, cpu: u32) {
        if self.is_idle(cpu) {
            return self.resched(cpu);
        }
        self.cpu_mut(cpu).need_resched |= LAZY;
    }

    #[inline(never)]
    fn send_ipi(&mut self, cpu: u32) {
        let time = self.clock(self.this_cpu) + self.costs.ipi_ns;
        self.events.push(time, EventKind::Resched, cpu, 0);
    }
}
