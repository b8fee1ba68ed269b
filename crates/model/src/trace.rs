// SPDX-License-Identifier: GPL-2.0-only
//! Scheduling events of one trial.

use serde::{Deserialize, Serialize};

use crate::usual::is_default;

/// The events of one trial in order of time, and the names of the tasks in them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The tasks by process number. Process 0 is the idle task of every CPU.
    pub tasks: Vec<TraceTask>,
    pub events: Vec<TraceEvent>,
    /// Events that could not be kept; not 0 means that the trace has holes, and the report says so.
    pub lost: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceTask {
    /// The kernel's task number (thread id).
    pub pid: u32,
    /// The thread's name.
    pub comm: String,
    /// The task group, empty for tasks that do not belong to the workload.
    pub group: String,
}

/// One event. Unknown fields are not refused here: serde cannot do that together with `flatten`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceEvent {
    /// Nanoseconds since the common start of the workload.
    pub time_ns: u64,
    pub cpu: u32,
    #[serde(flatten)]
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum What {
    /// The CPU switched tasks (`sched_switch`).
    Switch {
        /// The task that stopped running.
        prev: u32,
        /// Its kernel priority (0 … 139).
        prev_prio: u32,
        /// Its state as ftrace writes it: `R` could run on, `R+` preempted, `S` sleeps, `D` disk,
        /// `X` dead …
        prev_state: String,
        next: u32,
        next_prio: u32,
        /// What the task that stopped sleeps for, or that it yielded, where the backend tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<SleepsFor>,
    },
    /// A sleeping task is being woken (`sched_waking`); `target` is the CPU that it last ran on.
    Waking {
        pid: u32,
        prio: u32,
        /// The CPU that it will wait on, if known.
        target: u32,
        /// An interrupt wakes it, and not the task that runs on the CPU.
        #[serde(default, skip_serializing_if = "is_default")]
        interrupt: bool,
        /// Whose work wakes it, where the backend tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<WokenBy>,
    },
    /// A new task (`sched_process_fork`).
    Fork { parent: u32, child: u32 },
    /// A task ended (`sched_process_exit`).
    Exit { pid: u32 },
    /// A task has put bytes into a pipe or a socket of this machine, where the backend tells.
    Send {
        pid: u32,
        /// The pipe, or the socket's receiving end.
        stream: u32,
        bytes: u32,
        /// How many it has room for in all; 0: nobody knows.
        #[serde(default, skip_serializing_if = "is_default")]
        room: u32,
    },
    /// A task has taken bytes out.
    Take {
        pid: u32,
        /// As for [`What::Send`].
        stream: u32,
        bytes: u32,
    },
    /// A decision: a runnable task was put into a queue, by the event's CPU.
    ///
    /// Decisions come from the simulator only: a real kernel has no tracepoints for them.
    Enqueue {
        pid: u32,
        queue: Queue,
        /// The queue that the event's CPU took it from, if it was in one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<Queue>,
        /// Its virtual time, if the queue is ordered by it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vtime: Option<u64>,
        /// How long it may run once it is chosen, ns; `None`: without limit, or not sched_ext.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slice_ns: Option<u64>,
        /// Number of tasks before it in the queue; `None` where only the scheduler knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ahead: Option<u32>,
        /// The scheduler dispatched it at once, while it was being woken or enqueued.
        #[serde(default, skip_serializing_if = "is_default")]
        direct: bool,
    },
    /// A decision: the CPU runs this task next, or continues with it.
    Choose {
        pid: u32,
        /// For how long, ns; `None`: without limit, or not sched_ext.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slice_ns: Option<u64>,
    },
    /// A decision: the running task is preempted although it could run on; the switch follows.
    Preempt { pid: u32, why: Preemption },
}

impl What {
    /// Whether only the simulator can see it.
    pub fn is_decision(&self) -> bool {
        matches!(self, What::Enqueue { .. } | What::Choose { .. } | What::Preempt { .. })
    }

    pub fn has_tracepoint(&self) -> bool {
        !self.is_decision() && !matches!(self, What::Send { .. } | What::Take { .. })
    }
}

/// What a task sleeps for, from the system call in which it sleeps; or that it does not sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SleepsFor {
    /// The source does not tell.
    Unknown,
    /// A time that it has set itself: `TIMER_ABSTIME`, `timerfd`, a timeout of `poll`.
    Timer,
    /// So long from now on: `nanosleep`.
    Nap,
    /// A futex, or another lock.
    Futex,
    /// Data in a pipe or a local socket.
    Pipe,
    /// Room in a pipe or a socket that is full.
    Room,
    Network,
    /// A disk or another block device; uninterruptible sleep.
    Disk,
    Child,
    /// One of several files, or a signal: what wakes it decides. It is a message unless that is
    /// shown.
    Any,
    /// The same, and an event or a signal has woken it.
    Signal,
    Other,
    /// Nothing: it lets others run (`sched_yield`).
    Yield,
}

/// Whose work makes a task runnable. It is not always the work of the task that runs on the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WokenBy {
    Task(u32),
    Timer,
    Device,
}

/// Where a runnable task waits to be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// The local queue of a CPU.
    Local(u32),
    /// The global queue of a NUMA node.
    Global(u32),
    /// A queue that the scheduler made, by the number that it gave.
    Shared(u64),
    /// The scheduler's own data structures, whose order the kernel does not know.
    Scheduler,
    /// The bypass queue, used while a scheduler is being loaded or unloaded.
    Bypass,
    /// The real-time run queue of a CPU.
    RealTime(u32),
    /// The deadline run queue of a CPU.
    Deadline(u32),
}

impl Queue {
    /// The only CPU that takes tasks from it, if it belongs to one.
    pub fn cpu(&self) -> Option<u32> {
        match *self {
            Queue::Local(cpu) | Queue::RealTime(cpu) | Queue::Deadline(cpu) => Some(cpu),
            Queue::Global(_) | Queue::Shared(_) | Queue::Scheduler | Queue::Bypass => None,
        }
    }
}

/// Why a task that could run on was preempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum Preemption {
    /// Its slice, quantum or budget was used up.
    SliceEnd,
    Yield,
    /// The scheduler kicked the CPU, from this one.
    Kick {
        /// The CPU that sent the kick.
        from: u32,
    },
    /// The scheduler put this task into the CPU's queue with `SCX_ENQ_PREEMPT`.
    Inserted {
        /// The task that was enqueued.
        pid: u32,
    },
    /// A task of a higher class or priority became runnable.
    MoreImportant {
        /// The task that was enqueued.
        pid: u32,
    },
    /// Its affinity does not include this CPU any more.
    Moved,
    /// The reserved time of lower classes began or ended.
    Reservation,
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_event_comes_back() {
        let switch = What::Switch {
            prev: 1,
            prev_prio: 120,
            prev_state: "R+".into(),
            next: 0,
            next_prio: 139,
            reason: Some(SleepsFor::Pipe),
        };
        let enqueue = What::Enqueue {
            pid: 1,
            queue: Queue::Local(3),
            from: Some(Queue::Shared(u64::MAX)),
            vtime: Some(u64::MAX - 1),
            slice_ns: None,
            ahead: Some(0),
            direct: true,
        };
        assert!(enqueue.is_decision() && !switch.is_decision());
        let kinds = [
            switch,
            What::Waking { pid: 1, prio: 49, target: 3, interrupt: true, by: None },
            What::Waking {
                pid: 1,
                prio: 49,
                target: 3,
                interrupt: false,
                by: Some(WokenBy::Task(9)),
            },
            What::Fork { parent: 1, child: 2 },
            What::Exit { pid: 2 },
            What::Send { pid: 2, stream: 3, bytes: 4, room: 5 },
            What::Take { pid: 2, stream: 3, bytes: 4 },
            enqueue,
            What::Choose { pid: 1, slice_ns: Some(u64::MAX) },
            What::Preempt { pid: 1, why: Preemption::MoreImportant { pid: 2 } },
        ];
        let events = kinds.map(|what| TraceEvent { time_ns: 7, cpu: 0, what });
        let trace = Trace { tasks: Vec::new(), events: events.into(), lost: 0 };
        let json = serde_json::to_string(&trace).expect("plain data");
        assert_eq!(serde_json::from_str::<Trace>(&json).expect("our own JSON"), trace);
    }
}
