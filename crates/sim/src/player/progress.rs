// SPDX-License-Identifier: GPL-2.0-only
//! A task's position in its operations.

use model::Seed;
use model::play::{FrameClock, TimerState};

use super::tapes::TapeProgress;
use crate::core::task::{State, TaskId};

/// Where a task is in its steps.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    pub group: u32,
    pub number: u32,
    pub at: usize,
    /// How far it is inside the operation; 0 at its begin.
    pub phase: u8,
    pub rounds: u64,
    /// Steps played, for the timers.
    pub steps: u64,
    /// Remaining rounds of the loops that it is in, the innermost last.
    pub loops: Vec<u64>,
    /// Begin and limit of the spans that it is in, nanoseconds, the innermost last.
    pub spans: Vec<(u64, u64)>,
    pub timers: Vec<TimerState>,
    pub frames: FrameClock,
    /// The source of the times that it draws.
    pub chance: Seed,
    /// What is left of the operation, bytes or tasks.
    pub left: u64,
    /// The member that a message goes to.
    pub member: u32,
    /// The pipe that it is about to use, while other things have their turn.
    pub under: Option<UnderMutex>,
    /// Its start, ns of virtual time; until the common start, how long after that it will be.
    pub start_ns: u64,
    pub parent: Option<TaskId>,
    pub children: u32,
    /// Its ended children that it has not waited for.
    pub zombies: u32,
    /// It has played everything: how far it is with its end.
    pub ending: Ending,
    /// Whether it may play yet.
    pub gate: Gate,
    /// Where it is in its tape, if it plays one.
    pub tape: TapeProgress,
    /// How far it has touched its file and the buffer for reads, bytes.
    pub touched: (u64, u64),
    /// It was made by `fork`, and has still to give itself its template's attributes.
    pub unprepared: bool,
}

impl Progress {
    /// The common start is at this time.
    pub fn start_at(&mut self, start_ns: u64) {
        self.start_ns = self.start_ns.saturating_add(start_ns);
        self.timers.fill(TimerState::new(self.start_ns));
    }
}

/// A pipe's mutex that a task has from this time on, ns.
#[derive(Clone, Copy, Debug)]
pub struct UnderMutex {
    pub pipe: usize,
    pub from_ns: u64,
}

/// What a task does before its first step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    /// It has just been made.
    Made,
    Ready,
    /// It has not been woken for the common start.
    Closed,
    /// It sleeps until its own start.
    Delayed,
    #[default]
    Passed,
}

/// How far a task is with its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    #[default]
    No,
    /// It gives its memory and files back.
    TidyUp,
    /// It leaves its session's group.
    LeaveGroup,
    TellParent,
    /// It leaves its CPU for good.
    Leave,
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Next,
    /// Its CPU work is set, and the step is done when that is done.
    WorkThenNext,
    /// It is called again after other things have had their turn.
    Again,
    /// The task sleeps; the step is called again when it runs next.
    Sleep(State),
    /// The task gives its CPU away; the step is done.
    Yield,
    /// The task gives its CPU away; the step is called again when it runs next.
    YieldThenAgain,
    End,
}
