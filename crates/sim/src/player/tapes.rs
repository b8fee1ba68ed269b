// SPDX-License-Identifier: GPL-2.0-only
//! Tapes: what the tasks of a recording did, beat by beat.

use model::Beat;
use play::Op;
use play::tapes::{self, Course};

use super::progress::{Flow, Gate};
use crate::core::{Core, TaskId};

/// Where a task is in its tape.
#[derive(Clone, Debug, Default)]
pub struct TapeProgress {
    course: Course,
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
    /// Plays beats up to one that takes time.
    pub(super) fn tape(&mut self, cpu: u32, task: TaskId) -> Flow {
        while let Some(beat) = self.beat(task) {
            match self.play_beat(cpu, task, beat) {
                Flow::Next => self.next_beat(task),
                Flow::WorkThenNext => {
                    self.next_beat(task);
                    return Flow::Again;
                }
                Flow::Yield => {
                    self.next_beat(task);
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

    fn beat(&self, task: TaskId) -> Option<Beat> {
        let play = &self.workload.progress[task.0 as usize];
        play.tape.course.beat(self.workload.script.tape(play.group as usize, play.number))
    }

    fn next_beat(&mut self, task: TaskId) {
        let play = &mut self.workload.progress[task.0 as usize];
        let parts = self.workload.script.parts(play.group as usize, play.number);
        play.tape.course.next(parts);
        play.phase = 0;
    }

    fn play_beat(&mut self, cpu: u32, task: TaskId, beat: Beat) -> Flow {
        match beat {
            Beat::Run(ns) => self.compute(cpu, task, ns),
            Beat::Wait(semaphore, _) | Beat::Receive(semaphore, _) | Beat::Take(semaphore, _) => {
                self.wait_for_post(cpu, task, beat, semaphore as usize)
            }
            Beat::Post(semaphore, _) => {
                if let Some(letters) = tapes::letters(beat) {
                    self.workload.objects.letters[letters as usize] += 1;
                }
                self.post(cpu, semaphore as usize)
            }
            Beat::Fork(tape) => self.make_player(cpu, task, tape),
            Beat::Sleep(ns) => self.sleep(cpu, task, ns),
            Beat::Nice(nice) => self.change(cpu, task, Op::Nice(nice)),
            Beat::Yield => {
                self.machine.charge(cpu, self.machine.costs.syscall_ns);
                Flow::Yield
            }
            Beat::Until(ns) => {
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

    /// Waits for a post. In a stream it may be one for which the tape has nothing yet.
    fn wait_for_post(&mut self, cpu: u32, task: TaskId, beat: Beat, semaphore: usize) -> Flow {
        let is_stream = tapes::letters(beat).is_some();
        loop {
            if is_stream && self.take_letter(task) {
                return Flow::Next;
            }
            let flow = match beat {
                Beat::Wait(..) => self.take(cpu, task, semaphore),
                _ => self.take_from_pipe(cpu, task, semaphore),
            };
            if !is_stream || !matches!(flow, Flow::Next) {
                return flow;
            }
            let course = &mut self.workload.progress[task.0 as usize].tape.course;
            course.come(semaphore as u32);
        }
    }

    /// Goes on with a message that has come, if there is one.
    fn take_letter(&mut self, task: TaskId) -> bool {
        let letters = &mut self.workload.objects.letters;
        let play = &mut self.workload.progress[task.0 as usize];
        let (group, number) = (play.group as usize, play.number);
        let script = &self.workload.script;
        let has_come = |number: u32| letters[number as usize] > 0;
        let (beats, parts) = (script.tape(group, number), script.parts(group, number));
        let chosen = play.tape.course.choose(beats, parts, has_come);
        if let Some(number) = chosen {
            letters[number as usize] -= 1;
        }
        chosen.is_some()
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
