// SPDX-License-Identifier: GPL-2.0-only
//! The program's main task, as the player has it: it wakes all tasks at one instant, sleeps above
//! them, and ends the run.
//!
//! Its work is part of what is measured on a real kernel: the common start is a row of wake-ups on
//! one CPU, and the end preempts whoever runs there.

use model::{Costs, Policy, PolicyClass};

use super::progress::Play;
use super::score::LAB_PRIORITY;
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
pub enum Conductor {
    /// Start all.
    #[default]
    Starting,
    /// Start all, although the time is over already, and end the run.
    StartingLate,
    /// End the run.
    Ending,
}

/// System calls between the conductor's wake-up and the end of the run: it empties its bell, looks
/// for an interruption, and reads the clock.
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
        self.plays[self.main.0 as usize] = Play { group: u32::MAX, ..Play::default() };
        self.main
    }

    /// Puts the main task above the load and onto its CPU; time begins. Nothing before counts.
    pub(crate) fn raise_curtain(&mut self) {
        let costs = std::mem::replace(&mut self.costs, Costs::FREE);
        let nobody = Recorder::new(self.score.groups.len(), false);
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

    /// The last task to come to the gate says so, and with a single CPU the main task preempts it
    /// before it sleeps: it is the first to go on.
    fn last_to_arrive(&self) -> Option<TaskId> {
        let mut tasks = self.all_tasks().filter(|&task| task != self.main);
        let last = tasks.next_back()?;
        let below = self.task(last).class > Class::Deadline;
        (self.topology.cpus == 1 && below).then_some(last)
    }

    /// The main task runs.
    pub(crate) fn conduct(&mut self, cpu: u32) {
        match self.conductor {
            Conductor::Starting | Conductor::StartingLate => self.open_gate(cpu),
            Conductor::Ending => {
                self.charge(cpu, self.costs.syscall_ns * CALLS_BEFORE_END);
                self.now = self.clock(cpu);
                self.over = true;
            }
        }
    }

    /// Wakes all tasks, real-time ones first, as a futex does; then sleeps until the end.
    fn open_gate(&mut self, cpu: u32) {
        let late = std::mem::take(&mut self.conductor) == Conductor::StartingLate;
        self.conductor = Conductor::Ending;
        self.charge(cpu, self.costs.syscall_ns);
        let mut waiting: Vec<TaskId> = self
            .all_tasks()
            .filter(|task| self.plays[task.0 as usize].gate == Gate::Closed)
            .collect();
        waiting.sort_by_key(|&task| self.task(task).prio.min(100));
        for task in waiting {
            self.wake(task, 0);
        }
        self.charge(cpu, self.costs.syscall_ns);
        self.schedule(cpu, Some(State::Sleeping));
        // A task that sleeps until the end is nothing that the classes need to look for.
        self.leave_real_time(self.main);
        if late {
            self.call_main();
        }
    }

    /// Wakes the main task, which ends the run as soon as it has a CPU.
    pub(crate) fn call_main(&mut self) {
        if self.task(self.main).state == State::Sleeping {
            self.join_real_time(self.main);
            self.wake(self.main, 0);
        } else if self.conductor == Conductor::Starting {
            self.conductor = Conductor::StartingLate;
        }
    }

    /// The time is over.
    pub(crate) fn on_end(&mut self, timed_out: bool) {
        self.timed_out = timed_out;
        let cpu = self.task(self.main).cpu;
        self.interrupt(cpu, self.costs.timer_ns, |core| core.call_main());
    }
}
