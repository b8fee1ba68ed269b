// SPDX-License-Identifier: GPL-2.0-only
//! The class itself: enqueue, dequeue, pick, put, set, tick, yield.

use model::trace::Preemption;

use crate::core::cpu::NOW;
use crate::core::memory::put;
use crate::core::task::{
    Class, DEFERRED, ENABLED, IN_CUSTODY, OpsState, QUEUED, RESET_RUNNABLE_AT, WATCHED,
};
use crate::core::{BOOTED_NS, Core, NO_TASK, TaskId};
use crate::flags::*;

impl Core {
    #[inline]
    pub(crate) fn charge_callback(&mut self) {
        self.machine.charge(self.machine.this_cpu, self.machine.costs.callback_ns);
    }

    /// Charges the cost of a kfunc to the current CPU.
    #[inline]
    pub(crate) fn charge_look(&mut self) {
        self.machine.charge(self.machine.this_cpu, self.machine.costs.look_ns);
    }

    /// `enqueue_task_scx()`.
    pub(crate) fn enqueue_ext(&mut self, cpu: u32, task: TaskId, flags: u64) {
        let here = &mut self.machine.cpus[cpu as usize];
        here.in_wakeup = flags & ENQ_WAKEUP != 0;
        let migrating = flags & ENQ_MIGRATING != 0;
        let mut flags = flags & !ENQ_MIGRATING | here.extra_enq_flags;
        if migrating {
            flags |= ENQ_MIGRATED;
        }
        let restored = flags & ENQ_RESTORE != 0 && here.curr == task;
        let this = &mut self.machine.tasks[task.0 as usize];
        let mut sticky = std::mem::replace(&mut this.sticky_cpu, -1);
        if restored {
            // A running task that is restored goes to the local queue, not to the scheduler.
            sticky = cpu as i32;
            flags |= ENQ_IGNORE_CAPS;
        }
        this.scx |= QUEUED;
        here.nr_ext += 1;
        self.publish_flags(task);
        self.watch(cpu, task);
        if self.ext.has.runnable && !migrating {
            call!(self, runnable(task, flags));
        }
        if self.machine.nr_real_time > 0 {
            self.machine.start_server(cpu);
        }
        self.do_enqueue(cpu, task, flags, sticky);
        self.machine.cpus[cpu as usize].in_wakeup = false;
    }

    /// `dequeue_task_scx()`.
    pub(crate) fn dequeue_ext(&mut self, cpu: u32, task: TaskId, flags: u64) {
        if self.machine.task(task).scx & QUEUED == 0 {
            return;
        }
        let migrating = flags & ENQ_MIGRATING != 0;
        let change = if flags & DEQ_SLEEP == 0 { DEQ_SCHED_CHANGE } else { 0 };
        let flags = flags & !ENQ_MIGRATING | change;
        self.leave_scheduler(task, flags);
        if self.machine.cpus[cpu as usize].curr == task {
            self.update_curr(cpu);
            if self.ext.has.stopping {
                call!(self, stopping(task, false));
            }
        }
        if self.ext.has.quiescent && !migrating {
            call!(self, quiescent(task, flags));
        }
        self.machine.task_mut(task).scx &= !QUEUED;
        self.publish_flags(task);
        self.machine.cpu_mut(cpu).nr_ext -= 1;
        self.unlink(task);
    }

    /// `ops_dequeue()`: takes the task from the scheduler, which is told if it had the task.
    #[inline]
    fn leave_scheduler(&mut self, task: TaskId, flags: u64) {
        self.unwatch(task, false);
        self.leave_custody(task, flags);
        self.machine.task_mut(task).ops_state = OpsState::None;
    }

    /// Calls `ops.dequeue`, exactly once per stay in the scheduler's custody.
    #[inline]
    pub(crate) fn leave_custody(&mut self, task: TaskId, flags: u64) {
        let this = self.machine.task(task);
        if this.scx & IN_CUSTODY != 0 && this.sticky_cpu < 0 {
            self.end_custody(task, flags);
        }
    }

    #[inline(never)]
    fn end_custody(&mut self, task: TaskId, flags: u64) {
        if self.ext.has.dequeue {
            call!(self, dequeue(task, flags));
        }
        self.machine.task_mut(task).scx &= !IN_CUSTODY;
        self.publish_flags(task);
    }

    /// Gives the task into the scheduler's custody.
    pub(crate) fn take_custody(&mut self, task: TaskId) {
        self.machine.task_mut(task).scx |= IN_CUSTODY;
        self.publish_flags(task);
    }

    /// `p->scx.flags` as schedulers read it: `SCX_TASK_QUEUED`, `SCX_TASK_IN_CUSTODY` and the
    /// task's state, `SCX_TASK_READY` or `SCX_TASK_ENABLED`.
    ///
    /// DIVERGES: the flags in `p->scx.flags` that only the core uses are always 0.
    #[inline]
    pub(crate) fn publish_flags(&self, task: TaskId) {
        let this = self.machine.task(task);
        let state = 3 + u32::from(this.scx & ENABLED != 0);
        let flags = u32::from(this.scx & (QUEUED | IN_CUSTODY)) | state << 8;
        put(this.memory, self.machine.arena.layout.scx_flags, flags);
    }

    /// `pick_task_scx()`: the task of this class that the CPU would run.
    #[inline(always)]
    pub(crate) fn pick_ext(&mut self, cpu: u32, previous: TaskId) -> Option<TaskId> {
        self.machine.cpu_mut(cpu).in_balance = true;
        let found = self.balance(cpu, previous);
        let here = self.machine.cpu_mut(cpu);
        here.in_balance = false;
        if !found {
            return None;
        }
        if self.ext.uses_immed && self.ext.queues.len(cpu) > 1 {
            self.send_back_immediate(cpu);
        }
        let here = self.machine.cpu_mut(cpu);
        if std::mem::take(&mut here.keep) {
            if self.slice(previous) == 0 {
                self.refill(previous);
            }
            return Some(previous);
        }
        let first = self.ext.queues.first(cpu);
        if first == NO_TASK {
            return None;
        }
        if self.slice(TaskId(first)) == 0 {
            self.refill(TaskId(first));
        }
        Some(TaskId(first))
    }

    pub(crate) fn refill(&mut self, task: TaskId) {
        self.ext.events.refill_slice_dfl += 1;
        self.set_slice(task, if self.ext.bypass { SLICE_BYPASS } else { SLICE_DFL });
    }

    /// `put_prev_task_scx()`: the previous task leaves the CPU.
    #[inline]
    pub(crate) fn put_previous_ext(&mut self, cpu: u32, task: TaskId, next: Option<TaskId>) {
        self.update_curr(cpu);
        if self.machine.task(task).scx & QUEUED == 0 {
            return;
        }
        if self.ext.has.stopping {
            call!(self, stopping(task, true));
        }
        self.watch(cpu, task);
        if self.slice(task) > 0 && !self.ext.bypass {
            return self.put_preempted(cpu, task);
        }
        let last = next.is_some_and(|next| self.machine.task(next).class == Class::Idle);
        let stopper = self.machine.cpus[cpu as usize].stopper;
        let last = last && !stopper;
        self.do_enqueue(cpu, task, if last { ENQ_LAST } else { 0 }, -1);
        if last && self.ext.queues.queue_of(task.0) == cpu {
            // The local queue has a task now, although the idle task was picked.
            self.machine.cpu_mut(cpu).need_resched = NOW;
        }
    }

    /// `set_next_task_scx()`.
    #[inline]
    pub(crate) fn set_next_ext(&mut self, task: TaskId) {
        let queued = self.machine.task(task).scx & QUEUED != 0;
        if queued {
            self.unlink(task);
        }
        if self.ext.has.running && queued {
            call!(self, running(task));
        }
        self.unwatch(task, true);
    }

    /// `task_tick_scx()`.
    pub(crate) fn tick_ext(&mut self, cpu: u32, task: TaskId) {
        if self.ext.bypass {
            self.set_slice(task, 0);
        } else if self.ext.has.tick {
            call!(self, tick(task));
        }
        if self.slice(task) == 0 {
            self.because(cpu, Preemption::SliceEnd);
            // A lazy request (`SCX_OPS_LAZY_RESCHED`) is the same here: the tick returns to a task
            // in user mode.
            self.machine.resched(cpu);
        }
    }

    /// `yield_task_scx()`.
    pub(crate) fn yield_ext(&mut self, cpu: u32, task: TaskId) {
        self.update_curr(cpu);
        if self.ext.has.r#yield {
            call!(self, r#yield(task, None));
        } else {
            self.set_slice(task, 0);
        }
    }

    /// Removes the task from the queue in which it waits, if any (`dispatch_dequeue`).
    #[inline]
    pub(crate) fn unlink(&mut self, task: TaskId) {
        self.machine.task_mut(task).scx &= !DEFERRED;
        let queue = self.ext.queues.queue_of(task.0);
        if queue != NO_TASK {
            self.lock_queue(queue);
            self.take_out(task);
        }
    }

    /// Removes the task from the queue that it is in.
    #[inline]
    pub(crate) fn take_out(&mut self, task: TaskId) {
        self.ext.queues.remove(task.0);
        put(self.machine.task(task).memory, self.machine.arena.layout.dsq, 0u64);
    }

    /// Tells the scheduler which queue the task is in.
    #[inline]
    pub(crate) fn publish_queue(&mut self, task: TaskId, queue: u32) {
        let shown = self.ext.queues.queues[queue as usize].shown;
        put(self.machine.task(task).memory, self.machine.arena.layout.dsq, shown);
    }

    /// Appends the task to the watchdog's list (`set_task_runnable`).
    #[inline]
    fn watch(&mut self, cpu: u32, task: TaskId) {
        let (now, jiffies) = (self.machine.now, self.machine.arena.layout.runnable_at);
        let tail = self.machine.cpus[cpu as usize].watch_tail;
        let this = &mut self.machine.tasks[task.0 as usize];
        if this.scx & RESET_RUNNABLE_AT != 0 {
            this.runnable_at = now;
            this.scx &= !RESET_RUNNABLE_AT;
            put(this.memory, jiffies, (BOOTED_NS + now) / self.machine.tick_ns);
        }
        this.scx |= WATCHED;
        (this.watch_previous, this.watch_next) = (tail, NO_TASK);
        match tail {
            NO_TASK => self.machine.cpus[cpu as usize].watch_head = task.0,
            _ => self.machine.tasks[tail as usize].watch_next = task.0,
        }
        self.machine.cpus[cpu as usize].watch_tail = task.0;
    }

    /// Removes the task from the watchdog's list. `ran`: its waiting time starts again
    /// (`clr_task_runnable`).
    #[inline]
    fn unwatch(&mut self, task: TaskId, ran: bool) {
        let this = &mut self.machine.tasks[task.0 as usize];
        if ran {
            this.scx |= RESET_RUNNABLE_AT;
        }
        if this.scx & WATCHED == 0 {
            return;
        }
        this.scx &= !WATCHED;
        let (cpu, next, previous) = (this.cpu, this.watch_next, this.watch_previous);
        let here = &mut self.machine.cpus[cpu as usize];
        match previous {
            NO_TASK => here.watch_head = next,
            _ => self.machine.tasks[previous as usize].watch_next = next,
        }
        match next {
            NO_TASK => self.machine.cpus[cpu as usize].watch_tail = previous,
            _ => self.machine.tasks[next as usize].watch_previous = previous,
        }
    }

    pub(crate) fn is_enabled(&self, task: TaskId) -> bool {
        self.machine.task(task).scx & ENABLED != 0
    }
}
