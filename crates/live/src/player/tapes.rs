// SPDX-License-Identifier: GPL-2.0-only
//! Plays what one task of a recording did.
//!
//! A recorded time on a CPU contains the system calls with which the task slept and woke others.
//! The player makes such calls itself, and has its own work to do. So it does not compute for each
//! recorded time, but until its thread's CPU time is the sum of all recorded ones so far: whatever
//! has cost more or less than in the recording is made up for as soon as possible.

use std::sync::atomic::Ordering::SeqCst;

use model::Beat;

use crate::player::clock::{now_ns, own_cpu_ns};
use crate::player::run_state::TaskSlot;
use crate::player::steps::use_cpu;
use crate::player::task::{Flow, Task};

/// How far a computing may end from where it should, because the next one makes up for it.
const NEAR_NS: u64 = 5_000;
/// The most that is computed between two looks at the clock.
const LOOK_NS: u64 = 1_000_000;

/// The CPU time that a thread should have used.
struct Account {
    /// The thread's clock at the common start.
    began_ns: u64,
    /// All recorded computing so far.
    due_ns: u64,
}

impl Account {
    /// Computes until the account is even.
    fn compute(&mut self, task: &Task, ns: u64) -> Flow {
        self.due_ns += ns;
        loop {
            let used_ns = own_cpu_ns().saturating_sub(self.began_ns);
            let left_ns = self.due_ns.saturating_sub(used_ns).min(LOOK_NS);
            use_cpu(task, left_ns)?;
            if left_ns <= NEAR_NS * 4 {
                return Ok(());
            }
        }
    }
}

/// Plays the task's tape to its end, but for a wait that it begins with.
pub fn play(task: &Task) -> Flow {
    let (run, plan) = (task.run, task.plan());
    let control = run.control();
    let start_ns = control.start_ns.load(SeqCst) + plan.starts_ns[task.number as usize];
    let began_ns =
        task.slot.map_or_else(own_cpu_ns, |slot: &TaskSlot| slot.cpu_before_ns.load(SeqCst));
    let mut account = Account { began_ns, due_ns: 0 };
    let waited = usize::from(run.script.first_wait(task.group, task.number).is_some());
    for beat in &run.script.tape(task.group, task.number)[waited..] {
        task.over()?;
        match *beat {
            Beat::Run(ns) => account.compute(task, ns)?,
            Beat::Post(semaphore) => {
                let semaphore = semaphore as usize;
                run.semaphores[semaphore].post_to(run.mailbox(semaphore));
            }
            Beat::Wait(semaphore) => run.semaphores[semaphore as usize].wait(&control.stop)?,
            Beat::Receive(semaphore) | Beat::Take(semaphore) => {
                let semaphore = semaphore as usize;
                run.semaphores[semaphore].receive(run.mailbox(semaphore), &control.stop)?;
            }
            Beat::Sleep(ns) => task.sleep_until(now_ns().saturating_add(ns))?,
            // Kernels disagree whether a sleep until a time that has passed is one.
            Beat::Until(ns) if now_ns() < start_ns + ns => task.sleep_until(start_ns + ns)?,
            Beat::Until(_) => {}
            Beat::Yield => {
                // SAFETY: no arguments.
                unsafe { libc::sched_yield() };
            }
        }
    }
    Ok(())
}
