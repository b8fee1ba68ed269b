// SPDX-License-Identifier: GPL-2.0-only
//! An event of a scheduler as sources tell it: with names and numbers of threads.

use crate::event::Leaves;

/// What a trace prints for a name that it does not know.
pub const UNNAMED: &str = "<...>";

/// When and where an event was seen, and what ran there.
#[derive(Clone, Debug, PartialEq)]
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
    /// `sched_waking`: seen on the waker's CPU.
    Waking(Named<'a>, By<'a>),
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
    /// An interrupt's work begins.
    Enter(Context),
    Leave,
    /// Events of this CPU are missing here.
    Lost,
    /// An event that says nothing here.
    Other,
}

/// The waker of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By<'a> {
    /// The interrupt or the task that is at work on the CPU.
    Current,
    Task(Named<'a>),
    Interrupt(Context),
    Unknown,
}

/// Whose work an interrupt does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    Timer,
    Device,
}
