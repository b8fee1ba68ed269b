// SPDX-License-Identifier: GPL-2.0-only
//! What a recorded task did, one operation after the other.

use std::fmt;

/// One operation of a tape. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TapeOp {
    /// `r`: use so much CPU time.
    Run(u64),
    /// `s`: sleep for so long, because a device has to answer.
    Sleep(u64),
    /// `u`: sleep until so long after the start, because the task has set a timer.
    Until(u64),
    /// `w`: wait until the task of this tape has posted once more; with a stream, until any task
    /// has sent something there.
    Wait(u32, Stream),
    /// `m`: the same, but asleep in a pipe, a socket or for a child's end. The task that wakes it
    /// there tells the scheduler that it may soon sleep itself (`WF_SYNC`), other than with a
    /// futex.
    Receive(u32, Stream),
    /// `b`: go on if the stream has room, which its reader, the task of this tape, has made once
    /// more. The stream's number is among those of the task that waits.
    Room(u32, Stream),
    /// `l`: look for what the task of this tape does, and yield (`sched_yield`), computing for so
    /// long between two yields, until that task has posted once more.
    Spin(u32, u32),
    /// `p`: wake the task of this tape, or send it a message.
    Post(u32, Stream),
    /// `f`: make the task of this tape, whose first operation waits for that.
    Fork(u32),
    /// `n`: have this nice value from now on.
    Nice(i32),
    /// `y`: let others run (`sched_yield`).
    Yield,
    /// `a`, at the end: begin the tape again, until the trial is over, but for what the task does
    /// once: it makes no tasks, and waits for none that does not begin again. While it is played,
    /// the operation to go on with; see [`crate::play::tapes`].
    Again(u32),
}

/// A pipe or socket that one task reads, by its number among those of this task; written behind
/// the tape's number, as in `p5.1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stream(pub u32);

/// The key of a semaphore: a waker and a sleeper, or a stream and its reader. Only one task waits
/// for it, so that it goes on in the same order under every scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SemaphoreKey {
    /// The tape that posts; `None`: any.
    pub from: Option<u32>,
    /// The tape that waits.
    pub to: u32,
    pub stream: Stream,
}

impl Stream {
    /// The task waits for another task, not for a message; or several tasks read the stream, and
    /// each waits for the sender of the recording, because one could take what another one needs.
    pub const NONE: Stream = Stream(0);
}

impl fmt::Display for Stream {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Stream::NONE { Ok(()) } else { write!(out, ".{}", self.0) }
    }
}

impl SemaphoreKey {
    fn new(from: u32, to: u32, stream: Stream) -> SemaphoreKey {
        SemaphoreKey { from: (stream == Stream::NONE).then_some(from), to, stream }
    }
}

impl TapeOp {
    /// The tape that it names.
    pub fn other(self) -> Option<u32> {
        match self {
            TapeOp::Post(other, _) | TapeOp::Fork(other) => Some(other),
            _ => self.waker(),
        }
    }

    /// The tape whose task ended this wait in the recording.
    pub fn waker(self) -> Option<u32> {
        match self {
            TapeOp::Wait(other, _)
            | TapeOp::Receive(other, _)
            | TapeOp::Room(other, _)
            | TapeOp::Spin(other, _) => Some(other),
            _ => None,
        }
    }

    /// What this operation of the tape `own` waits for.
    pub fn waits_for(self, own: u32) -> Option<SemaphoreKey> {
        match self {
            TapeOp::Wait(from, stream)
            | TapeOp::Receive(from, stream)
            | TapeOp::Room(from, stream) => Some(SemaphoreKey::new(from, own, stream)),
            TapeOp::Spin(from, _) => Some(SemaphoreKey::new(from, own, Stream::NONE)),
            _ => None,
        }
    }

    /// What this operation of the tape `own` lets go on.
    pub fn posts_to(self, own: u32) -> Option<SemaphoreKey> {
        match self {
            TapeOp::Post(to, stream) => Some(SemaphoreKey::new(own, to, stream)),
            TapeOp::Fork(to) => Some(SemaphoreKey::new(own, to, Stream::NONE)),
            _ => None,
        }
    }

    /// How many bytes it has in a file, with the space before it and without its stream.
    pub fn text_bytes(self) -> usize {
        let number = match self {
            TapeOp::Run(ns) | TapeOp::Sleep(ns) | TapeOp::Until(ns) => ns,
            TapeOp::Nice(nice) => nice.unsigned_abs().into(),
            TapeOp::Yield | TapeOp::Again(_) => return 2,
            _ => self.other().unwrap_or_default().into(),
        };
        3 + number.checked_ilog10().unwrap_or_default() as usize
    }

    /// Whether it sleeps, unless what it waits for is there already.
    pub fn may_sleep(self) -> bool {
        let is_timer = matches!(self, TapeOp::Until(_) | TapeOp::Sleep(_));
        is_timer || matches!(self, TapeOp::Wait(..) | TapeOp::Receive(..))
    }

    /// The same operation with another name for the other tape.
    pub fn with_other(self, name: impl FnOnce(u32) -> u32) -> TapeOp {
        match self {
            TapeOp::Wait(other, stream) => TapeOp::Wait(name(other), stream),
            TapeOp::Receive(other, stream) => TapeOp::Receive(name(other), stream),
            TapeOp::Room(other, stream) => TapeOp::Room(name(other), stream),
            TapeOp::Spin(other, look_ns) => TapeOp::Spin(name(other), look_ns),
            TapeOp::Post(other, stream) => TapeOp::Post(name(other), stream),
            TapeOp::Fork(other) => TapeOp::Fork(name(other)),
            op => op,
        }
    }
}
