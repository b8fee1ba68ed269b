// SPDX-License-Identifier: GPL-2.0-only
//! The event trace in the form that all backends share, with scheduling decisions, which only the
//! simulator can see.

use model::trace::{Preemption, Queue, Trace, TraceEvent, TraceTask, What};

use crate::core::task::{State, Task};
use crate::core::{Core, TaskId};

/// Events in order of time. Task numbers are replaced by process numbers at the end.
#[derive(Default)]
pub struct TraceLog {
    pub(super) events: Vec<TraceEvent>,
    /// For the task that is about to be put into a queue: the queue that it leaves, and whether it
    /// is dispatched directly.
    pub(super) source: Option<(TaskId, Option<Queue>, bool)>,
    /// For each CPU: why it has to reschedule.
    pub(super) why: Vec<Option<Preemption>>,
}

impl TraceLog {
    pub(crate) fn switch(
        &mut self,
        time_ns: u64,
        cpu: u32,
        (previous, left): (TaskId, &Task),
        (next, came): (TaskId, &Task),
        preempted: bool,
    ) {
        let prev_state = match left.state {
            State::Runnable if preempted && previous.0 != cpu => "R+",
            State::Runnable => "R",
            State::Sleeping => "S",
            State::DiskSleep => "D",
            State::Dead => "X",
            State::New => "R",
        };
        self.push(
            time_ns,
            cpu,
            What::Switch {
                prev: previous.0,
                prev_prio: prio(left),
                prev_state: prev_state.into(),
                next: next.0,
                next_prio: prio(came),
                reason: None,
            },
        );
    }

    pub(super) fn push(&mut self, time_ns: u64, cpu: u32, what: What) {
        self.events.push(TraceEvent { time_ns, cpu, what });
    }
}

/// The idle task has the priority of nice 0 in traces.
pub(super) fn prio(task: &Task) -> u32 {
    if task.prio > 139 { 120 } else { task.prio.max(0) as u32 }
}

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
