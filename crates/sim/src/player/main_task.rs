// SPDX-License-Identifier: GPL-2.0-only
//! Fairground's main task, as the live player has it: it lets the tasks be made, wakes all of them
//! at one instant, sleeps at a priority above theirs, and ends the trial.
//!
//! Its work is part of what is measured on a real kernel: the common start is a series of wake-ups
//! on one CPU, and the end preempts the task that runs there.

use model::play::LAB_PRIORITY;
use model::{Costs, Policy, PolicyClass};

use super::progress::Gate;
use super::start_up::PROGRAM;
use super::workload_state::MainWork;
use crate::core::task::{NewTask, State};
use crate::core::{Core, TaskId};

/// System calls between the main task's wake-up and the end of the trial: it empties its eventfd,
/// looks for an interruption, and reads the clock.
const CALLS_BEFORE_END: u64 = 2;

/// How long it sleeps until the task that has made the others has gone.
const UNTIL_GONE_NS: u64 = 50_000;

/// DIVERGES: in a workload of more than 512 tasks no task runs before the common start. Creating so
/// many would take longer than most trials, and the order at the start is soon lost.
const PASTS_MAX: usize = 512;

impl Core {
    pub(crate) fn add_main(&mut self) {
        let pid = self.take_pid();
        let new = NewTask {
            pid,
            tgid: pid,
            comm: PROGRAM,
            policy: Policy::default(),
            mask: 0,
            parent: None,
            cpu: 0,
            flags: 0,
            group: u32::MAX,
        };
        self.workload.main = self.new_task(&new);
        self.machine.task_mut(self.workload.main).state = State::Sleeping;
        self.workload.progress[self.workload.main.0 as usize].group = u32::MAX;
    }

    /// Gives the main task its priority and its CPU; time begins.
    ///
    /// DIVERGES: on a real kernel the main task may be on any CPU. If all CPUs are alike, only the
    /// number differs.
    pub(crate) fn start_main(&mut self) {
        let costs = std::mem::replace(&mut self.machine.costs, Costs::FREE);
        self.make_leaders();
        if costs.thread_ns == 0 || self.workload.starting_tasks() > PASTS_MAX {
            self.create_all_at_gate();
            self.workload.main_work = MainWork::Starting;
        }
        let policy =
            Policy { class: PolicyClass::Fifo, priority: LAB_PRIORITY, ..Policy::default() };
        self.set_policy(self.workload.main, policy);
        self.machine.this_cpu = 0;
        self.wake(self.workload.main, 0);
        self.settle(0);
        self.machine.costs = costs;
    }

    pub(crate) fn run_main(&mut self, cpu: u32) {
        match self.workload.main_work {
            MainWork::Making => {
                self.workload.main_work = MainWork::Joining;
                self.make_starter();
                self.schedule(cpu, Some(State::Sleeping));
            }
            MainWork::Joining => {
                let more = self.next_starter();
                self.workload.main_work = if more { MainWork::Making } else { MainWork::Starting };
                let until = self.machine.clock(cpu) + UNTIL_GONE_NS;
                self.sleep_for_timer(cpu, self.workload.main, until);
                self.schedule(cpu, Some(State::Sleeping));
            }
            MainWork::Starting => self.open_gate(cpu),
            MainWork::Waking => self.wake_next(cpu),
            MainWork::Ending => {
                self.machine.charge(cpu, self.machine.costs.syscall_ns * CALLS_BEFORE_END);
                self.machine.now = self.machine.clock(cpu);
                self.workload.over = true;
            }
        }
    }

    /// Begins to wake all tasks, real-time ones first, as a futex does.
    fn open_gate(&mut self, cpu: u32) {
        self.workload.main_work = MainWork::Waking;
        self.begin_measurement();
        self.machine.charge(cpu, self.machine.costs.syscall_ns);
        let mut waiting: Vec<TaskId> = self
            .machine
            .all_tasks()
            .filter(|task| self.workload.progress[task.0 as usize].gate == Gate::Closed)
            .collect();
        waiting.sort_by_key(|&task| self.machine.task(task).prio.min(100));
        waiting.reverse();
        self.workload.at_gate = waiting;
        self.machine.resume(cpu);
    }

    /// Wakes one task. The time for that passes before the next one, so that other CPUs see each
    /// wake-up when it happens.
    fn wake_next(&mut self, cpu: u32) {
        match self.workload.at_gate.pop() {
            Some(task) => {
                self.wake(task, 0);
                self.machine.resume(cpu);
            }
            None => self.sleep_until_end(cpu),
        }
    }

    fn sleep_until_end(&mut self, cpu: u32) {
        self.workload.main_work = MainWork::Ending;
        self.machine.charge(cpu, self.machine.costs.syscall_ns);
        self.schedule(cpu, Some(State::Sleeping));
        // While it sleeps until the end, it does not count as a real-time task: with none, the
        // simulator skips the real-time classes.
        self.machine.leave_real_time(self.workload.main);
        if self.workload.is_late {
            self.call_main();
        }
    }

    /// Wakes the main task, which ends the trial as soon as it has a CPU.
    pub(crate) fn call_main(&mut self) {
        if self.machine.task(self.workload.main).state == State::Sleeping {
            self.machine.join_real_time(self.workload.main);
            self.wake(self.workload.main, 0);
        } else if matches!(self.workload.main_work, MainWork::Starting | MainWork::Waking) {
            self.workload.is_late = true;
        }
    }

    pub(crate) fn on_end(&mut self, timed_out: bool) {
        self.workload.timed_out = timed_out;
        let cpu = self.machine.task(self.workload.main).cpu;
        self.interrupt(cpu, self.machine.costs.timer_ns, |core| core.call_main());
    }
}
