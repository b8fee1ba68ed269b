// SPDX-License-Identifier: GPL-2.0-only
//! Fairground's main task, as the live player has it: it wakes all tasks at one instant, sleeps at
//! a priority above theirs, and ends the trial.
//!
//! Its work is part of what is measured on a real kernel: the common start is a series of wake-ups
//! on one CPU, and the end preempts the task that runs there.

use model::{Costs, Policy, PolicyClass};
use play::LAB_PRIORITY;

use super::progress::Progress;
use crate::core::task::{Class, NewTask, State};
use crate::core::{Core, TaskId};
use crate::measure::recorder::{Recorder, Stat};

/// What a task does before its first step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    /// It has not been woken for the common start.
    Closed,
    /// It sleeps until its own start.
    Delayed,
    /// It plays.
    #[default]
    Passed,
}

/// What the main task does next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MainWork {
    /// Start all.
    #[default]
    Starting,
    /// Start all, although the time is over already, and end the trial.
    StartingLate,
    /// End the trial.
    Ending,
}

/// System calls between the main task's wake-up and the end of the trial: it empties its eventfd,
/// looks for an interruption, and reads the clock.
const CALLS_BEFORE_END: u64 = 2;

impl Core {
    /// Makes the main task.
    pub(crate) fn add_main(&mut self) -> TaskId {
        let pid = self.take_pid();
        let new = NewTask {
            pid,
            tgid: pid,
            comm: "fairground",
            policy: Policy::default(),
            mask: 0,
            parent: None,
            cpu: 0,
            flags: 0,
            group: u32::MAX,
        };
        self.main = self.new_task(&new);
        self.task_mut(self.main).state = State::Sleeping;
        self.progress[self.main.0 as usize] = Progress { group: u32::MAX, ..Progress::default() };
        self.main
    }

    /// Gives the main task its priority and its CPU; time begins. What was before does not count.
    pub(crate) fn start_time(&mut self) {
        let costs = std::mem::replace(&mut self.costs, Costs::FREE);
        let nobody = Recorder::new(self.script.groups.len(), false);
        let recorder = std::mem::replace(&mut self.recorder, nobody);
        let last = self.last_to_arrive();
        if let Some(last) = last {
            self.this_cpu = 0;
            self.wake(last, 0);
            self.settle(0);
        }
        let policy =
            Policy { class: PolicyClass::Fifo, priority: LAB_PRIORITY, ..Policy::default() };
        self.set_policy(self.main, policy);
        self.this_cpu = 0;
        self.wake(self.main, 0);
        self.settle(0);
        if let Some(last) = last {
            self.stats[last.0 as usize] = Stat { last_cpu: 0, ..Stat::default() };
        }
        (self.costs, self.recorder) = (costs, recorder);
    }

    /// The last task that reaches the gate wakes the main task, which on a single CPU preempts it
    /// before it sleeps: it is the first one that goes on.
    fn last_to_arrive(&self) -> Option<TaskId> {
        let mut tasks = self.all_tasks().filter(|&task| task != self.main);
        let last = tasks.next_back()?;
        let below = self.task(last).class > Class::Deadline;
        (self.topology.cpus == 1 && below).then_some(last)
    }

    /// The main task runs.
    pub(crate) fn run_main(&mut self, cpu: u32) {
        match self.main_work {
            MainWork::Starting | MainWork::StartingLate => self.open_gate(cpu),
            MainWork::Ending => {
                self.charge(cpu, self.costs.syscall_ns * CALLS_BEFORE_END);
                self.now = self.clock(cpu);
                self.over = true;
            }
        }
    }

    /// Wakes all tasks, real-time ones first, as a futex does; then sleeps until the end.
    fn open_gate(&mut self, cpu: u32) {
        let late = std::mem::take(&mut self.main_work) == MainWork::StartingLate;
        self.main_work = MainWork::Ending;
        self.charge(cpu, self.costs.syscall_ns);
        let mut waiting: Vec<TaskId> = self
            .all_tasks()
            .filter(|task| self.progress[task.0 as usize].gate == Gate::Closed)
            .collect();
        waiting.sort_by_key(|&task| self.task(task).prio.min(100));
        for task in waiting {
            self.wake(task, 0);
        }
        self.charge(cpu, self.costs.syscall_ns);
        self.schedule(cpu, Some(State::Sleeping));
        // While it sleeps until the end, the real-time classes need not look for it.
        self.leave_real_time(self.main);
        if late {
            self.call_main();
        }
    }

    /// Wakes the main task, which ends the trial as soon as it has a CPU.
    pub(crate) fn call_main(&mut self) {
        if self.task(self.main).state == State::Sleeping {
            self.join_real_time(self.main);
            self.wake(self.main, 0);
        } else if self.main_work == MainWork::Starting {
            self.main_work = MainWork::StartingLate;
        }
    }

    /// The time is over.
    pub(crate) fn on_end(&mut self, timed_out: bool) {
        self.timed_out = timed_out;
        let cpu = self.task(self.main).cpu;
        self.interrupt(cpu, self.costs.timer_ns, |core| core.call_main());
    }
}
