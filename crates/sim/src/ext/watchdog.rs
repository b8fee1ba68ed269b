// SPDX-License-Identifier: GPL-2.0-only
//! The watchdog: ejects the scheduler if a runnable task does not run in time.

use crate::core::events::EventKind;
use crate::core::{Core, NO_TASK, TaskId};
use crate::flags::EXIT_ERROR_STALL;

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
        self.end(EXIT_ERROR_STALL, 0, "runnable task stall", message);
    }
}
