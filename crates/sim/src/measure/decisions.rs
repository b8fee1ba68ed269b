// SPDX-License-Identifier: GPL-2.0-only
//! Scheduling decisions in the trace: into which queue a task was put, which task was picked, and
//! which was preempted and why.
//!
//! Without a trace each hook costs one branch.
//!
//! The event trace in the form that all backends share, with scheduling decisions, which only the
//! simulator can see.

use model::trace::{Preemption, Queue, Trace, TraceEvent, TraceTask, What};

use crate::core::task::{State, Task};
use crate::core::{Core, NO_TASK, TaskId};
use crate::flags::SLICE_INF;

impl Core {
    #[inline(always)]
    pub(crate) fn is_tracing(&self) -> bool {
        self.recorder.trace.is_some()
    }

    /// The task is about to move from its queue to another one.
    #[inline(always)]
    pub(crate) fn trace_taken(&mut self, task: TaskId) {
        if self.is_tracing() {
            self.note_taken(task);
        }
    }

    /// The task is about to be dispatched directly.
    #[inline(always)]
    pub(crate) fn trace_direct(&mut self, task: TaskId) {
        if self.is_tracing() {
            self.note_source(task, None, true);
        }
    }

    /// The task was put into this dispatch queue.
    #[inline(always)]
    pub(crate) fn trace_enqueued(&mut self, queue: u32, task: TaskId, ordered: bool) {
        if self.is_tracing() {
            self.note_enqueued(queue, task, ordered);
        }
    }

    /// The scheduler keeps the task in its own memory.
    #[inline(always)]
    pub(crate) fn trace_kept_by_scheduler(&mut self, task: TaskId) {
        if self.is_tracing() {
            self.push_enqueue(Queue::Scheduler, task, None, None);
        }
    }

    /// A CPU has to reschedule for this reason. The first reason counts.
    #[inline(always)]
    pub(crate) fn because(&mut self, cpu: u32, why: Preemption) {
        if self.is_tracing() {
            self.note_reason(cpu, why);
        }
    }

    /// The CPU has picked a task; `left` is the task that was preempted, if any.
    #[inline(always)]
    pub(crate) fn trace_choice(&mut self, cpu: u32, next: TaskId, left: Option<TaskId>) {
        if self.is_tracing() {
            self.push_choice(cpu, next, left);
        }
    }
}

/// The work of the hooks, kept out of line so that it does not slow down untraced trials.
impl Core {
    #[cold]
    fn note_taken(&mut self, task: TaskId) {
        let from = match self.ext.queues().queue_of(task.0) {
            NO_TASK => Queue::Scheduler,
            queue => self.queue_name(queue),
        };
        self.note_source(task, Some(from), false);
    }

    #[cold]
    fn note_source(&mut self, task: TaskId, from: Option<Queue>, direct: bool) {
        if let Some(trace) = &mut self.recorder.trace {
            trace.source = Some((task, from, direct));
        }
    }

    #[cold]
    fn note_enqueued(&mut self, queue: u32, task: TaskId, ordered: bool) {
        let vtime = ordered.then(|| self.dsq_vtime(task));
        let ahead = self.tasks_before(queue, task);
        self.push_enqueue(self.queue_name(queue), task, vtime, Some(ahead));
    }

    /// The task waits in the run queue of a higher class, at this position from 0; no position if
    /// it has ended or is throttled.
    #[cold]
    pub(crate) fn note_run_queue(&mut self, queue: Queue, task: TaskId, place: Option<usize>) {
        if let Some(place) = place {
            self.push_enqueue(queue, task, None, Some(place as u32));
        }
    }

    #[cold]
    fn push_enqueue(&mut self, queue: Queue, task: TaskId, vtime: Option<u64>, ahead: Option<u32>) {
        let source = self.recorder.trace.as_mut().and_then(|trace| trace.source.take());
        let of_task = source.filter(|&(whose, ..)| whose == task);
        let (from, direct) = of_task.map_or((None, false), |(_, from, direct)| (from, direct));
        let (time_ns, slice_ns) =
            (self.machine.clock(self.machine.this_cpu), self.finite_slice(task));
        let what = What::Enqueue { pid: task.0, queue, from, vtime, slice_ns, ahead, direct };
        self.push_decision(time_ns, self.machine.this_cpu, what);
    }

    #[cold]
    fn note_reason(&mut self, cpu: u32, why: Preemption) {
        if let Some(trace) = &mut self.recorder.trace {
            if trace.why.len() <= cpu as usize {
                trace.why.resize(cpu as usize + 1, None);
            }
            trace.why[cpu as usize].get_or_insert(why);
        }
    }

    #[cold]
    fn push_choice(&mut self, cpu: u32, next: TaskId, left: Option<TaskId>) {
        let (time_ns, slice_ns) = (self.machine.clock(cpu), self.finite_slice(next));
        if next.0 != cpu {
            self.push_decision(time_ns, cpu, What::Choose { pid: next.0, slice_ns });
        }
        let trace = self.recorder.trace.as_mut();
        let why = trace.and_then(|trace| trace.why.get_mut(cpu as usize)?.take());
        if let Some(task) = left {
            let why = match why {
                Some(why) if !self.machine.yielding => why,
                _ => self.reason_to_go(task),
            };
            self.push_decision(time_ns, cpu, What::Preempt { pid: task.0, why });
        }
    }

    /// The reason of a switch that no other code has requested.
    fn reason_to_go(&self, task: TaskId) -> Preemption {
        match self.slice(task) {
            _ if self.machine.yielding => Preemption::Yield,
            0 => Preemption::SliceEnd,
            _ => Preemption::Other,
        }
    }

    fn push_decision(&mut self, time_ns: u64, cpu: u32, what: What) {
        if let Some(trace) = &mut self.recorder.trace {
            trace.push(time_ns, cpu, what);
        }
    }

    fn finite_slice(&self, task: TaskId) -> Option<u64> {
        let ext = self.machine.task(task).class == crate::core::task::Class::Ext;
        Some(self.slice(task)).filter(|&slice| ext && slice != SLICE_INF)
    }

    /// Counts the tasks behind it, because most insertions are near the end.
    fn tasks_before(&self, queue: u32, task: TaskId) -> u32 {
        let next = |&at: &u32| Some(self.ext.queues().next(at)).filter(|&next| next != NO_TASK);
        let from_here_on = std::iter::successors(Some(task.0), next).count() as u32;
        self.ext.queues().len(queue).saturating_sub(from_here_on)
    }

    fn queue_name(&self, queue: u32) -> Queue {
        let cpus = self.machine.topology.cpus;
        match queue {
            _ if queue < cpus => Queue::Local(queue),
            _ if queue < self.bypass_queue() => Queue::Global(queue - cpus),
            _ if queue < self.first_user_queue() => Queue::Bypass,
            _ => Queue::Shared(self.ext.queues().queues[queue as usize].id),
        }
    }
}

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
