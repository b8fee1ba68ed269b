// SPDX-License-Identifier: GPL-2.0-only
//! What a sleep becomes on a tape.

use model::Beat;
use model::tape::Stream;

use crate::event::{Reason, TaskIndex, Waker};

/// Whether the task would have gone on for anything that came.
pub fn polls(reason: Reason) -> bool {
    matches!(reason, Reason::Message | Reason::Signal)
}

/// A wait for a task, by the way in which its wake-up tells the scheduler that the waker may soon
/// sleep.
pub fn wait(by: TaskIndex, reason: Reason) -> Beat {
    match reason {
        Reason::Pipe | Reason::Network | Reason::Child | Reason::Message => {
            Beat::Receive(by.0, Stream::NONE)
        }
        _ => Beat::Wait(by.0, Stream::NONE),
    }
}

/// Whether a sleep that no other task ended was a timer's. Where the source does not tell, sleeps
/// for data of a device are uninterruptible, and others have a time-out or an alarm.
pub fn is_timer(waker: Waker, reason: Reason) -> bool {
    match (waker, reason) {
        (Waker::Timer, _) => true,
        (_, Reason::Disk | Reason::Network | Reason::Other) => false,
        (Waker::Interrupt | Waker::Task(_), _) => false,
        (Waker::Unknown, _) => true,
    }
}
