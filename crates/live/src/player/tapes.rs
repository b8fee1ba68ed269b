// SPDX-License-Identifier: GPL-2.0-only
//! Plays what one task of a recording did.
//!
//! A recorded time on a CPU contains the system calls with which the task slept and woke others.
//! The player makes such calls itself, so it measures what they cost it, and computes for so much
//! less the next time.

use std::sync::atomic::Ordering::SeqCst;

use model::Beat;

use crate::player::clock::{now_ns, own_cpu_ns};
use crate::player::steps::use_cpu;
use crate::player::task::{Flow, Task};

/// What a task has used of its CPU for playing itself.
struct Overhead {
    /// The task's CPU time when it last stopped computing.
    since_ns: u64,
    /// What the last computing could not make up for.
    owed_ns: u64,
}

impl Overhead {
    /// Computes for so long, less what playing has cost since the last time.
    fn compute(&mut self, task: &Task, ns: u64) -> Flow {
        let spent_ns = own_cpu_ns().saturating_sub(self.since_ns) + self.owed_ns;
        use_cpu(task, ns.saturating_sub(spent_ns))?;
        self.owed_ns = spent_ns.saturating_sub(ns);
        self.since_ns = own_cpu_ns();
        Ok(())
    }
}

/// Plays the task's tape to its end.
pub fn play(task: &Task) -> Flow {
    let (run, plan) = (task.run, task.plan());
    let control = run.control();
    let start_ns = control.start_ns.load(SeqCst) + plan.starts_ns[task.number as usize];
    let mut overhead = Overhead { since_ns: own_cpu_ns(), owed_ns: 0 };
    for beat in &run.script.tapes[plan.first_tape + task.number as usize] {
        task.over()?;
        match *beat {
            Beat::Run(ns) => overhead.compute(task, ns)?,
            Beat::Post(semaphore) => run.semaphores[semaphore as usize].post(),
            Beat::Wait(semaphore) => run.semaphores[semaphore as usize].wait(&control.stop)?,
            Beat::Sleep(ns) => task.sleep_until(now_ns().saturating_add(ns))?,
            // Kernels disagree whether a sleep until a time that has passed is one.
            Beat::Until(ns) if now_ns() < start_ns + ns => task.sleep_until(start_ns + ns)?,
            Beat::Until(_) => {}
        }
    }
    Ok(())
}
