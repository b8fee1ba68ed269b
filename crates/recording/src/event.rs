// SPDX-License-Identifier: GPL-2.0-only
//! The tasks of a recording and what happened to them, in order of time.

use model::Policy;

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
    pub events: Vec<Event>,
    /// Events that the tracer could not keep.
    pub lost_events: u64,
    /// What the source does not tell, a sentence each, for people.
    pub untold: Vec<String>,
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
    },
    /// A task has taken bytes out.
    Take { task: TaskIndex, stream: u32, bytes: u32 },
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
    Sleeps(Reason),
    Ended,
}

/// What a task sleeps for, from the system call in which it sleeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The source does not tell.
    #[default]
    Unknown,
    /// A time that it has set itself: `nanosleep`, `timerfd`, a timeout of `poll`.
    Timer,
    /// A futex: a mutex, a condition, a semaphore of user space.
    Futex,
    /// Data or room in a pipe or a local socket.
    Pipe,
    Network,
    /// A disk or another block device; uninterruptible sleep.
    Disk,
    Child,
    /// Any of several things (`poll`): a message came.
    Message,
    /// Any of several things: an event (`eventfd`) or a signal came.
    Signal,
    Other,
}

/// Who makes a task runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waker {
    /// A task that ran on that CPU did it by its own work.
    Task(TaskIndex),
    Timer,
    /// An interrupt of a device, or the work that follows from one.
    Interrupt,
    /// The source does not tell.
    Unknown,
}
