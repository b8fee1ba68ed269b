// SPDX-License-Identifier: GPL-2.0-only
//! The play loop: a task goes to its next operation whenever its CPU has done the work of the one
//! before.
//!
//! One task is Fairground's main task, as the live player has it: it lets the others be made, wakes
//! all of them at one instant, sleeps at a priority above theirs, and ends the trial. Its work is
//! part of what is measured on a real kernel: the common start is a series of wake-ups on one CPU,
//! and the end preempts the task that runs there.

use model::play::{LAB_PRIORITY, Op};
use model::{Costs, Policy, PolicyClass};

use super::start_up::{CALLS_AFTER_BIRTH, PROGRAM};
use super::workload_state::{Ending, Flow, Gate, MainWork};
use crate::core::task::{NewTask, State};
use crate::core::{Core, TaskId};

/// System calls of a task between the common start and its first step: two clocks are read.
const CALLS_AT_START: u64 = 2;

impl Core {
    /// The current task's work is done: what next?
    pub(crate) fn play(&mut self, cpu: u32) {
        self.machine.pause(cpu);
        let task = self.machine.cpus[cpu as usize].curr;
        if task == self.workload.main || task == self.workload.maker() {
            return self.run_main(cpu, task);
        }
        let this = self.machine.task_mut(task);
        (this.work_left, this.until) = (0, 0);
        if self.workload.starter.task == Some(task) {
            return self.run_starter(cpu, task);
        }
        if let Some(state) = self.workload.progress[task.0 as usize].falls_asleep.take() {
            return self.schedule(cpu, Some(state));
        }
        while !self.interrupted(cpu) {
            match self.step(cpu, task) {
                Flow::Next => self.advance(task),
                Flow::Again => break,
                Flow::WorkThenNext => {
                    self.advance(task);
                    break;
                }
                Flow::Sleep(state) if !self.is_worker(task) && self.others_act_before(cpu) => {
                    self.workload.progress[task.0 as usize].falls_asleep = Some(state);
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

    /// Whether a task sleeps, or is in the system call with which it falls asleep.
    #[inline]
    pub(crate) fn sleeps(&self, task: TaskId) -> bool {
        self.machine.task(task).state != State::Runnable
            || self.workload.progress(task).falls_asleep.is_some()
    }

    /// A kernel thread is given its work while it sleeps, so it sleeps at once.
    fn is_worker(&self, task: TaskId) -> bool {
        self.workload.progress[task.0 as usize].gate == Gate::Worker
    }

    pub(super) fn interrupted(&self, cpu: u32) -> bool {
        let here = &self.machine.cpus[cpu as usize];
        here.need_resched != 0 || !here.kicks.is_empty() || self.ext.has_deferred()
    }

    fn step(&mut self, cpu: u32, task: TaskId) -> Flow {
        match self.workload.progress[task.0 as usize].gate {
            Gate::Passed => {}
            Gate::Made | Gate::Joining | Gate::Ready => return self.go_to_gate(cpu, task),
            Gate::Closed | Gate::Delayed => return self.pass_gate(cpu, task),
            Gate::Worker => return Flow::Sleep(State::Sleeping),
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
        let play = &self.workload.progress[task.0 as usize];
        let asleep = play.phase == 1 && play.falls_asleep.is_none();
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

/// System calls between the main task's wake-up and the end of the trial: it empties its eventfd,
/// looks for an interruption, and reads the clock.
const CALLS_BEFORE_END: u64 = 2;

/// How long it sleeps until the task that has made the others has gone.
const UNTIL_GONE_NS: u64 = 50_000;

/// DIVERGES: in a workload of more than 512 tasks no task runs before the common start. Creating so
/// many would take longer than most trials, and the order at the start is soon lost.
const PASTS_MAX: usize = 512;

impl Core {
    pub(crate) fn add_main(&mut self) {
        let pid = self.take_pid();
        let new = NewTask {
            pid,
            tgid: pid,
            comm: PROGRAM,
            policy: Policy::default(),
            mask: 0,
            parent: None,
            cpu: 0,
            flags: 0,
            group: u32::MAX,
        };
        self.workload.main = self.new_task(&new);
        self.machine.task_mut(self.workload.main).state = State::Sleeping;
        self.workload.progress[self.workload.main.0 as usize].group = u32::MAX;
    }

    /// Whether tasks run on their way to the gate.
    pub(super) fn tasks_have_pasts(&self) -> bool {
        self.machine.costs.thread_ns > 0 && self.workload.starting_tasks() <= PASTS_MAX
    }

    /// Gives the main task its priority and its CPU; time begins.
    ///
    /// DIVERGES: on a real kernel the main task may be on any CPU. If all CPUs are alike, only the
    /// number differs.
    pub(crate) fn start_main(&mut self) {
        let have_pasts = self.tasks_have_pasts();
        let costs = std::mem::replace(&mut self.machine.costs, Costs::FREE);
        self.make_leaders();
        if !have_pasts {
            self.create_all_at_gate();
            self.workload.main_work = MainWork::Starting;
        }
        let policy =
            Policy { class: PolicyClass::Fifo, priority: LAB_PRIORITY, ..Policy::default() };
        self.set_policy(self.workload.main, policy);
        for leader in self.workload.leaders.clone() {
            self.set_policy(leader, policy);
        }
        self.machine.this_cpu = 0;
        self.wake(self.workload.main, 0);
        self.settle(0);
        self.machine.costs = costs;
    }

    /// The work of the main task, and of the process of a session while that starts its tasks.
    pub(crate) fn run_main(&mut self, cpu: u32, task: TaskId) {
        let main = self.workload.main;
        match self.workload.main_work {
            MainWork::Making => {
                if task == self.workload.maker() {
                    self.workload.main_work = MainWork::Made;
                    self.make_starter();
                    self.machine.charge(cpu, self.machine.costs.syscall_ns * CALLS_AFTER_BIRTH);
                    return self.machine.resume(cpu);
                }
                self.wake(self.workload.maker(), 0);
                self.schedule(cpu, Some(State::Sleeping));
            }
            MainWork::Made => {
                self.workload.main_work = MainWork::Joining;
                self.schedule(cpu, Some(State::Sleeping));
            }
            MainWork::Joining => {
                self.workload.main_work = MainWork::Joined;
                let until = self.machine.clock(cpu) + UNTIL_GONE_NS;
                self.sleep_for_timer(cpu, task, until);
                self.schedule(cpu, Some(State::Sleeping));
            }
            MainWork::Joined if task != main => {
                self.wake(main, 0);
                self.schedule(cpu, Some(State::Sleeping));
            }
            MainWork::Joined => {
                let more = self.next_starter();
                self.workload.main_work = if more { MainWork::Making } else { MainWork::Starting };
                self.run_main(cpu, main);
            }
            MainWork::Starting => self.open_gate(cpu),
            MainWork::Waking => self.wake_next(cpu),
            MainWork::Ending => {
                self.machine.charge(cpu, self.machine.costs.syscall_ns * CALLS_BEFORE_END);
                self.machine.now = self.machine.clock(cpu);
                self.workload.over = true;
            }
        }
    }

    /// Begins to wake all tasks, real-time ones first, as a futex does.
    fn open_gate(&mut self, cpu: u32) {
        self.workload.main_work = MainWork::Waking;
        self.begin_measurement();
        self.machine.charge(cpu, self.machine.costs.syscall_ns);
        let mut waiting: Vec<TaskId> = self
            .machine
            .all_tasks()
            .filter(|task| self.workload.progress[task.0 as usize].gate == Gate::Closed)
            .collect();
        waiting.sort_by_key(|&task| self.machine.task(task).prio.min(100));
        waiting.reverse();
        self.workload.at_gate = waiting;
        self.machine.resume(cpu);
    }

    /// Wakes one task. The time for that passes before the next one, so that other CPUs see each
    /// wake-up when it happens.
    fn wake_next(&mut self, cpu: u32) {
        match self.workload.at_gate.pop() {
            Some(task) => {
                self.wake(task, 0);
                self.machine.resume(cpu);
            }
            None => self.sleep_until_end(cpu),
        }
    }

    fn sleep_until_end(&mut self, cpu: u32) {
        self.workload.main_work = MainWork::Ending;
        self.machine.charge(cpu, self.machine.costs.syscall_ns);
        self.schedule(cpu, Some(State::Sleeping));
        // While it sleeps until the end, it does not count as a real-time task: with none, the
        // simulator skips the real-time classes.
        self.machine.leave_real_time(self.workload.main);
        if self.workload.is_late {
            self.call_main();
        }
    }

    /// Wakes the main task, which ends the trial as soon as it has a CPU.
    pub(crate) fn call_main(&mut self) {
        if self.machine.task(self.workload.main).state == State::Sleeping {
            self.machine.join_real_time(self.workload.main);
            self.wake(self.workload.main, 0);
        } else if matches!(self.workload.main_work, MainWork::Starting | MainWork::Waking) {
            self.workload.is_late = true;
        }
    }

    pub(crate) fn on_end(&mut self, timed_out: bool) {
        self.workload.timed_out = timed_out;
        let cpu = self.machine.task(self.workload.main).cpu;
        self.interrupt(cpu, self.machine.costs.timer_ns, |core| core.call_main());
    }
}
