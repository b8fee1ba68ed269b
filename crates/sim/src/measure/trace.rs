// SPDX-License-Identifier: GPL-2.0-only
//! The event trace in the form that all backends share, with scheduling decisions, which only the
//! simulator can see.

use model::trace::{Preemption, Trace, TraceTask, What};

use crate::core::{Core, TaskId};

impl Core {
    /// The finished trace, in order of time.
    pub(crate) fn finish_trace(&mut self) -> Option<Trace> {
        let mut events = self.recorder.take_events()?;
        events.sort_by_key(|event| event.time_ns);
        for event in &mut events {
            match &mut event.what {
                What::Switch { prev, next, .. } => {
                    (*prev, *next) = (self.trace_pid(*prev), self.trace_pid(*next));
                }
                What::Waking { pid, .. } | What::Enqueue { pid, .. } | What::Choose { pid, .. } => {
                    *pid = self.trace_pid(*pid);
                }
                What::Preempt { pid, why } => {
                    *pid = self.trace_pid(*pid);
                    if let Preemption::MoreImportant { pid } | Preemption::Inserted { pid } = why {
                        *pid = self.trace_pid(*pid);
                    }
                }
                What::Fork { .. } | What::Exit { .. } => {}
                // It tells no messages.
                What::Send { .. } | What::Take { .. } => {}
            }
        }
        let tasks = self.machine.all_tasks().map(|task| self.trace_task(task)).collect();
        Some(Trace { tasks, events, lost: 0 })
    }

    fn trace_pid(&self, task: u32) -> u32 {
        self.pid(TaskId(task)) as u32
    }

    fn trace_task(&self, task: TaskId) -> TraceTask {
        let group = self.workload.groups().get(self.machine.task(task).group as usize);
        TraceTask {
            pid: self.trace_pid(task.0),
            comm: self.comm(task),
            group: group.map_or_else(String::new, |group| group.name.clone()),
        }
    }
}
