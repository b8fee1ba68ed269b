// SPDX-License-Identifier: GPL-2.0-only
//! A task's position in its operations, which advances whenever its CPU has done the work of the
//! one before.

use play::{Op, TimerState};

use super::main_task::Gate;
use crate::core::task::State;
use crate::core::{Core, TaskId};

/// Where a task is in its steps.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Its group's number.
    pub group: u32,
    /// Its number in the group.
    pub number: u32,
    /// The operation that it is at.
    pub at: usize,
    /// How far it is inside the operation; 0 at its begin.
    pub phase: u8,
    /// Rounds played.
    pub rounds: u64,
    /// Steps played, for the timers.
    pub steps: u64,
    /// Remaining rounds of the loops that it is in, the innermost last.
    pub loops: Vec<u64>,
    /// Begin and limit of the spans that it is in, nanoseconds, the innermost last.
    pub spans: Vec<(u64, u64)>,
    /// Its timers.
    pub timers: Vec<TimerState>,
    /// What is left of the operation, bytes or tasks.
    pub left: u64,
    /// The member that a message goes to.
    pub member: u32,
    /// Its start after the common start, nanoseconds.
    pub start_ns: u64,
    /// The task that forked it.
    pub parent: Option<TaskId>,
    /// Its living children.
    pub children: u32,
    /// Its ended children that it has not waited for.
    pub zombies: u32,
    /// It has played everything: how far it is with its end.
    pub ending: Ending,
    /// Whether it may play yet.
    pub gate: Gate,
    /// It was made by `fork`, and has still to give itself its template's attributes.
    pub unprepared: bool,
}

/// System calls of a task between the common start and its first step: two clocks are read.
const CALLS_AT_START: u64 = 2;

/// How far a task is with its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// It has not begun.
    #[default]
    No,
    /// It gives its memory and files back.
    TidyUp,
    /// It leaves its session's group.
    LeaveGroup,
    /// It tells its parent.
    TellParent,
    /// It leaves its CPU for good.
    Leave,
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It is done.
    Next,
    /// It goes on when its CPU work is done: work is set.
    Work,
    /// The same, and the step is done then.
    WorkThenNext,
    /// It is called again after other things have had their turn.
    Again,
    /// The task sleeps; the step is called again when it runs next.
    Sleep(State),
    /// The task gives its CPU away; the step is done.
    Yield,
    /// The task has ended.
    End,
}

impl Core {
    /// The current task's work is done: what next?
    pub(crate) fn play(&mut self, cpu: u32) {
        self.pause(cpu);
        let task = self.cpus[cpu as usize].curr;
        if task == self.main {
            return self.run_main(cpu);
        }
        let this = self.task_mut(task);
        (this.work_left, this.until) = (0, 0);
        while !self.interrupted(cpu) {
            match self.step(cpu, task) {
                Flow::Next => self.advance(task),
                Flow::Again => break,
                Flow::Work => break,
                Flow::WorkThenNext => {
                    self.advance(task);
                    break;
                }
                Flow::Sleep(state) => return self.schedule(cpu, Some(state)),
                Flow::Yield => {
                    self.advance(task);
                    return self.yield_task(cpu);
                }
                Flow::End if self.progress[task.0 as usize].ending == Ending::Leave => {
                    return self.end_task(cpu);
                }
                Flow::End => {
                    self.go_on_ending(cpu, task);
                    break;
                }
            }
            // Time passes for what the step cost before the next one begins.
            if self.clock(cpu) > self.now {
                break;
            }
        }
        self.resume(cpu);
    }

    fn interrupted(&self, cpu: u32) -> bool {
        let here = &self.cpus[cpu as usize];
        here.need_resched || !here.kicks.is_empty() || !self.deferred.is_empty()
    }

    fn step(&mut self, cpu: u32, task: TaskId) -> Flow {
        if self.progress[task.0 as usize].gate != Gate::Passed {
            return self.pass_gate(cpu, task);
        }
        if self.progress[task.0 as usize].unprepared {
            return self.prepare(task);
        }
        if self.progress[task.0 as usize].ending != Ending::No {
            return Flow::End;
        }
        match self.op(task) {
            Some(op) => self.perform(cpu, task, op),
            None => self.round(task),
        }
    }

    /// The task reads its clocks, sleeps if its own start is later, and begins.
    fn pass_gate(&mut self, cpu: u32, task: TaskId) -> Flow {
        let start_ns = self.progress[task.0 as usize].start_ns;
        let opened = std::mem::take(&mut self.progress[task.0 as usize].gate) == Gate::Closed;
        if !opened {
            self.progress[task.0 as usize].phase = 0;
            return Flow::Again;
        }
        self.charge(cpu, self.costs.syscall_ns * CALLS_AT_START);
        if start_ns == 0 {
            return Flow::Again;
        }
        self.progress[task.0 as usize].gate = Gate::Delayed;
        if start_ns <= self.clock(cpu) {
            self.charge(cpu, self.costs.syscall_ns);
            return Flow::Again;
        }
        self.sleep_for_timer(cpu, task, start_ns)
    }

    fn op(&self, task: TaskId) -> Option<Op> {
        let play = &self.progress[task.0 as usize];
        self.script.groups[play.group as usize].ops.get(play.at).copied()
    }

    /// The step is done.
    fn advance(&mut self, task: TaskId) {
        let play = &mut self.progress[task.0 as usize];
        play.at += 1;
        play.phase = 0;
        play.steps = play.steps.wrapping_add(1);
    }

    /// All steps have been played once.
    fn round(&mut self, task: TaskId) -> Flow {
        let play = &mut self.progress[task.0 as usize];
        let group = &self.script.groups[play.group as usize];
        play.rounds += 1;
        play.at = 0;
        self.recorder.groups[play.group as usize].rounds += 1;
        if group.repeat.is_some_and(|repeat| play.rounds >= repeat) {
            return Flow::End;
        }
        // Rounds of steps that take no time at all must not stop the clock.
        if play.rounds.is_multiple_of(1024) {
            self.charge(self.this_cpu, 1);
        }
        self.step_again(task)
    }

    /// Goes on with the first step of the next round without counting it as a step.
    fn step_again(&mut self, task: TaskId) -> Flow {
        let cpu = self.this_cpu;
        match self.op(task) {
            Some(op) => self.perform(cpu, task, op),
            None => Flow::Again,
        }
    }

    /// A sleeper wakes up: if work follows, it can begin as soon as it has a CPU.
    pub(crate) fn prefetch(&mut self, task: TaskId) {
        let asleep = self.progress[task.0 as usize].phase == 1;
        if !asleep || !matches!(self.op(task), Some(Op::Sleep(_))) {
            return;
        }
        self.advance(task);
        let at = self.progress[task.0 as usize].at;
        let play = &mut self.progress[task.0 as usize];
        let group = &self.script.groups[play.group as usize];
        if at == group.ops.len()
            && group.repeat.is_none_or(|repeat| play.rounds + 1 < repeat)
            && matches!(group.ops[0], Op::Run(_))
        {
            play.rounds += 1;
            play.at = 0;
            self.recorder.groups[play.group as usize].rounds += 1;
        }
        if let Some(Op::Run(ns)) = self.op(task) {
            self.task_mut(task).work_left = ns + self.costs.step_ns;
            self.advance(task);
        }
    }
}
