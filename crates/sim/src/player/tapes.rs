// SPDX-License-Identifier: GPL-2.0-only
//! Tapes: what the tasks of a recording did, beat by beat.

use model::Beat;

use super::progress::Flow;
use crate::core::{Core, TaskId};

/// Where a task is in its tape, and what playing it has cost.
#[derive(Clone, Debug, Default)]
pub struct TapeProgress {
    /// The number of beats that are done.
    at: usize,
    /// The task's CPU time when it last stopped computing; `None`: it has just stopped.
    since_ns: Option<u64>,
    /// What the last computing could not make up for.
    owed_ns: u64,
}

impl Core {
    /// Plays beats up to one that takes time.
    pub(super) fn tape(&mut self, cpu: u32, task: TaskId) -> Flow {
        let used_ns = self.used_ns(cpu, task);
        self.workload.progress[task.0 as usize].tape.since_ns.get_or_insert(used_ns);
        while let Some(beat) = self.beat(task) {
            match self.play_beat(cpu, task, beat) {
                Flow::Next => self.next_beat(task),
                Flow::WorkThenNext => {
                    self.next_beat(task);
                    self.workload.progress[task.0 as usize].tape.since_ns = None;
                    return Flow::Again;
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
        let script = &self.workload.script;
        let first = script.groups[play.group as usize].first_tape;
        script.tapes[first + play.number as usize].get(play.tape.at).copied()
    }

    fn next_beat(&mut self, task: TaskId) {
        let play = &mut self.workload.progress[task.0 as usize];
        play.tape.at += 1;
        play.phase = 0;
    }

    fn play_beat(&mut self, cpu: u32, task: TaskId, beat: Beat) -> Flow {
        match beat {
            Beat::Run(ns) => self.compute(cpu, task, ns),
            Beat::Wait(semaphore) => self.take(cpu, task, semaphore as usize),
            Beat::Post(semaphore) => self.post(cpu, semaphore as usize),
            Beat::Sleep(ns) => self.sleep(cpu, task, ns),
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

    /// The recorded time contains system calls like those of the player, so what these have cost
    /// since the last time is taken off.
    fn compute(&mut self, cpu: u32, task: TaskId, ns: u64) -> Flow {
        let used_ns = self.used_ns(cpu, task);
        let tape = &mut self.workload.progress[task.0 as usize].tape;
        let spent_ns = used_ns.saturating_sub(tape.since_ns.unwrap_or(used_ns)) + tape.owed_ns;
        tape.owed_ns = spent_ns.saturating_sub(ns);
        let work_ns = ns.saturating_sub(spent_ns);
        if work_ns == 0 {
            tape.since_ns = Some(used_ns);
            return Flow::Next;
        }
        self.machine.task_mut(task).work_left = work_ns;
        Flow::WorkThenNext
    }

    /// The CPU time of the current task of a CPU.
    fn used_ns(&self, cpu: u32, task: TaskId) -> u64 {
        let this = self.machine.task(task);
        this.cpu_ns + self.machine.clock(cpu).saturating_sub(this.exec_start)
    }
}
