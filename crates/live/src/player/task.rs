// SPDX-License-Identifier: GPL-2.0-only
//! A task that plays a group's operations, as a thread or as a forked process.
//!
//! Nothing that a task does allocates, locks or prints: a process forked from a process with
//! threads may only do what is async-signal-safe.

use std::cell::{Cell, OnceCell};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::SeqCst;

use model::Seed;
use model::play::limits::MAX_TIMERS;
use model::play::{FrameClock, Group, TimerState};

use crate::player::attributes::Errno;
use crate::player::clock::sleep_until;
use crate::player::futex::Stopped;
use crate::player::mapping::Memory;
use crate::player::run_state::{Fault, GroupTally, RunState, TaskSlot};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Played,
    /// It has reached `exit`; its current repetition is not complete.
    Left,
    /// The trial is over, or the task has reported a fault.
    Stopped,
}

/// Whether the task continues; the error says why it ends.
pub type Flow = Result<(), End>;

impl From<Stopped> for End {
    fn from(_: Stopped) -> End {
        End::Stopped
    }
}

const NS_PER_MS: u64 = 1_000_000;

/// Bytes that a task reads or writes at once.
pub const BUFFER: usize = model::play::CALL_BYTES as usize;

pub struct Task<'a> {
    pub run: &'a RunState,
    pub group: usize,
    pub number: u32,
    /// The place of its results; a forked process has none.
    pub slot: Option<&'a TaskSlot>,
    thread: OnceCell<u32>,
    /// Its place among the waiters of the condition that it waits for next.
    pub ticket: Cell<u32>,
    pub timers: [TimerState; MAX_TIMERS],
    pub frames: FrameClock,
    /// The source of the times that it draws.
    pub chance: Seed,
    pub steps: u64,
    pub file: Option<OwnedFd>,
    pub memory: Option<Memory>,
    /// `/dev/null`, if it has opened it.
    pub null: Option<OwnedFd>,
    pub buffer: MaybeUninit<[u8; BUFFER]>,
}

impl<'a> Task<'a> {
    /// A task that has not begun. `start_ns` is where its timers' grids begin.
    pub fn new(run: &'a RunState, group: usize, number: u32, start_ns: u64) -> Task<'a> {
        Task {
            run,
            group,
            number,
            slot: None,
            thread: OnceCell::new(),
            ticket: Cell::default(),
            timers: [TimerState::new(start_ns); MAX_TIMERS],
            frames: FrameClock::default(),
            chance: run.script.groups[group].chance(number),
            steps: 0,
            file: None,
            memory: None,
            null: None,
            buffer: MaybeUninit::uninit(),
        }
    }

    pub fn plan(&self) -> &'a Group {
        &self.run.script.groups[self.group]
    }

    pub fn tally(&self) -> &'a GroupTally {
        &self.run.groups[self.group]
    }

    /// The thread's number in the kernel. Few tasks need it, so it is asked for at its first use.
    pub fn thread(&self) -> u32 {
        // SAFETY: no arguments.
        *self.thread.get_or_init(|| unsafe { libc::gettid() as u32 })
    }

    /// Ends the task when the trial is over.
    pub fn over(&self) -> Flow {
        if self.run.stopped() { Err(End::Stopped) } else { Ok(()) }
    }

    /// Reports a fault, which ends the trial.
    pub fn fail(&self, fault: Fault, errno: Errno) -> End {
        self.run.report(fault, self.group, errno);
        End::Stopped
    }

    pub fn count_round(&self) {
        if let Some(slot) = self.slot.filter(|_| self.run.counting()) {
            slot.rounds.fetch_add(1, SeqCst);
        }
    }

    /// Uses CPU time, and checks every 50 µs whether the trial is over.
    pub fn use_cpu(&self, ns: u64) -> Flow {
        let busy = self.run.busy;
        let per_ms = busy.rounds_per_ms;
        let chunk = (per_ms / 20).max(1);
        let mut left = ns / NS_PER_MS * per_ms + ns % NS_PER_MS * per_ms / NS_PER_MS;
        while left > chunk {
            busy.spin(chunk);
            left -= chunk;
            self.over()?;
        }
        busy.spin(left);
        Ok(())
    }

    /// Sleeps until `CLOCK_MONOTONIC` shows `until_ns`; a signal ends it early only when the trial
    /// is over.
    pub fn sleep_until(&self, until_ns: u64) -> Flow {
        while !sleep_until(until_ns) {
            self.over()?;
        }
        self.over()
    }

    /// The trial ended at `end_ns`, and the task began at `start_ns`: counts the deadlines of its
    /// timers, and its unfinished frame.
    pub fn stop_clocks(&mut self, start_ns: u64, end_ns: u64) {
        let mut tally = self.tally();
        for (timer, &plan) in self.timers.iter_mut().zip(&self.run.script.groups[self.group].timers)
        {
            timer.stop(plan, end_ns, &mut tally);
        }
        if self.plan().has_frames {
            self.frames.stop(start_ns, end_ns, &mut tally);
        }
    }

    /// The task has ended by itself at `now_ns`: ends its timers' jobs. `end_ns` is the end of the
    /// trial, if known.
    pub fn finish_timers(&mut self, now_ns: u64, end_ns: Option<u64>) {
        let mut tally = self.tally();
        for (timer, &plan) in self.timers.iter_mut().zip(&self.run.script.groups[self.group].timers)
        {
            timer.finish(plan, now_ns, end_ns, self.steps, &mut tally);
        }
    }
}
