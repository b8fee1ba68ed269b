// SPDX-License-Identifier: GPL-2.0-only
//! What a task waits for: another task's posts, or messages in a stream.

use std::fmt;

/// A pipe or socket, by its number among those that the task reads that a message is for; written
/// behind the tape's number, as in `p5.1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stream(pub u32);

impl Stream {
    /// None that is known: the task waits for another task, not for a message.
    pub const NONE: Stream = Stream(0);
}

/// What is counted: posts of a task for another one, or into one of its streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Posts {
    /// The tape whose posts count.
    pub from: u32,
    /// The tape that waits.
    pub to: u32,
    /// Its stream.
    pub stream: Stream,
}

impl fmt::Display for Stream {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Stream::NONE { Ok(()) } else { write!(out, ".{}", self.0) }
    }
}

impl Posts {
    pub(super) fn new(from: u32, to: u32, stream: Stream) -> Posts {
        Posts { from, to, stream }
    }
}
