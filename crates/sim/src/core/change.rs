// SPDX-License-Identifier: GPL-2.0-only
//! Changing a task's nice value, policy or CPUs: dequeue, put, change, enqueue, set
//! (`sched_change`).

use model::Policy;
use model::trace::Preemption;

use super::deadline::Reservation;
use super::task::{Class, State, class_at, class_of, prio_of};
use super::{Core, TaskId};
use crate::flags::*;

/// The task's state before the change.
pub(crate) struct Scope {
    queued: bool,
    running: bool,
    flags: u64,
}

impl Core {
    pub(crate) fn begin_change(&mut self, task: TaskId, flags: u64) -> Scope {
        let cpu = self.machine.task(task).cpu;
        let queued = self.machine.task(task).state == State::Runnable;
        let running = self.machine.cpus[cpu as usize].curr == task;
        if queued {
            self.deactivate(task, flags | DEQ_SAVE | DEQ_NOCLOCK);
        }
        if running && self.machine.task(task).class == Class::Ext {
            self.put_previous_ext(cpu, task, None);
        }
        Scope { queued, running, flags }
    }

    pub(crate) fn end_change(&mut self, task: TaskId, scope: Scope) {
        let cpu = self.machine.task(task).cpu;
        if scope.queued {
            self.activate(task, cpu, scope.flags | ENQ_RESTORE | ENQ_NOCLOCK);
        }
        if scope.running {
            self.set_next(cpu, task);
        }
    }

    /// `sched_setscheduler()` and `setpriority()`. Returns false if admission control refuses.
    pub(crate) fn set_policy(&mut self, task: TaskId, policy: Policy) -> bool {
        if class_of(&policy) == Class::Deadline
            && (!Reservation::new(&policy).is_valid() || !self.machine.admits(task, &policy))
        {
            return false;
        }
        // A new nice value alone is `setpriority()`, which moves no task.
        let is_nice = Policy { nice: policy.nice, ..self.machine.task(task).policy } == policy;
        let prio = self.lent_prio(task).min(prio_of(&policy));
        self.change_prio(task, prio, Some(policy), !is_nice);
        true
    }

    /// `rt_mutex_setprio()`: the task inherits a priority, or gives it back.
    pub(crate) fn set_prio(&mut self, task: TaskId, prio: i32) {
        self.change_prio(task, prio, None, true);
    }

    fn change_prio(&mut self, task: TaskId, prio: i32, policy: Option<Policy>, may_move: bool) {
        let (old, old_prio) = (self.machine.task(task).class, self.machine.task(task).prio);
        let new = class_at(prio);
        let class = if old == new { 0 } else { ENQ_CLASS };
        let moves = if may_move && prio != old_prio { ENQ_MOVE } else { 0 };
        let mut scope = self.begin_change(task, class | moves);
        // A task that keeps its policy and its class also keeps what is left of its quantum.
        let is_other = policy.is_some() || old != new;
        if old < Class::Ext && is_other {
            self.machine.leave_real_time(task);
        }
        if old == Class::Ext && new != Class::Ext && self.ext.is_loaded() {
            self.disable_task(task);
        }
        if let Some(policy) = policy {
            self.machine.write_policy(task, policy);
        }
        self.machine.write_prio(task, prio);
        if new < Class::Ext && is_other {
            self.machine.join_real_time(task);
            if old != Class::Deadline {
                // A deadline task that changes its parameters keeps its present budget.
                (self.machine.task_mut(task).dl_deadline, self.machine.task_mut(task).dl_runtime) =
                    (0, 0);
            }
        }
        if new == Class::Ext && self.ext.is_loaded() {
            if old != Class::Ext {
                self.enable_task_with_mask(task);
            } else if policy.is_some() {
                self.reweight(task);
            }
        }
        // Lower goes to the head of its new list, higher to the tail, equal stays where it is.
        let falls = moves != 0 && prio > old_prio && (policy.is_some() || new == Class::Rt);
        if falls || new == Class::Rt && prio == old_prio {
            scope.flags |= ENQ_HEAD;
        }
        self.end_change(task, scope);
        self.after_change(task, old);
    }

    /// Reschedules if the change altered which task should run.
    fn after_change(&mut self, task: TaskId, old: Class) {
        let (cpu, state) = (self.machine.task(task).cpu, self.machine.task(task).state);
        if state != State::Runnable {
            return;
        }
        if self.machine.cpus[cpu as usize].curr != task {
            self.wakeup_preempt(cpu, task);
            if self.machine.task(task).class == Class::Rt {
                self.push_rt(cpu);
            }
        } else if old < Class::Ext || self.machine.task(task).class < Class::Ext {
            self.machine.resched(cpu);
        }
    }

    /// `sched_setaffinity()`: the mask is a number in `Core::masks`, never of an empty set.
    pub(crate) fn set_affinity(&mut self, task: TaskId, mask: u32) {
        if self.machine.masks[mask as usize]
            == self.machine.masks[self.machine.task(task).mask as usize]
        {
            return;
        }
        let scope = self.begin_change(task, 0);
        self.machine.task_mut(task).mask = mask;
        self.machine.write_mask(task);
        if self.ext.is_loaded() && self.machine.task(task).class == Class::Ext {
            self.tell_cpumask(task);
        }
        self.end_change(task, scope);
        let cpu = self.machine.task(task).cpu;
        if !self.machine.allowed(task, cpu) && self.machine.task(task).state == State::Runnable {
            self.evict(task, cpu);
        }
    }

    /// The stopper thread moves a task away from a CPU that it may not use any more, and preempts
    /// it first if it is running.
    fn evict(&mut self, task: TaskId, from: u32) {
        let target = self.machine.cpus_allowed(task).first().unwrap_or(from);
        if self.machine.cpus[from as usize].curr == task {
            self.machine.cpu_mut(from).server.active = false;
            self.stop_and_move(task, from, target);
        } else {
            self.move_queued(task, target);
        }
    }

    fn stop_and_move(&mut self, task: TaskId, from: u32, target: u32) {
        self.machine.pause(from);
        self.because(from, Preemption::Moved);
        self.trace_choice(from, TaskId(from), Some(task));
        if self.machine.task(task).class == Class::Ext {
            self.put_previous_ext(from, task, Some(TaskId(from)));
            self.release(from, PREEMPT_STOP, TaskId(from));
        } else {
            self.update_curr(from);
        }
        let clock = self.machine.clock(from);
        self.leave_for_stopper(from, task, clock);
        self.move_queued(task, target);
        self.machine.resched(from);
    }

    /// `__migrate_task()`: the callbacks of sched_ext see it as a new enqueue, without quiescent
    /// and runnable.
    fn move_queued(&mut self, task: TaskId, target: u32) {
        self.deactivate(task, DEQ_NOCLOCK | ENQ_MIGRATING);
        self.machine.set_task_cpu(task, target);
        self.activate(task, target, ENQ_MIGRATING);
        self.wakeup_preempt(target, task);
    }

    /// `sched_yield()`.
    pub(crate) fn yield_task(&mut self, cpu: u32) {
        let task = self.machine.cpus[cpu as usize].curr;
        match self.machine.task(task).class {
            Class::Ext => self.yield_ext(cpu, task),
            Class::Rt => {
                let prio = self.machine.task(task).prio;
                self.machine.cpu_mut(cpu).rt.rotate(task, prio);
            }
            Class::Deadline => self.yield_deadline(cpu, task),
            Class::Idle => {}
        }
        self.machine.yielding = true;
        self.schedule(cpu, None);
        self.machine.yielding = false;
    }
}
