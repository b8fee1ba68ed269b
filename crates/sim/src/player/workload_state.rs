// SPDX-License-Identifier: GPL-2.0-only
//! The state of the workload: the script, and how far it has been played.
//!
//! It knows neither CPUs nor the scheduler. Only the player changes it.

use model::play::control_groups::GroupNode;
use model::play::{FrameClock, Group, Script, Setting, TimerState};
use model::{Seed, TaskSession, Trial};

use super::objects::Objects;
use super::start_up::Starter;
use super::tapes::TapeProgress;
use crate::core::memory::reserve_room;
use crate::core::task::{NO_TASK, State, TaskId};
use crate::measure::recorder::GroupTally;

/// What the main task does next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MainWork {
    /// Start the task that makes all others, or wake the process of a session, which does.
    #[default]
    Making,
    /// Wait for that one.
    Made,
    /// Let it go.
    Joining,
    /// Go on to the next session.
    Joined,
    Starting,
    Waking,
    Ending,
}

pub struct WorkloadState {
    pub(super) script: Script,
    pub(super) progress: Vec<Progress>,
    pub(super) objects: Objects,
    /// The source of the times of the first interrupts.
    pub(super) interrupt_phases: Seed,
    /// The task that starts and ends the trial.
    pub(super) main: TaskId,
    pub(super) main_work: MainWork,
    /// The processes of the sessions, by number.
    pub(super) leaders: Vec<TaskId>,
    /// The worker of each CPU, see `kernel_threads`; none without control groups.
    pub(super) workers: Vec<TaskId>,
    /// The tasks that it has yet to wake, the next one last.
    pub(super) at_gate: Vec<TaskId>,
    /// Whether the time is over before it has woken all.
    pub(super) is_late: bool,
    pub(super) starter: Starter,
    /// The common start, ns of virtual time; 0 before.
    pub(crate) start_ns: u64,
    pub(super) next_pid: i32,
    pub(super) live_finite: u32,
    pub(super) live_tasks: u32,
    pub(super) over: bool,
    pub(super) time_limit_ns: u64,
    pub(super) timed_out: bool,
}

/// The first process number that the workload's tasks get.
const FIRST_PID: i32 = 1000;

impl WorkloadState {
    /// The trial's workload, of which nothing has been played.
    pub(crate) fn new(trial: &Trial) -> Result<WorkloadState, String> {
        if trial.workload.program.is_some() {
            return Err("a real program cannot run in the simulator; use the vm backend".into());
        }
        let script = Script::new(&trial.workload, Setting::for_trial(trial))
            .map_err(|refusal| refusal.to_string())?;
        Ok(WorkloadState {
            objects: Objects::new(&script),
            interrupt_phases: trial.seed.derive("interrupts"),
            progress: Vec::new(),
            main: TaskId(NO_TASK),
            main_work: MainWork::default(),
            leaders: Vec::new(),
            workers: Vec::new(),
            at_gate: Vec::new(),
            is_late: false,
            starter: Starter::new(&script, None),
            start_ns: 0,
            next_pid: FIRST_PID,
            live_finite: 0,
            live_tasks: 0,
            over: false,
            time_limit_ns: trial.timeout_ms.saturating_mul(1_000_000),
            timed_out: false,
            script,
        })
    }

    pub(crate) fn control_groups(&self) -> &[GroupNode] {
        &self.script.control_groups
    }

    pub(crate) fn sessions(&self) -> &[TaskSession] {
        &self.script.sessions
    }

    /// The task whose process the tasks of a session are threads of.
    pub(super) fn leader(&self, session: Option<usize>) -> TaskId {
        session.map_or(self.main, |number| self.leaders[number])
    }

    /// The task that starts and joins the starter: the main task, or the process of a session.
    #[inline]
    pub(super) fn maker(&self) -> TaskId {
        self.leader(self.starter.session)
    }

    pub(crate) fn groups(&self) -> &[Group] {
        &self.script.groups
    }

    pub(crate) fn reserve_tasks(&mut self, tasks: usize) {
        reserve_room(&mut self.progress, tasks);
    }

    pub(crate) fn add_task(&mut self) {
        self.progress.push(Progress::default());
    }

    #[inline]
    pub(crate) fn progress(&self, task: TaskId) -> &Progress {
        &self.progress[task.0 as usize]
    }

    /// A task that was about to sleep is woken before (`ttwu_runnable`); false: it was not.
    pub(crate) fn stays_awake(&mut self, task: TaskId) -> bool {
        self.progress[task.0 as usize].falls_asleep.take().is_some()
    }

    /// Whether the trial has come to its end.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    pub(crate) fn starting_tasks(&self) -> usize {
        self.script.starting_tasks()
    }

    /// Whether the common start has been.
    pub(crate) fn has_begun(&self) -> bool {
        matches!(self.main_work, MainWork::Waking | MainWork::Ending)
    }

    /// The end of the trial, if it has a duration, ns of virtual time.
    pub(crate) fn end_ns(&self) -> Option<u64> {
        self.script.duration_ns.map(|duration_ns| self.start_ns.saturating_add(duration_ns))
    }

    pub(crate) fn finite_tasks_ended(&self) -> bool {
        self.live_finite == 0
    }

    /// Why the trial did not end in time; `None` if it did.
    pub(crate) fn timeout(&self) -> Option<String> {
        if self.over && !self.timed_out {
            return None;
        }
        let (left, limit) = (self.live_tasks, self.time_limit_ns / 1_000_000);
        Some(format!("{left} tasks had not ended after {limit} ms"))
    }

    /// Counts what the end of the trial cuts off: releases of timers, spans over their limit, and
    /// frames.
    pub(crate) fn close_task(&mut self, task: TaskId, end_ns: u64, tally: &mut GroupTally) {
        let progress = &mut self.progress[task.0 as usize];
        // A task on its way out has counted its jobs when it ended.
        if progress.ending != Ending::No {
            return;
        }
        let group = &self.script.groups[progress.group as usize];
        for (timer, &plan) in progress.timers.iter_mut().zip(&group.timers) {
            timer.stop(plan, end_ns, tally);
        }
        if group.has_frames {
            progress.frames.stop(progress.start_ns, end_ns, tally);
        }
        for &(start_ns, limit_ns) in &progress.spans {
            let age_ns = end_ns.saturating_sub(start_ns);
            if age_ns > limit_ns {
                tally.span(age_ns, limit_ns);
            }
        }
    }
}

/// Where a task is in its steps.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    pub group: u32,
    pub number: u32,
    pub at: usize,
    /// How far it is inside the operation; 0 at its begin.
    pub phase: u8,
    /// It is in the system call with which it falls asleep, and gets this state at its end.
    pub falls_asleep: Option<State>,
    pub rounds: u64,
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
    /// It is about to finish its move to its control group.
    Joining,
    Ready,
    /// It has not been woken for the common start.
    Closed,
    /// It sleeps until its own start.
    Delayed,
    /// It is a kernel thread, which sleeps when its work is done.
    Worker,
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
