// SPDX-License-Identifier: GPL-2.0-only
//! The play loop: a task goes to its next operation whenever its CPU has done the work of the one
//! before.

use model::play::Op;

use super::progress::{Ending, Flow, Gate};
use crate::core::{Core, TaskId};

/// System calls of a task between the common start and its first step: two clocks are read.
const CALLS_AT_START: u64 = 2;

impl Core {
    /// The current task's work is done: what next?
    pub(crate) fn play(&mut self, cpu: u32) {
        self.machine.pause(cpu);
        let task = self.machine.cpus[cpu as usize].curr;
        if task == self.workload.main {
            return self.run_main(cpu);
        }
        let this = self.machine.task_mut(task);
        (this.work_left, this.until) = (0, 0);
        if self.workload.starter.task == Some(task) {
            return self.run_starter(cpu, task);
        }
        while !self.interrupted(cpu) {
            match self.step(cpu, task) {
                Flow::Next => self.advance(task),
                Flow::Again => break,
                Flow::WorkThenNext => {
                    self.advance(task);
                    break;
                }
                Flow::Sleep(state) => return self.schedule(cpu, Some(state)),
                Flow::Yield => {
                    self.advance(task);
                    return self.yield_task(cpu);
                }
                Flow::YieldThenAgain => return self.yield_task(cpu),
                Flow::End if self.workload.progress[task.0 as usize].ending == Ending::Leave => {
                    return self.end_task(cpu);
                }
                Flow::End => {
                    self.go_on_ending(cpu, task);
                    break;
                }
            }
            // Time passes for what the step cost before the next one begins.
            if self.machine.clock(cpu) > self.machine.now {
                break;
            }
        }
        self.machine.resume(cpu);
    }

    fn interrupted(&self, cpu: u32) -> bool {
        let here = &self.machine.cpus[cpu as usize];
        here.need_resched != 0 || !here.kicks.is_empty() || self.ext.has_deferred()
    }

    fn step(&mut self, cpu: u32, task: TaskId) -> Flow {
        match self.workload.progress[task.0 as usize].gate {
            Gate::Passed => {}
            Gate::Made | Gate::Ready => return self.go_to_gate(cpu, task),
            Gate::Closed | Gate::Delayed => return self.pass_gate(cpu, task),
        }
        if self.workload.progress[task.0 as usize].unprepared {
            return self.prepare(task);
        }
        if self.workload.progress[task.0 as usize].ending != Ending::No {
            return Flow::End;
        }
        match self.op(task) {
            Some(op) => self.perform(cpu, task, op),
            None => self.round(task),
        }
    }

    /// The task reads its clocks, sleeps if its own start is later, and begins.
    fn pass_gate(&mut self, cpu: u32, task: TaskId) -> Flow {
        let start_ns = self.workload.progress[task.0 as usize].start_ns;
        let opened =
            std::mem::take(&mut self.workload.progress[task.0 as usize].gate) == Gate::Closed;
        if !opened {
            self.workload.progress[task.0 as usize].phase = 0;
            return Flow::Again;
        }
        self.machine.charge(cpu, self.machine.costs.syscall_ns * CALLS_AT_START);
        if start_ns == self.workload.start_ns {
            return Flow::Again;
        }
        self.workload.progress[task.0 as usize].gate = Gate::Delayed;
        if start_ns <= self.machine.clock(cpu) {
            self.machine.charge(cpu, self.machine.costs.syscall_ns);
            return Flow::Again;
        }
        self.sleep_for_timer(cpu, task, start_ns)
    }

    fn op(&self, task: TaskId) -> Option<Op> {
        let play = &self.workload.progress[task.0 as usize];
        self.workload.script.groups.get(play.group as usize)?.ops.get(play.at).copied()
    }

    /// The step is done.
    fn advance(&mut self, task: TaskId) {
        let play = &mut self.workload.progress[task.0 as usize];
        play.at += 1;
        play.phase = 0;
        play.steps = play.steps.wrapping_add(1);
    }

    /// All steps have been played once.
    fn round(&mut self, task: TaskId) -> Flow {
        let play = &mut self.workload.progress[task.0 as usize];
        let group = &self.workload.script.groups[play.group as usize];
        play.rounds += 1;
        play.at = 0;
        self.recorder.groups[play.group as usize].rounds += 1;
        if group.repeat.is_some_and(|repeat| play.rounds >= repeat) {
            return Flow::End;
        }
        // Rounds of steps that take no time at all must not stop the clock.
        if play.rounds.is_multiple_of(1024) {
            self.machine.charge(self.machine.this_cpu, 1);
        }
        // The first step of the next round does not count as a step here.
        match self.op(task) {
            Some(op) => self.perform(self.machine.this_cpu, task, op),
            None => Flow::Again,
        }
    }

    /// A sleeper wakes up: if work follows, it can begin as soon as it has a CPU.
    pub(crate) fn prefetch(&mut self, task: TaskId) {
        let asleep = self.workload.progress[task.0 as usize].phase == 1;
        if !asleep || !matches!(self.op(task), Some(Op::Sleep(_))) {
            return;
        }
        self.advance(task);
        let at = self.workload.progress[task.0 as usize].at;
        let play = &mut self.workload.progress[task.0 as usize];
        let group = &self.workload.script.groups[play.group as usize];
        if at == group.ops.len()
            && group.repeat.is_none_or(|repeat| play.rounds + 1 < repeat)
            && matches!(group.ops[0], Op::Run(_))
        {
            play.rounds += 1;
            play.at = 0;
            self.recorder.groups[play.group as usize].rounds += 1;
        }
        if let Some(Op::Run(ns)) = self.op(task) {
            self.machine.task_mut(task).work_left = ns + self.machine.costs.step_ns;
            self.advance(task);
        }
    }
}

/// Spans: how long steps take (`within`).
impl Core {
    pub(crate) fn span_start(&mut self, cpu: u32, task: TaskId, limit_ns: u64) -> Flow {
        let clock = self.machine.clock(cpu);
        let play = &mut self.workload.progress[task.0 as usize];
        play.steps = play.steps.wrapping_sub(1);
        play.spans.push((clock, limit_ns));
        Flow::Next
    }

    /// The live player reads the clock at both ends and counts, as for a job.
    pub(crate) fn span_end(&mut self, cpu: u32, task: TaskId) -> Flow {
        let clock = self.machine.clock(cpu);
        let play = &mut self.workload.progress[task.0 as usize];
        play.steps = play.steps.wrapping_sub(1);
        if let Some((start_ns, limit_ns)) = play.spans.pop() {
            let tally = &mut self.recorder.groups[play.group as usize];
            tally.span(clock.saturating_sub(start_ns), limit_ns);
        }
        self.machine.charge(cpu, self.machine.costs.job_ns);
        Flow::Next
    }

    /// A task that ends inside spans ends them.
    pub(crate) fn exit_spans(&mut self, cpu: u32, task: TaskId) -> Flow {
        while !self.workload.progress[task.0 as usize].spans.is_empty() {
            self.span_end(cpu, task);
        }
        Flow::End
    }
}
