// SPDX-License-Identifier: GPL-2.0-only
//! Tapes: what the tasks of a recording did, operation by operation.

use model::TapeOp;
use model::play::Op;

use super::progress::{Flow, Gate};
use crate::core::{Core, TaskId};

/// Where a task is in its tape.
#[derive(Clone, Debug, Default)]
pub struct TapeProgress {
    /// The next operation.
    at: usize,
    /// The CPU time that it should have used by now: all recorded computing so far.
    due_ns: u64,
}

impl TapeProgress {
    /// The task has used this much CPU time before the common start.
    pub fn start(&mut self, cpu_ns: u64) {
        self.due_ns = cpu_ns;
    }
}

impl Core {
    /// Plays operations up to one that takes time.
    pub(super) fn tape(&mut self, cpu: u32, task: TaskId) -> Flow {
        while let Some(op) = self.tape_op(task) {
            match self.play_tape_op(cpu, task, op) {
                Flow::Next => self.next_tape_op(task),
                Flow::WorkThenNext => {
                    self.next_tape_op(task);
                    return Flow::Again;
                }
                Flow::Yield => {
                    self.next_tape_op(task);
                    return Flow::YieldThenAgain;
                }
                other => return other,
            }
            if self.machine.clock(cpu) > self.machine.now {
                return Flow::Again;
            }
        }
        Flow::Next
    }

    fn tape_op(&self, task: TaskId) -> Option<TapeOp> {
        let play = &self.workload.progress[task.0 as usize];
        let tape = self.workload.script.tape(play.group as usize, play.number);
        tape.get(play.tape.at).copied()
    }

    fn next_tape_op(&mut self, task: TaskId) {
        let play = &mut self.workload.progress[task.0 as usize];
        play.tape.at += 1;
        play.phase = 0;
    }

    fn play_tape_op(&mut self, cpu: u32, task: TaskId, op: TapeOp) -> Flow {
        match op {
            TapeOp::Run(ns) => self.compute(cpu, task, ns),
            TapeOp::Wait(semaphore, _) => self.take(cpu, task, semaphore as usize),
            TapeOp::Receive(semaphore, _) => self.take_from_pipe(cpu, task, semaphore as usize),
            TapeOp::Post(semaphore, _) => self.post(cpu, semaphore as usize),
            TapeOp::Fork(tape) => self.make_player(cpu, task, tape),
            TapeOp::Sleep(ns) => self.sleep(cpu, task, ns),
            TapeOp::Nice(nice) => self.change(cpu, task, Op::Nice(nice)),
            TapeOp::Yield => {
                self.machine.charge(cpu, self.machine.costs.syscall_ns);
                Flow::Yield
            }
            TapeOp::Until(ns) => {
                let play = &self.workload.progress[task.0 as usize];
                let (slept, until) = (play.phase == 1, play.start_ns + ns);
                if slept || until <= self.machine.clock(cpu) {
                    return Flow::Next;
                }
                self.sleep_for_timer(cpu, task, until)
            }
        }
    }

    /// The recorded time contains system calls like those of the player, so the task computes until
    /// its CPU time is what it should be.
    fn compute(&mut self, cpu: u32, task: TaskId, ns: u64) -> Flow {
        let used_ns = self.used_ns(cpu, task);
        let tape = &mut self.workload.progress[task.0 as usize].tape;
        tape.due_ns += ns;
        let work_ns = tape.due_ns.saturating_sub(used_ns);
        if work_ns == 0 {
            return Flow::Next;
        }
        self.machine.task_mut(task).work_left = work_ns;
        Flow::WorkThenNext
    }

    /// Makes the thread that plays a tape. First the time passes that it costs. Phase 1: it has.
    fn make_player(&mut self, cpu: u32, task: TaskId, tape: u32) -> Flow {
        let phase = &mut self.workload.progress[task.0 as usize].phase;
        if std::mem::replace(phase, 1) == 0 {
            self.machine.charge(cpu, self.machine.costs.thread_ns);
            return Flow::Again;
        }
        let place = self.workload.script.player_of(tape);
        self.create_during_trial(cpu, task, place);
        Flow::Next
    }

    /// As a wait, but asleep in a pipe.
    fn take_from_pipe(&mut self, cpu: u32, task: TaskId, semaphore: usize) -> Flow {
        let flow = self.take(cpu, task, semaphore);
        let sleeps = matches!(flow, Flow::Sleep(_));
        self.workload.objects.semaphores[semaphore].receives = sleeps;
        if sleeps {
            self.machine.charge(cpu, self.machine.costs.read_ns);
        }
        flow
    }

    /// A task whose tape begins with a wait sleeps there before the common start, and is not woken
    /// by it.
    pub(super) fn wait_for_first_post(&mut self, task: TaskId) {
        let play = &mut self.workload.progress[task.0 as usize];
        let Some(number) = self.workload.script.first_wait(play.group as usize, play.number) else {
            return;
        };
        (play.gate, play.phase) = (Gate::Passed, 1);
        let here = &mut self.workload.objects.semaphores[number];
        here.announced += 1;
        here.waiters.push_back(task);
    }

    /// The CPU time of the current task of a CPU.
    fn used_ns(&self, cpu: u32, task: TaskId) -> u64 {
        let this = self.machine.task(task);
        this.cpu_ns + self.machine.clock(cpu).saturating_sub(this.exec_start)
    }
}
