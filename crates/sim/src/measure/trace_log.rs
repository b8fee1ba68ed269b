// SPDX-License-Identifier: GPL-2.0-only
//! The events of a trace as they happen.

use model::trace::{Preemption, Queue, TraceEvent, What};

use crate::core::task::TaskId;
use crate::core::task::{State, Task};

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

    pub(crate) fn waking(
        &mut self,
        time_ns: u64,
        cpu: u32,
        (id, task): (TaskId, &Task),
        interrupt: bool,
    ) {
        let (pid, prio, target) = (id.0, prio(task), task.cpu);
        self.push(time_ns, cpu, What::Waking { pid, prio, target, interrupt, by: None });
    }

    pub(crate) fn fork(&mut self, time_ns: u64, cpu: u32, parent: u32, child: u32) {
        self.push(time_ns, cpu, What::Fork { parent, child });
    }

    pub(crate) fn exit(&mut self, time_ns: u64, cpu: u32, pid: u32) {
        self.push(time_ns, cpu, What::Exit { pid });
    }

    pub(super) fn push(&mut self, time_ns: u64, cpu: u32, what: What) {
        self.events.push(TraceEvent { time_ns, cpu, what });
    }
}

/// The idle task has the priority of nice 0 in traces.
fn prio(task: &Task) -> u32 {
    if task.prio > 139 { 120 } else { task.prio.max(0) as u32 }
}
