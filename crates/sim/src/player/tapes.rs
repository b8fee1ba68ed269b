// SPDX-License-Identifier: GPL-2.0-only
//! Tapes: what the tasks of a recording did, operation by operation.

use model::TapeOp;
use model::play::Op;
use model::tape::Reader;

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
            TapeOp::Wait(semaphore, _) => self.wait_owed(cpu, task, semaphore as usize),
            TapeOp::Receive(semaphore, _, reader) => {
                self.receive_owed(cpu, task, semaphore as usize, reader)
            }
            TapeOp::Room(semaphore, _) => {
                self.receive_owed(cpu, task, semaphore as usize, Reader::Awake)
            }
            TapeOp::Spin(semaphore, look_ns) => self.spin(cpu, task, semaphore as usize, look_ns),
            TapeOp::Post(semaphore, _, reader) => {
                self.post_owed(cpu, task, semaphore as usize, reader)
            }
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

    /// The recorded time contains the calls with which the task slept and woke others. They count
    /// with what they cost under the kernel's scheduler, as in the live player: the one under test
    /// may cost more.
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

    /// A wait on a futex. In the recording the task slept there.
    fn wait_owed(&mut self, cpu: u32, task: TaskId, semaphore: usize) -> Flow {
        if *self.phase(task) == 0 {
            self.owe(task, self.machine.kernels_own.sleep_ns);
        }
        self.take(cpu, task, semaphore)
    }

    /// A wait in a pipe.
    fn receive_owed(&mut self, cpu: u32, task: TaskId, semaphore: usize, reader: Reader) -> Flow {
        let is_first = *self.phase(task) == 0;
        let flow = self.take(cpu, task, semaphore);
        let sleeps = matches!(flow, Flow::Sleep(_));
        let read_ns = self.machine.costs.read_ns;
        if sleeps {
            let here = &mut self.workload.objects.semaphores[semaphore];
            // Only the post that finds it asleep is a system call.
            here.announced -= 1;
            here.receives = true;
            *self.phase(task) = RECEIVING;
            self.machine.charge(cpu, read_ns);
        }
        if is_first {
            let sleep_ns = self.machine.kernels_own.sleep_ns;
            self.owe_for_message(task, sleep_ns, read_ns, (reader, sleeps));
        }
        flow
    }

    fn post_owed(&mut self, cpu: u32, task: TaskId, semaphore: usize, reader: Reader) -> Flow {
        let wake_ns = self.machine.kernels_own.wake_ns;
        if self.workload.script.mailboxes[semaphore].is_some() {
            let wakes = self.workload.objects.semaphores[semaphore].receives;
            self.owe_for_message(task, wake_ns, self.machine.costs.write_ns, (reader, wakes));
        } else if reader == Reader::Asleep {
            self.owe(task, wake_ns);
        }
        self.post(cpu, semaphore)
    }

    /// What a message has cost the player and would have cost the program: `reader` says whether
    /// its reader slept in the recording, `sleeps` whether it does now. Where nobody sleeps, the
    /// player makes no call.
    fn owe_for_message(
        &mut self,
        task: TaskId,
        scheduling_ns: u64,
        copying_ns: u64,
        (reader, sleeps): (Reader, bool),
    ) {
        let call_ns = self.machine.costs.syscall_ns;
        let owed_ns = match (reader, sleeps) {
            (Reader::Asleep, true) => scheduling_ns + copying_ns,
            (Reader::Asleep, false) => scheduling_ns - call_ns,
            (Reader::Awake, true) => call_ns + copying_ns,
            (Reader::Awake, false) => 0,
        };
        self.owe(task, owed_ns);
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
