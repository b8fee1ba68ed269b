// SPDX-License-Identifier: GPL-2.0-only
//! Waking, forking, ending: `try_to_wake_up()`, `wake_up_new_task()`, `do_exit()`.

use model::trace::Preemption;

use super::cpu::NOW;
use super::machine_state::MachineState;
use super::task::{Class, NewTask, State};
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
