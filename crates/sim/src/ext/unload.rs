// SPDX-License-Identifier: GPL-2.0-only
//! Unloading a scheduler (`scx_root_disable`).
//!
//! DIVERGES: time stands still meanwhile, so no CPU switches between the steps; on a real machine
//! tasks go on under the bypass, and `running` and `stopping` show their switches.

use crate::core::task::{Class, State};
use crate::core::{Core, NO_TASK, TaskId};
use crate::flags::*;
use crate::ops::ExitInfo;

impl Core {
    /// Takes the scheduler off again. Why it ends is settled by now: mistakes that it makes on its
    /// way out change nothing.
    pub(crate) fn unload(&mut self) {
        if !self.loaded {
            return;
        }
        let normal = ExitInfo {
            kind: EXIT_UNREG,
            code: 0,
            reason: "unregistered from user space".into(),
            message: String::new(),
        };
        let info = self.exit.clone().unwrap_or(normal);
        self.leaving = true;
        // The measurement is closed: nothing that happens now is to cost anybody time.
        self.costs = model::Costs::FREE;
        self.enter_bypass();
        for task in self.all_tasks() {
            if self.task(task).state != State::Dead {
                self.leave_ext(task);
                self.exit_task(task);
            }
        }
        call!(self, exit(&info));
        self.loaded = false;
    }

    /// `scx_bypass(true)`: each waiting task goes once through dequeue and enqueue, which takes him out
    /// of the scheduler's hands and queues.
    fn enter_bypass(&mut self) {
        self.bypass = true;
        for cpu in 0..self.topology.cpus {
            self.this_cpu = cpu;
            for task in self.waiting_last_first(cpu) {
                let scope = self.begin_change(task, DEQ_MOVE);
                self.end_change(task, scope);
            }
        }
        self.this_cpu = 0;
    }

    /// The CPU's tasks that wait to run. Each joins the end of the list again when it is cycled, so
    /// the kernel goes backwards.
    fn waiting_last_first(&self, cpu: u32) -> Vec<TaskId> {
        let known = |at: u32| (at != NO_TASK).then_some(at);
        let last = known(self.cpus[cpu as usize].watch_tail);
        let before = |&at: &u32| known(self.tasks[at as usize].watch_previous);
        std::iter::successors(last, before).map(TaskId).collect()
    }

    /// The change of class: the task is dequeued as one of sched_ext and comes back as a fair one,
    /// of which nothing is to be seen here.
    fn leave_ext(&mut self, task: TaskId) {
        if self.task(task).class == Class::Ext && self.is_enabled(task) {
            self.this_cpu = self.task(task).cpu;
            self.begin_change(task, DEQ_MOVE | DEQ_CLASS);
        }
    }
}
