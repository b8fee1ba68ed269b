// SPDX-License-Identifier: GPL-2.0-only
//! What sleeps for different reasons become.

use model::TapeOp;
use model::tape::Stream;

use crate::event::{SleepsFor, TaskIndex, Waker};

/// Whether the task would have gone on for anything that came.
pub fn polls(reason: SleepsFor) -> bool {
    matches!(reason, SleepsFor::Any | SleepsFor::Signal)
}

/// A wait for a task, by the way in which its wake-up tells the scheduler that the waker may soon
/// sleep.
pub fn wait(by: TaskIndex, reason: SleepsFor) -> TapeOp {
    match reason {
        SleepsFor::Pipe
        | SleepsFor::Room
        | SleepsFor::Network
        | SleepsFor::Child
        | SleepsFor::Any => TapeOp::Receive(by.0, Stream::NONE),
        _ => TapeOp::Wait(by.0, Stream::NONE),
    }
}

/// Whether a sleep that no other task ended was a timer's. Where the source does not tell, sleeps
/// for data of a device are uninterruptible, and others have a time-out or an alarm.
pub fn is_timer(waker: Waker, reason: SleepsFor) -> bool {
    match (waker, reason) {
        (Waker::Timer, _) => true,
        (_, SleepsFor::Disk | SleepsFor::Network | SleepsFor::Room | SleepsFor::Other) => false,
        (Waker::Interrupt | Waker::Task(_), _) => false,
        (Waker::Unknown, _) => true,
    }
}
