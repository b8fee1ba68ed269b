// SPDX-License-Identifier: GPL-2.0-only
//! Events of the kernel that call programs of the scheduler, apart from its callbacks.

use crate::core::memory::get;
use crate::core::{Core, TaskId};

impl Core {
    /// `trace_sched_switch()`.
    #[inline]
    pub(crate) fn event_switch(&mut self, from: TaskId, to: TaskId) {
        if self.ext.traces {
            let task = self.machine.task(from);
            let state: u32 = get(task.memory, self.machine.arena.layout.state);
            let preempted = state == 0 && !self.machine.yielding;
            call!(self, sched_switch(preempted, from, to, state));
        }
    }

    /// `trace_sched_wakeup()` and `trace_sched_wakeup_new()`.
    #[inline]
    pub(crate) fn event_wakeup(&mut self, task: TaskId, is_new: bool) {
        if self.ext.traces {
            call!(self, sched_wakeup(task, is_new));
        }
    }
}
