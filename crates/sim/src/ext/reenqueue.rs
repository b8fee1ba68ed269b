// SPDX-License-Identifier: GPL-2.0-only
//! Tasks of a local queue that go back to the scheduler, because a higher class takes the CPU,
//! because they were to run at once (`SCX_ENQ_IMMED`) and cannot, or because the scheduler wants
//! it.

use crate::core::memory::{get, put};
use crate::core::task::{Class, IMMEDIATE};
use crate::core::{Core, NO_TASK, TaskId};
use crate::flags::*;

/// The tasks of the local queue that were to run at once and do not: of [`Cpu::reenqueue`].
///
/// [`Cpu::reenqueue`]: crate::core::cpu::Cpu::reenqueue
pub(crate) const IMMED: u8 = 1;
/// All tasks of the local queue.
pub(crate) const ANY: u8 = 2;

/// Among kicks: the local queue of another CPU, or the queue of this index.
pub(super) const LOCAL_OF: u64 = 1 << 62;
pub(super) const QUEUE: u64 = 1 << 63;

/// `SCX_REENQ_LOCAL_MAX_REPEAT`.
const MAX_REPEAT: u32 = 256;

impl Core {
    /// A higher class preempts the task: it keeps its slice and goes to the head of the local
    /// queue, unless it was to run at once.
    pub(super) fn put_preempted(&mut self, cpu: u32, task: TaskId) {
        if self.machine.task(task).scx & IMMEDIATE == 0 {
            return self.dispatch_enqueue(cpu, task, ENQ_HEAD);
        }
        self.reenqueue_task(cpu, task, TASK_REENQ_PREEMPTED);
    }

    /// `switch_class()`: the next task is of a higher class.
    #[inline(never)]
    pub(crate) fn leave_to(&mut self, cpu: u32, next: TaskId) {
        match self.machine.task(next).class {
            Class::Rt => self.release(cpu, PREEMPT_RT, next),
            Class::Deadline => self.release(cpu, PREEMPT_DL, next),
            Class::Ext | Class::Idle => {}
        }
    }

    /// Tells the scheduler once that its CPU is gone.
    ///
    /// DIVERGES: the stopper thread has no task of its own; the scheduler sees the idle task.
    pub(crate) fn release(&mut self, cpu: u32, reason: u32, next: TaskId) {
        let has = self.ext.has.cpu_release || self.ext.has.cpu_acquire;
        if !has || self.machine.cpus[cpu as usize].released {
            return;
        }
        if self.ext.has.cpu_release {
            self.ext.releasing = true;
            call!(self, cpu_release(cpu as i32, reason, next));
            self.ext.releasing = false;
        }
        self.machine.cpu_mut(cpu).released = true;
    }

    /// The CPU looks for a task of sched_ext again.
    #[inline(never)]
    pub(super) fn take_cpu_back(&mut self, cpu: u32) {
        if self.ext.has.cpu_acquire {
            call!(self, cpu_acquire(cpu as i32));
        }
        self.machine.cpu_mut(cpu).released = false;
    }

    /// A task has joined a local queue with `SCX_ENQ_IMMED`, now or before (`dsq_inc_nr`).
    #[inline(never)]
    pub(super) fn joined_at_once(&mut self, cpu: u32, task: TaskId, flags: u64) {
        self.ext.uses_immed = true;
        self.machine.task_mut(task).scx |= IMMEDIATE;
        if self.ext.queues.len(cpu) > 1 || !self.is_open(cpu, flags) {
            self.schedule_reenqueue(cpu, IMMED);
        }
    }

    /// `rq_is_open()`: whether a task of the local queue could run at once.
    fn is_open(&self, cpu: u32, flags: u64) -> bool {
        let here = &self.machine.cpus[cpu as usize];
        if here.rt.first().is_some() || here.deadline.first().is_some() {
            return false;
        }
        let is_free = self.machine.is_idle(cpu) || here.in_balance;
        is_free || flags & ENQ_PREEMPT != 0
    }

    /// A task of a higher class has been woken on the CPU, or the CPU has tasks behind the one that
    /// it will run: those that were to run at once cannot.
    #[inline(never)]
    pub(crate) fn send_back_immediate(&mut self, cpu: u32) {
        if self.waiting_in(cpu).iter().any(|&task| self.is_immediate(task)) {
            self.schedule_reenqueue(cpu, IMMED);
        }
    }

    fn is_immediate(&self, task: TaskId) -> bool {
        self.machine.task(task).scx & IMMEDIATE != 0
    }

    /// `schedule_reenq_local()`.
    fn schedule_reenqueue(&mut self, cpu: u32, what: u8) {
        if self.ext.bypass {
            return;
        }
        self.machine.cpu_mut(cpu).reenqueue |= what;
        let here = self.machine.this_cpu;
        if cpu != here {
            self.machine.cpu_mut(here).kicks.push((cpu, LOCAL_OF));
        }
    }

    /// `scx_bpf_reenqueue_local()`: returns how many tasks of this CPU's local queue go back to the
    /// scheduler. They do so at once in `ops.cpu_release`, and elsewhere after the current
    /// operation.
    pub fn reenqueue_local(&mut self) -> u32 {
        let here = self.machine.this_cpu;
        let queued = self.ext.queues.len(here);
        if self.ext.releasing {
            let _ = self.reenqueue(here, ANY);
        } else {
            self.schedule_reenqueue(here, ANY);
        }
        queued
    }

    /// `scx_bpf_dsq_reenq()`.
    pub fn dsq_reenqueue(&mut self, dsq: u64, flags: u64) {
        if flags & !REENQ_ANY != 0 {
            return self.error(format!("invalid SCX_REENQ flags 0x{flags:x}"));
        }
        let here = self.machine.this_cpu;
        if dsq == DSQ_LOCAL {
            self.schedule_reenqueue(here, ANY);
        } else if dsq & DSQ_LOCAL_ON == DSQ_LOCAL_ON {
            let cpu = (dsq & DSQ_LOCAL_CPU_MASK) as i32;
            if self.cpu_valid(cpu, "") {
                self.schedule_reenqueue(cpu as u32, ANY);
            }
        } else if let Some(queue) = self.user_queue(dsq) {
            self.machine.cpu_mut(here).kicks.push((queue, QUEUE));
        } else if dsq & DSQ_FLAG_BUILTIN != 0 {
            self.error(format!("DSQ 0x{dsq:x} not allowed for reenq"));
        } else {
            self.error(format!("non-existent DSQ 0x{dsq:x}"));
        }
    }

    /// What was scheduled for the CPU's local queue, and what that brings about
    /// (`process_deferred_reenq_locals`).
    pub(super) fn reenqueue_pending(&mut self, cpu: u32) {
        let mut last = None;
        for times in 0.. {
            let what = std::mem::take(&mut self.machine.cpu_mut(cpu).reenqueue);
            if what == 0 {
                return;
            }
            if times > MAX_REPEAT {
                return self.exceed_repeats(last, times);
            }
            last = self.reenqueue(cpu, what).or(last);
        }
    }

    /// DIVERGES: the kernel counts how often each task comes back without running. Here the rounds
    /// of a CPU are counted, which are as many when one task comes back.
    #[cold]
    fn exceed_repeats(&mut self, task: Option<TaskId>, times: u32) {
        let who = task.map(|task| self.name(task)).unwrap_or_default();
        let what = format!("{who} reenqueued {times} times without running");
        self.end(EXIT_ERROR_REENQ, 0, "reenqueue limit", what);
    }

    /// `reenq_local()`. Returns the last task that goes back.
    fn reenqueue(&mut self, cpu: u32, what: u8) -> Option<TaskId> {
        let is_open = self.is_open(cpu, 0);
        let mut leaving = Vec::new();
        for (index, task) in self.waiting_in(cpu).into_iter().enumerate() {
            if self.is_immediate(task) && (index > 0 || !is_open) {
                self.ext.events.reenq_immed += 1;
                leaving.push((task, TASK_REENQ_IMMED));
            } else if what & ANY != 0 {
                leaving.push((task, TASK_REENQ_KFUNC));
            }
        }
        leaving.iter().for_each(|&(task, _)| self.unlink(task));
        let last = leaving.last().map(|&(task, _)| task);
        for (task, reason) in leaving {
            self.reenqueue_task(cpu, task, reason);
        }
        last
    }

    /// `reenq_user()`: all tasks of a queue of the scheduler.
    pub(super) fn reenqueue_queue(&mut self, queue: u32) {
        for task in self.waiting_in(queue) {
            self.unlink(task);
            self.reenqueue_task(self.machine.task(task).cpu, task, TASK_REENQ_KFUNC);
        }
    }

    fn waiting_in(&self, queue: u32) -> Vec<TaskId> {
        let known = |at: u32| (at != NO_TASK).then_some(at);
        let next = |&task: &u32| known(self.ext.queues.next(task));
        let first = known(self.ext.queues.first(queue));
        std::iter::successors(first, next).map(TaskId).collect()
    }

    /// The scheduler finds the reason in `p->scx.flags`.
    fn reenqueue_task(&mut self, cpu: u32, task: TaskId, reason: u32) {
        let (block, at) = (self.machine.task(task).memory, self.machine.arena.layout.scx_flags);
        put(block, at, get::<u32>(block, at) | reason);
        self.do_enqueue(cpu, task, ENQ_REENQ, -1);
        self.publish_flags(task);
    }
}
