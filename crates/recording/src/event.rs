// SPDX-License-Identifier: GPL-2.0-only
//! The tasks of a recording and what happened to them, in order of time.

pub use model::trace::SleepsFor;
use model::{ControlGroup, Policy};

/// What was seen of a machine's load between two instants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// What made it, with its version: `perf script`, `fairground record 0.1.0 on Linux 6.12.9`.
    pub source: String,
    /// CPUs of the machine; of a trace that does not tell, the highest CPU with an event, plus one.
    pub cpus: u32,
    /// Nanoseconds from the first to the last instant of the recording.
    pub length_ns: u64,
    /// The tasks; events name them by their place in this list.
    pub tasks: Vec<Task>,
    /// The machine's control groups with their settings, by their paths; empty if the source does
    /// not tell.
    pub control_groups: Vec<ControlGroup>,
    pub events: Vec<Event>,
    /// Events that the tracer could not keep.
    pub lost_events: u64,
    /// What the tracer took of the task at work.
    pub tracer: TracerCosts,
    /// What the kernel took of a task for a switch that it had not asked for; 0 where nobody knows.
    pub preemption_ns: u64,
    /// What the source does not tell, a sentence each, for people.
    pub untold: Vec<String>,
}

/// What a tracer takes for an event, by its kind, ns; 0 where nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TracerCosts {
    pub switch_ns: u64,
    /// A wake-up, or a fork.
    pub wake_ns: u64,
    /// What is put into a pipe or a socket, or taken out.
    pub message_ns: u64,
}

impl TracerCosts {
    /// The same for all kinds.
    pub fn of_event(event_ns: u64) -> TracerCosts {
        TracerCosts { switch_ns: event_ns, wake_ns: event_ns, message_ns: event_ns }
    }
}

/// A task's place in [`Recording::tasks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskIndex(pub u32);

/// A thread. The kernel reuses numbers, so two tasks may have the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    pub tid: u32,
    /// The thread's name (`comm`), the last one that was seen.
    pub name: String,
    /// Whether it is a thread of the kernel, if the source tells it.
    pub kernel: Option<bool>,
    /// The path of its control group, the last one that was seen; empty: the root, or nobody knows.
    pub control_group: String,
    /// At the start of the recording or of the task.
    pub attributes: Attributes,
}

/// What a scheduler is told of a task; `None` where the source does not tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes {
    pub nice: Option<i32>,
    /// The policy, with the priority of a real-time task.
    pub policy: Option<Policy>,
    /// CPUs that it may use; empty: all.
    pub affinity: Option<Vec<u32>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Nanoseconds since the start of the recording.
    pub at_ns: u64,
    pub cpu: u32,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// The CPU changed from one task to another; `None` is the idle task.
    Switch { out: Option<TaskIndex>, leaves: Leaves, next: Option<TaskIndex> },
    /// A sleeping task became runnable.
    Wake { task: TaskIndex, waker: Waker },
    /// A task made another one, which is runnable from now on.
    Fork { parent: TaskIndex, child: TaskIndex },
    /// A task ended. It still switches away once.
    Exit { task: TaskIndex },
    /// A task has put bytes into a pipe or a socket of this machine.
    Send {
        task: TaskIndex,
        /// The pipe, or the socket's receiving end.
        stream: u32,
        bytes: u32,
        /// How many it has room for in all; 0: nobody knows.
        room: u32,
    },
    /// A task has taken bytes out.
    Take { task: TaskIndex, stream: u32, bytes: u32 },
    /// An interrupt's work ended that had taken the CPU for so long.
    Interrupted { ns: u64 },
    /// Attributes of a task changed; `None`: this one did not. They are rare, and events many.
    Changed { task: TaskIndex, to: Box<Attributes> },
}

/// Why a task stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// It could have run on: preempted, or its slice was over, or it yielded and the source does
    /// not tell.
    Runnable,
    /// It could have run on, but let others run (`sched_yield`).
    Yields,
    Sleeps(SleepsFor),
    Ended,
}

/// Who makes a task runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waker<T = TaskIndex> {
    /// A task that ran on that CPU did it by its own work.
    Task(T),
    Timer,
    /// An interrupt of a device, or the work that follows from one.
    Interrupt,
    /// The source does not tell.
    Unknown,
}

impl Leaves {
    /// Of a task in a state that the kernel prints as this letter. Where the source tells no more,
    /// an uninterruptible sleep is for a disk.
    pub fn in_state(state: char) -> Leaves {
        match state {
            'R' => Leaves::Runnable,
            'X' | 'Z' | 'x' => Leaves::Ended,
            'D' => Leaves::Sleeps(SleepsFor::Disk),
            _ => Leaves::Sleeps(SleepsFor::Unknown),
        }
    }

    /// Of a task whose state is a number. None of the bits of the kernel's `TASK_REPORT`, or only
    /// one above, is that of a task that was preempted.
    pub fn of_bits(bits: u64) -> Leaves {
        match bits & 0xff {
            0 => Leaves::Runnable,
            bits if bits & 0x30 != 0 => Leaves::Ended,
            bits if bits & 2 != 0 => Leaves::Sleeps(SleepsFor::Disk),
            _ => Leaves::Sleeps(SleepsFor::Unknown),
        }
    }
}

impl Attributes {
    /// What is another than before; `None`: nothing.
    pub fn changed_from(&self, before: &Attributes) -> Option<Attributes> {
        let changed = Attributes {
            nice: self.nice.filter(|_| self.nice != before.nice),
            policy: self.policy.filter(|_| self.policy != before.policy),
            affinity: self.affinity.clone().filter(|_| self.affinity != before.affinity),
        };
        (changed != Attributes::default()).then_some(changed)
    }
}

/// What a trace prints for a name that it does not know.
pub const UNNAMED: &str = "<...>";

/// When and where an event was seen, and what ran there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment<'a> {
    /// The task at work on the CPU; `None`: the one that the last switch there has told.
    pub current: Option<Named<'a>>,
    pub cpu: u32,
    /// Whether the event came from an interrupt; `None` where the trace has no flags.
    pub in_interrupt: Option<bool>,
    /// Nanoseconds on the trace's clock.
    pub at_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// [`UNNAMED`] if the trace does not tell.
    pub comm: &'a str,
    /// Its thread's number; 0 is the idle task.
    pub tid: u32,
    /// The kernel's priority: 100 … 139 are nice −20 … 19, smaller ones are real-time.
    pub prio: Option<i32>,
}

impl Named<'_> {
    /// A task that is known only by its number.
    pub fn numbered(tid: u32) -> Named<'static> {
        Named { comm: UNNAMED, tid, prio: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling<'a> {
    Switch {
        /// `None`: the task that ran there.
        out: Option<Named<'a>>,
        leaves: Leaves,
        next: Named<'a>,
    },
    /// A task has put bytes into a stream.
    Send {
        task: Named<'a>,
        stream: u32,
        bytes: u32,
        /// How many it has room for in all; 0: nobody knows.
        room: u32,
    },
    /// A task has taken bytes out of a stream.
    Take {
        task: Named<'a>,
        stream: u32,
        bytes: u32,
    },
    /// `sched_waking`: seen on the waker's CPU. `None`: the interrupt or the task that is at work
    /// there.
    Waking(Named<'a>, Option<Waker<Named<'a>>>),
    /// `sched_wakeup`: where the task becomes runnable, perhaps not the waker's CPU.
    Wakeup(Named<'a>),
    Fork {
        /// `None`: the task that runs there.
        parent: Option<Named<'a>>,
        child: Named<'a>,
    },
    Exit(Named<'a>),
    /// A task is in this control group from now on; its path, empty for the root.
    Attach(Named<'a>, &'a str),
    /// The work of an interrupt begins: a timer's or a device's.
    Enter(Waker),
    Leave,
    /// Events of this CPU are missing here.
    Lost,
    /// An event that says nothing here.
    Other,
}
