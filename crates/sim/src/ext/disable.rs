// SPDX-License-Identifier: GPL-2.0-only
//! Unloading a scheduler (`scx_root_disable`).
//!
//! DIVERGES: unloading takes no time, so no CPU switches between its steps. On a real machine tasks
//! continue to run in bypass mode, and `running` and `stopping` report their switches.

use crate::core::task::{Class, State};
use crate::core::{Core, NO_TASK, TaskId};
use crate::flags::*;
use crate::ops::ExitInfo;

impl Core {
    /// Unloads the scheduler. Its exit reason does not change any more: errors while unloading are
    /// ignored.
    pub(crate) fn unload(&mut self) {
        if !self.ext.loaded {
            return;
        }
        let normal = ExitInfo {
            kind: EXIT_UNREG,
            code: 0,
            reason: "unregistered from user space".into(),
            message: String::new(),
        };
        let info = self.ext.exit.clone().unwrap_or(normal);
        self.ext.leaving = true;
        // The measurement is over, so nothing costs time any more.
        self.machine.costs = model::Costs::FREE;
        self.enter_bypass();
        for task in self.machine.all_tasks() {
            if self.machine.task(task).state != State::Dead {
                self.leave_ext(task);
                self.exit_task(task);
            }
        }
        call!(self, exit(&info));
        self.ext.loaded = false;
    }

    /// `scx_bypass(true)`: dequeues and enqueues every waiting task, which takes it from the
    /// scheduler and its queues.
    fn enter_bypass(&mut self) {
        self.ext.bypass = true;
        for cpu in 0..self.machine.topology.cpus {
            self.machine.this_cpu = cpu;
            for task in self.waiting_last_first(cpu) {
                let scope = self.begin_change(task, DEQ_MOVE);
                self.end_change(task, scope);
            }
        }
        self.machine.this_cpu = 0;
    }

    /// The CPU's waiting tasks in reverse order: a task that is cycled is appended to the list
    /// again, so the kernel iterates backwards.
    fn waiting_last_first(&self, cpu: u32) -> Vec<TaskId> {
        let known = |at: u32| (at != NO_TASK).then_some(at);
        let last = known(self.machine.cpus[cpu as usize].watch_tail);
        let before = |&at: &u32| known(self.machine.tasks[at as usize].watch_previous);
        std::iter::successors(last, before).map(TaskId).collect()
    }

    /// Moves a task to the fair class: it is dequeued from sched_ext. The fair class is not
    /// modelled, so nothing follows.
    fn leave_ext(&mut self, task: TaskId) {
        if self.machine.task(task).class == Class::Ext && self.is_enabled(task) {
            self.machine.this_cpu = self.machine.task(task).cpu;
            self.begin_change(task, DEQ_MOVE | DEQ_CLASS);
        }
    }
}
