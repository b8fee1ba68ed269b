// SPDX-License-Identifier: GPL-2.0-only
//! What is known of one task while events are handled, and its tape in the end.

use model::TapeOp;

use super::messages::Delivery;
use super::timers::{self, TimerSleep};
use crate::event::{Reason, Waker};

/// What is known of a task while events are handled.
#[derive(Default)]
pub struct TaskWriter {
    pub keeps: bool,
    pub state: State,
    pub ops: Vec<TapeOp>,
    /// Computed since the last operation.
    pub ran_ns: u64,
    /// A wake-up while it ran: either it was not asleep, or the waker was faster than its switch.
    pub early: Option<EarlyWake>,
    /// The places in `ops` of posts that may turn out to have woken nobody.
    pub doubtful: Vec<usize>,
    pub timer_sleeps: Vec<TimerSleep>,
    /// What ended its last sleep, until it has taken what was sent.
    pub woken: Option<Delivery>,
}

#[derive(Clone, Copy, Default)]
pub enum State {
    /// No event has named it.
    #[default]
    Unseen,
    Running {
        since_ns: u64,
        cpu: u32,
    },
    Runnable,
    Asleep {
        since_ns: u64,
        reason: Reason,
    },
    Ended,
}

#[derive(Clone, Copy)]
pub struct EarlyWake {
    pub waker: Waker,
    pub at_ns: u64,
    /// The place of the doubtful post on the waker's tape.
    pub post: Option<usize>,
}

impl TaskWriter {
    /// Sleeps of equal lengths are relative. The first one may have begun before the recording.
    pub fn relative_timers(&mut self) {
        let sleeps = self.timer_sleeps.get(1..).unwrap_or_default();
        if !self.keeps || !timers::are_relative(sleeps) {
            return;
        }
        for sleep in sleeps {
            self.ops[sleep.place] = TapeOp::Sleep(sleep.length_ns());
        }
    }

    /// The operations without posts for nobody; what was computed around these is one.
    pub fn tape(self, keeps: &[bool]) -> Vec<TapeOp> {
        if !self.keeps {
            return Vec::new();
        }
        let mut ops: Vec<TapeOp> = Vec::with_capacity(self.ops.len());
        let mut doubtful = self.doubtful.iter().copied().peekable();
        for (place, op) in self.ops.into_iter().enumerate() {
            let is_doubtful = doubtful.next_if_eq(&place).is_some();
            let is_kept = |woken: u32| keeps.get(woken as usize).copied().unwrap_or(false);
            let is_heard = |woken: u32| !is_doubtful && is_kept(woken);
            match (ops.last_mut(), op) {
                (_, TapeOp::Post(woken, _) | TapeOp::Fork(woken)) if !is_heard(woken) => {}
                (Some(TapeOp::Run(sum)), TapeOp::Run(ns)) => *sum += ns,
                _ => ops.push(op),
            }
        }
        ops
    }
}
