// SPDX-License-Identifier: GPL-2.0-only
//! Beats.

use super::{Posts, Stream};

/// One thing that a recorded task did. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    /// `r`: used so much CPU time.
    Run(u64),
    /// `w`: waited until the task of this tape had woken it once more. With a stream: until that
    /// task had sent something there. If another task's message comes first, the task does first
    /// what it did for that one.
    Wait(u32, Stream),
    /// `m`: the same, but asleep in a pipe, a socket or for a child's end. The task that wakes it
    /// there tells the scheduler that it may soon sleep itself (`WF_SYNC`), other than with a
    /// futex.
    Receive(u32, Stream),
    /// `t`: received what the task of this tape had sent, and did not sleep, because it was there
    /// already. In another order it would have slept as in [`Beat::Receive`].
    Take(u32, Stream),
    /// `p`: woke the task of this tape, or sent it something.
    Post(u32, Stream),
    /// `f`: made the task of this tape, whose first beat waits for that.
    Fork(u32),
    /// `u`: slept until so long after the start, because it had set a timer.
    Until(u64),
    /// `s`: slept for so long, because a device had to answer.
    Sleep(u64),
    /// `n`: had this nice value from then on.
    Nice(i32),
    /// `y`: let others run (`sched_yield`).
    Yield,
}

impl Beat {
    /// The tape that it names.
    pub fn other(self) -> Option<u32> {
        match self {
            Beat::Post(other, _) | Beat::Take(other, _) | Beat::Fork(other) => Some(other),
            _ => self.slept_for(),
        }
    }

    /// What this beat of the tape `own` waits for, if that is not done yet.
    pub fn waits_for(self, own: u32) -> Option<Posts> {
        match self {
            Beat::Wait(from, stream) | Beat::Receive(from, stream) | Beat::Take(from, stream) => {
                Some(Posts::new(from, own, stream))
            }
            _ => None,
        }
    }

    /// What this beat of the tape `own` lets go on.
    pub fn posts_to(self, own: u32) -> Option<Posts> {
        match self {
            Beat::Post(to, stream) => Some(Posts::new(own, to, stream)),
            Beat::Fork(to) => Some(Posts::new(own, to, Stream::NONE)),
            _ => None,
        }
    }

    /// The tape whose task ended a sleep.
    pub fn slept_for(self) -> Option<u32> {
        match self {
            Beat::Wait(other, _) | Beat::Receive(other, _) => Some(other),
            _ => None,
        }
    }

    /// Whether the task slept.
    pub fn is_sleep(self) -> bool {
        match self {
            Beat::Wait(..) | Beat::Receive(..) | Beat::Until(_) | Beat::Sleep(_) => true,
            Beat::Run(_) | Beat::Take(..) | Beat::Yield => false,
            Beat::Post(..) | Beat::Fork(_) | Beat::Nice(_) => false,
        }
    }

    /// The same beat with another name for the other tape.
    pub fn with_other(self, name: impl FnOnce(u32) -> u32) -> Beat {
        match self {
            Beat::Wait(other, stream) => Beat::Wait(name(other), stream),
            Beat::Receive(other, stream) => Beat::Receive(name(other), stream),
            Beat::Take(other, stream) => Beat::Take(name(other), stream),
            Beat::Post(other, stream) => Beat::Post(name(other), stream),
            Beat::Fork(other) => Beat::Fork(name(other)),
            beat => beat,
        }
    }

    /// The same beat with another stream, if it has any.
    pub fn with_stream(self, stream: Stream) -> Beat {
        match self {
            Beat::Wait(other, _) => Beat::Wait(other, stream),
            Beat::Receive(other, _) => Beat::Receive(other, stream),
            Beat::Take(other, _) => Beat::Take(other, stream),
            Beat::Post(other, _) => Beat::Post(other, stream),
            beat => beat,
        }
    }
}
