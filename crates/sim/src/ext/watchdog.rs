// SPDX-License-Identifier: GPL-2.0-only
//! The watchdog ejects the scheduler if a runnable task does not run in time; and waiting tasks
//! that the scheduler may have forgotten.

use crate::core::events::EventKind;
use crate::core::task::{State, WATCHED};
use crate::core::{Core, NO_TASK, TaskId};
use crate::flags::EXIT_ERROR_STALL;

/// The kernel's words for it.
pub(crate) const STALL: &str = "runnable task stall";

impl Core {
    pub(crate) fn start_watchdog(&mut self) {
        self.machine.events.push(
            self.machine.now + self.ext.watchdog_ns / 2,
            EventKind::Watchdog,
            0,
            0,
        );
    }

    /// Checks the first task of each CPU's list, which has waited longest.
    pub(crate) fn on_watchdog(&mut self) {
        let now = self.machine.now;
        for cpu in 0..self.machine.cpus.len() {
            let mut at = self.machine.cpus[cpu].watch_head;
            while at != NO_TASK {
                let waited = now.saturating_sub(self.machine.tasks[at as usize].runnable_at);
                if waited > self.ext.watchdog_ns {
                    self.stall(TaskId(at), waited);
                    return;
                }
                at = self.machine.tasks[at as usize].watch_next;
            }
        }
        self.start_watchdog();
    }

    fn stall(&mut self, task: TaskId, waited_ns: u64) {
        const MS: u64 = 1_000_000;
        let (seconds, rest) = (waited_ns / (1_000 * MS), waited_ns / MS % 1_000);
        let message = format!("{} failed to run for {seconds}.{rest:03}s", self.name(task));
        self.end(EXIT_ERROR_STALL, 0, STALL, message);
    }
}

/// A wait next to an idle CPU that is longer than any wake-up in progress.
const BESIDE_IDLE_NS: u64 = 1_000_000;
/// The shortest wait that may last for ever although no CPU is idle …
const LONG_NS: u64 = 50_000_000;
/// … if it is this many times as long as the longest wait that has ended.
const UNUSUAL: u64 = 4;

/// A waiting task, and since when it waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    task: TaskId,
    since: u64,
}

impl Core {
    /// The waiting tasks that might never get a CPU.
    pub(crate) fn perhaps_forgotten(&self) -> Vec<Waiting> {
        let longest = self.recorder.groups.iter().map(|group| group.delay.largest()).max();
        let unusual = longest.unwrap_or(0).saturating_mul(UNUSUAL).max(LONG_NS);
        let cpus = 0..self.machine.topology.cpus;
        let idle: Vec<u32> = cpus.filter(|&cpu| self.machine.is_idle(cpu)).collect();
        let is_suspect = |waiting: &Waiting| {
            let waited = self.machine.now.saturating_sub(waiting.since);
            let mask = &self.machine.masks[self.machine.task(waiting.task).mask as usize];
            let beside_idle = || idle.iter().any(|&cpu| mask.test(cpu));
            waited > unusual || waited > BESIDE_IDLE_NS && beside_idle()
        };
        self.watched().filter(is_suspect).collect()
    }

    /// All waiting tasks, from the watchdog's lists.
    fn watched(&self) -> impl Iterator<Item = Waiting> {
        let machine = &self.machine;
        let known = |at: u32| (at != NO_TASK).then_some(at);
        let next = move |&at: &u32| known(machine.tasks[at as usize].watch_next);
        let of_cpu =
            move |cpu: usize| std::iter::successors(known(machine.cpus[cpu].watch_head), next);
        let all = (0..machine.cpus.len()).flat_map(of_cpu);
        all.map(|at| Waiting { task: TaskId(at), since: machine.tasks[at as usize].runnable_at })
    }

    /// Lets virtual time pass until none of these tasks waits any more, or the watchdog ejects the
    /// scheduler.
    pub(crate) fn run_until_served(&mut self, mut forgotten: Vec<Waiting>) {
        // The watchdog checks twice in each period.
        let end = self.machine.now.saturating_add(self.ext.watchdog_ns.saturating_mul(2));
        while !self.workload.is_over() && self.ext.exit.is_none() && self.machine.now < end {
            while forgotten.last().is_some_and(|&waiting| !self.still_waits(waiting)) {
                forgotten.pop();
            }
            if forgotten.is_empty() || !self.run_one() {
                return;
            }
        }
    }

    fn still_waits(&self, waiting: Waiting) -> bool {
        let task = self.machine.task(waiting.task);
        let is_watched = task.state == State::Runnable && task.scx & WATCHED != 0;
        is_watched && task.runnable_at == waiting.since
    }
}
