// SPDX-License-Identifier: GPL-2.0-only
//! What is known of one task while events are handled, and its tape in the end.

use model::Beat;

use super::letters::Message;
use crate::event::{Reason, Waker};
use crate::naps::{self, Nap};

/// What is known of a task while events are handled.
#[derive(Default)]
pub struct Part {
    pub keeps: bool,
    pub state: State,
    pub beats: Vec<Beat>,
    /// Computed since the last beat.
    pub ran_ns: u64,
    /// A wake-up while it ran: either it was not asleep, or the waker was faster than its switch.
    pub early: Option<Early>,
    /// The places in `beats` of posts that may turn out to have woken nobody.
    pub doubtful: Vec<usize>,
    /// Its sleeps that timers ended.
    pub naps: Vec<Nap>,
    /// What ended its last sleep, until it has taken what was sent.
    pub woken: Option<Message>,
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
pub struct Early {
    pub waker: Waker,
    pub at_ns: u64,
    /// The place of the doubtful post in the waker's beats.
    pub post: Option<usize>,
}

impl Part {
    /// Sleeps of equal lengths are relative. The first one may have begun before the recording.
    pub fn relative_naps(&mut self) {
        let naps = self.naps.get(1..).unwrap_or_default();
        if !self.keeps || !naps::are_relative(naps) {
            return;
        }
        for nap in naps {
            self.beats[nap.place] = Beat::Sleep(nap.length_ns());
        }
    }

    /// The beats without posts for nobody; what was computed around these is one.
    pub fn certain(self, keeps: &[bool]) -> Vec<Beat> {
        if !self.keeps {
            return Vec::new();
        }
        let mut beats: Vec<Beat> = Vec::with_capacity(self.beats.len());
        let mut doubtful = self.doubtful.iter().copied().peekable();
        for (place, beat) in self.beats.into_iter().enumerate() {
            let is_doubtful = doubtful.next_if_eq(&place).is_some();
            let is_kept = |woken: u32| keeps.get(woken as usize).copied().unwrap_or(false);
            let is_heard = |woken: u32| !is_doubtful && is_kept(woken);
            match (beats.last_mut(), beat) {
                (_, Beat::Post(woken, _) | Beat::Fork(woken)) if !is_heard(woken) => {}
                (Some(Beat::Run(sum)), Beat::Run(ns)) => *sum += ns,
                _ => beats.push(beat),
            }
        }
        beats
    }
}
