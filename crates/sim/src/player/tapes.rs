// SPDX-License-Identifier: GPL-2.0-only
//! Tapes: what the tasks of a recording did, operation by operation.

use model::TapeOp;
use model::play::Op;

use super::workload_state::{Flow, Gate};
use crate::core::{Core, TaskId};

/// The phase of a task that sleeps in a pipe, or has been woken there.
const RECEIVING: u8 = 2;

/// Where a task is in its tape.
#[derive(Clone, Debug, Default)]
pub struct TapeProgress {
    /// The next operation.
    at: usize,
    /// What its calls have cost, as far as it has not computed less for that.
    pub owed_ns: u64,
    /// When it began again, ns of virtual time; 0: it has not.
    begun_ns: u64,
    /// Whether it computes for an operation.
    works: bool,
}

impl Core {
    /// Plays operations up to one that takes time.
    pub(super) fn tape(&mut self, cpu: u32, task: TaskId) -> Flow {
        self.count_work(task);
        while let Some(op) = self.tape_op(task) {
            if let TapeOp::Again(first) = op {
                let begun_ns = self.machine.clock(cpu);
                let tape = &mut self.workload.progress[task.0 as usize].tape;
                (tape.at, tape.begun_ns) = (first as usize, begun_ns);
                continue;
            }
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
            TapeOp::Again(_) => Flow::Next,
            TapeOp::Run(ns) => self.compute(task, ns),
            TapeOp::Wait(semaphore, _) => self.wait_owed(cpu, task, semaphore as usize, false),
            TapeOp::Receive(semaphore, _) | TapeOp::Room(semaphore, _) => {
                self.wait_owed(cpu, task, semaphore as usize, true)
            }
            TapeOp::Spin(semaphore, look_ns) => self.spin(cpu, task, semaphore as usize, look_ns),
            TapeOp::Post(semaphore, _) => self.post_owed(cpu, task, semaphore as usize),
            TapeOp::Fork(tape) => self.make_player(cpu, task, tape),
            TapeOp::Sleep(_) if *self.phase(task) == 1 => Flow::Next,
            TapeOp::Sleep(ns) => self.sleep_owed(cpu, task, self.machine.clock(cpu) + ns),
            TapeOp::Nice(nice) => self.change(cpu, task, Op::Nice(nice)),
            TapeOp::Yield => {
                self.machine.charge(cpu, self.machine.costs.syscall_ns);
                self.owe(task, self.machine.kernels_own.sleep_ns);
                Flow::Yield
            }
            TapeOp::Until(ns) => {
                let play = &self.workload.progress[task.0 as usize];
                let (slept, until) = (play.phase == 1, play.start_ns.max(play.tape.begun_ns) + ns);
                if slept || until <= self.machine.clock(cpu) {
                    return Flow::Next;
                }
                self.sleep_owed(cpu, task, until)
            }
        }
    }

    /// The recorded time contains the calls with which the task slept and woke others. The player's
    /// own ones count with what they cost under the kernel's scheduler, as in the live player: the
    /// one under test may cost more.
    fn compute(&mut self, task: TaskId, ns: u64) -> Flow {
        let owed_ns = &mut self.workload.progress[task.0 as usize].tape.owed_ns;
        let work_ns = ns.saturating_sub(*owed_ns);
        *owed_ns = owed_ns.saturating_sub(ns);
        if work_ns == 0 {
            return Flow::Next;
        }
        self.machine.task_mut(task).work_left = work_ns;
        self.workload.progress[task.0 as usize].tape.works = true;
        Flow::WorkThenNext
    }

    /// If the tape begins again, what it has computed counts: there is no other end.
    fn count_work(&mut self, task: TaskId) {
        let play = &mut self.workload.progress[task.0 as usize];
        let tape = self.workload.script.tape(play.group as usize, play.number);
        let begins_again = matches!(tape.last(), Some(TapeOp::Again(_)));
        if std::mem::take(&mut play.tape.works) && begins_again {
            self.recorder.groups[play.group as usize].rounds += 1;
        }
    }

    /// Looks, yields and computes by turns. Phase 1: it has yielded.
    fn spin(&mut self, cpu: u32, task: TaskId, semaphore: usize, look_ns: u32) -> Flow {
        let phase = &mut self.workload.progress[task.0 as usize].phase;
        if std::mem::take(phase) == 1 {
            self.machine.task_mut(task).work_left = look_ns.into();
            return Flow::Again;
        }
        let here = &mut self.workload.objects.semaphores[semaphore];
        if here.value > 0 {
            here.value -= 1;
            return Flow::Next;
        }
        *phase = 1;
        self.machine.charge(cpu, self.machine.costs.syscall_ns);
        Flow::YieldThenAgain
    }

    fn owe(&mut self, task: TaskId, ns: u64) {
        self.workload.progress[task.0 as usize].tape.owed_ns += ns;
    }

    /// A wait, asleep in a pipe or on a futex. What is owed for it is owed when it sleeps.
    fn wait_owed(&mut self, cpu: u32, task: TaskId, semaphore: usize, receives: bool) -> Flow {
        let flow = self.take(cpu, task, semaphore);
        if matches!(flow, Flow::Sleep(_)) {
            let here = &mut self.workload.objects.semaphores[semaphore];
            here.receives = receives;
            if receives {
                // Only the post that finds it asleep is a system call.
                here.announced -= 1;
                *self.phase(task) = RECEIVING;
            }
            let read_ns = if receives { self.machine.costs.read_ns } else { 0 };
            self.machine.charge(cpu, read_ns);
            self.owe(task, self.machine.kernels_own.sleep_ns + read_ns);
        }
        flow
    }

    /// A post; one that wakes a task is owed.
    fn post_owed(&mut self, cpu: u32, task: TaskId, semaphore: usize) -> Flow {
        let here = &self.workload.objects.semaphores[semaphore];
        if here.receives || !here.waiters.is_empty() {
            let write_ns = if here.receives { self.machine.costs.write_ns } else { 0 };
            self.owe(task, self.machine.kernels_own.wake_ns + write_ns);
        }
        self.post(cpu, semaphore)
    }

    fn sleep_owed(&mut self, cpu: u32, task: TaskId, until_ns: u64) -> Flow {
        self.owe(task, self.machine.kernels_own.sleep_ns + self.machine.costs.timer_set_ns);
        self.sleep_for_timer(cpu, task, until_ns)
    }

    /// Makes the thread that plays a tape. First the time passes that it costs. Phase 1: it has.
    fn make_player(&mut self, cpu: u32, task: TaskId, tape: u32) -> Flow {
        let phase = &mut self.workload.progress[task.0 as usize].phase;
        if std::mem::replace(phase, 1) == 0 {
            self.machine.charge(cpu, self.machine.costs.thread_ns);
            self.owe(task, self.machine.costs.thread_ns);
            return Flow::Again;
        }
        let place = self.workload.script.player_of(tape);
        self.create_during_trial(cpu, task, place);
        Flow::Next
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
}
