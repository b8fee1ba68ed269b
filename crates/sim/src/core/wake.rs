// SPDX-License-Identifier: GPL-2.0-only
//! What happens to a task from outside its CPU: waking, forking and ending it
//! (`try_to_wake_up()`, `wake_up_new_task()`, `do_exit()`), and changing its nice value, policy or
//! CPUs: dequeue, put, change, enqueue, set (`sched_change`).

use model::Policy;
use model::trace::Preemption;

use super::cpu::NOW;
use super::deadline::Reservation;
use super::kernel::MachineState;
use super::task::{Class, NewTask, State, class_at, class_of, prio_of};
use super::{Core, TaskId, process};
use crate::flags::*;

impl MachineState {
    fn is_queued(&self, task: TaskId) -> bool {
        !(self.task(task).class == Class::Deadline && self.task(task).dl_throttled)
    }

    /// A CPU that the task may not use is silently replaced (`select_fallback_rq`): the nearest.
    #[cold]
    fn fallback_rq(&self, task: TaskId, previous: u32) -> u32 {
        let (mask, node_of) = (self.cpus_allowed(task), &self.topology.node_of);
        let near = mask.iter().find(|&cpu| node_of[cpu as usize] == node_of[previous as usize]);
        near.or_else(|| mask.first()).unwrap_or(previous)
    }
}

impl Core {
    /// Wakes a sleeping task from the CPU that runs the current code (`try_to_wake_up`).
    pub(crate) fn wake(&mut self, task: TaskId, wake_flags: u64) {
        let here = self.machine.this_cpu;
        let clock = self.machine.clock(here);
        let sleeper = &mut self.machine.tasks[task.0 as usize];
        if !matches!(sleeper.state, State::Sleeping | State::DiskSleep) {
            return self.wake_again(task, wake_flags);
        }
        sleeper.wakes = sleeper.wakes.wrapping_add(1);
        self.machine.set_state(task, State::Runnable);
        let stat = &mut self.machine.stats[task.0 as usize];
        (stat.waking_at, stat.runnable_at) = (clock, clock);
        self.machine.queued_at(task, clock);
        let (woken, by_timer) = (&self.machine.tasks[task.0 as usize], self.machine.in_timer);
        self.recorder.waking(clock, here, (task, woken), by_timer);
        self.machine.charge(here, self.machine.costs.wakeup_ns);
        let (cpu, selected) = self.select_rq(task, wake_flags | WAKE_TTWU);
        let mut flags = ENQ_WAKEUP | ENQ_NOCLOCK | if selected { ENQ_CPU_SELECTED } else { 0 };
        if cpu != self.machine.task(task).cpu {
            flags |= ENQ_MIGRATED;
            self.machine.set_task_cpu(task, cpu);
        }
        self.activate(task, cpu, flags);
        self.wakeup_preempt(cpu, task);
        self.event_wakeup(task, false);
        self.after_wakeup(cpu, task);
    }

    /// The CPU for a woken or new task, and whether its class selected it (`select_task_rq`).
    #[inline(always)]
    fn select_rq(&mut self, task: TaskId, wake_flags: u64) -> (u32, bool) {
        let sleeper = self.machine.task(task);
        let previous = sleeper.cpu;
        if sleeper.nr_allowed == 1 {
            return (self.machine.cpus_allowed(task).first().unwrap_or(previous), false);
        }
        let cpu = match sleeper.class {
            Class::Ext => self.select_rq_ext(task, previous, wake_flags),
            Class::Rt => self.machine.select_rq_rt(task),
            Class::Deadline => self.machine.select_rq_deadline(task),
            Class::Idle => previous,
        };
        let is_allowed = self.machine.allowed(task, cpu);
        if is_allowed {
            return (cpu, true);
        }
        self.ext.events.select_cpu_fallback += 1;
        (self.machine.fallback_rq(task, previous), true)
    }

    /// Puts a runnable task on a CPU's run queue.
    #[inline]
    pub(crate) fn activate(&mut self, task: TaskId, cpu: u32, flags: u64) {
        match self.machine.task(task).class {
            Class::Ext => self.enqueue_ext(cpu, task, flags),
            Class::Rt => self.enqueue_rt(cpu, task, flags & ENQ_HEAD != 0),
            Class::Deadline => self.enqueue_deadline(cpu, task, flags),
            Class::Idle => {}
        }
    }

    /// Takes a task off its run queue.
    #[inline]
    pub(crate) fn deactivate(&mut self, task: TaskId, flags: u64) {
        let cpu = self.machine.task(task).cpu;
        match self.machine.task(task).class {
            Class::Ext => self.dequeue_ext(cpu, task, flags),
            Class::Rt => self.dequeue_rt(cpu, task),
            Class::Deadline => self.dequeue_deadline(cpu, task),
            Class::Idle => {}
        }
    }

    /// Checks for preemption by a woken task (`wakeup_preempt`). A task of a higher class
    /// always preempts. Within a class the class decides; sched_ext never preempts by itself.
    #[inline(always)]
    pub(crate) fn wakeup_preempt(&mut self, cpu: u32, task: TaskId) {
        let (current, class) = (self.machine.curr_class(cpu), self.machine.task(task).class);
        let wins = class < current || class == current && self.wins_in_class(cpu, task);
        if wins && self.machine.is_queued(task) {
            self.because(cpu, Preemption::MoreImportant { pid: task.0 });
            self.machine.resched(cpu);
        }
        if self.ext.uses_immed && class < Class::Ext {
            self.send_back_immediate(cpu);
        }
    }

    #[inline(never)]
    fn wins_in_class(&mut self, cpu: u32, task: TaskId) -> bool {
        match self.machine.task(task).class {
            Class::Rt => self.rt_preempts(cpu, task),
            Class::Deadline => self.machine.deadline_preempts(cpu, task),
            Class::Ext | Class::Idle => false,
        }
    }

    /// `task_woken()`: what the class does after the wake-up.
    #[inline]
    fn after_wakeup(&mut self, cpu: u32, task: TaskId) {
        let decided = self.machine.cpus[cpu as usize].need_resched & NOW != 0;
        match self.machine.task(task).class {
            Class::Ext => self.run_deferred(),
            // Which task has to move is decided after the switch.
            Class::Rt | Class::Deadline if decided => {}
            Class::Rt => self.push_rt(cpu),
            Class::Deadline => self.push_deadline(cpu),
            Class::Idle => {}
        }
    }

    /// A new task, known to the scheduler but not yet woken: `sched_fork()` to `sched_post_fork()`.
    pub(crate) fn new_task(&mut self, new: &NewTask) -> TaskId {
        let task = self.add_task(new);
        if self.ext.is_loaded() {
            self.init_task(task, true);
            if self.machine.task(task).class == Class::Ext {
                self.enable_task(task);
            }
        }
        if self.machine.task(task).class < Class::Ext {
            self.machine.join_real_time(task);
        }
        task
    }

    /// Wakes a new task for the first time (`wake_up_new_task`).
    pub(crate) fn wake_new(&mut self, task: TaskId) {
        let clock = self.machine.clock(self.machine.this_cpu);
        self.machine.set_state(task, State::Runnable);
        self.machine.stats[task.0 as usize].runnable_at = clock;
        self.machine.queued_at(task, clock);
        let (cpu, _) = self.select_rq(task, WAKE_FORK);
        self.machine.set_task_cpu(task, cpu);
        self.activate(task, cpu, ENQ_NOCLOCK | ENQ_INITIAL);
        self.event_wakeup(task, true);
        self.wakeup_preempt(cpu, task);
        self.after_wakeup(cpu, task);
    }

    /// After the last switch away from an ended task (`sched_ext_dead`).
    pub(crate) fn bury(&mut self, task: TaskId) {
        process::leave(self.machine.task(task).memory, &self.machine.arena.layout);
        if self.machine.task(task).class < Class::Ext {
            self.machine.leave_real_time(task);
        }
        if self.ext.is_loaded() {
            self.exit_task(task);
        }
    }
}

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
