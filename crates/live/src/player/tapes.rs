// SPDX-License-Identifier: GPL-2.0-only
//! Plays what one task of a recording did.
//!
//! A recorded time on a CPU contains the system calls with which the task slept and woke others.
//! The player makes such calls itself, and has its own work to do. So it does not compute for each
//! recorded time, but until its thread's CPU time is the sum of all recorded ones so far: whatever
//! has cost more or less than in the recording is made up for as soon as possible.

use std::sync::atomic::Ordering::SeqCst;

use model::TapeOp;

use crate::player::clock::{now_ns, own_cpu_ns};
use crate::player::run_state::{Fault, TaskSlot};
use crate::player::task::{End, Flow, Task};
use crate::player::{attributes, children};

/// A remainder of work below this is computed without looking at the clock.
const NEAR_NS: u64 = 20_000;
/// What a thread does after its last operation costs about as much: it looks at its clock, leaves
/// its results, and sleeps. The recorded end is in the last recorded time.
const END_NS: u64 = 10_000;
/// Where more than this is left to compute, a part of it is kept for after a look.
const LONG_NS: u64 = 10_000_000;
const KEPT_PART: u64 = 8;
/// The most operations between two looks.
const LOOK_OPS: u64 = 64;
/// After a sleep a task has a new slice, so that a look does no harm. It is worth its cost after as
/// many operations: what one costs depends on how many of them sleep.
const LOOK_OPS_AWAKE: u64 = 32;

/// The CPU time that a thread should have used, and what it probably has.
///
/// Looking at the thread's clock costs a system call, and in EEVDF a task that does so gives way
/// if its slice is over, which it otherwise does at a tick. So the clock is looked at rarely; in
/// between, operations count for what they have cost so far.
struct Account {
    /// The thread's clock at the common start.
    began_ns: u64,
    /// All recorded computing so far.
    due_ns: u64,
    /// The thread's clock at the last look, from the common start.
    seen_ns: u64,
    /// Computed since then.
    computed_ns: u64,
    /// Operations since then.
    ops: u64,
    /// How many operations are played until the next look.
    next_look: u64,
    /// What an operation has cost on average, but for computing.
    op_ns: u64,
    /// Whether the last operation was a sleep.
    slept: bool,
}

impl Account {
    fn new(began_ns: u64) -> Account {
        Account {
            began_ns,
            due_ns: 0,
            seen_ns: 0,
            computed_ns: 0,
            ops: 0,
            next_look: 1,
            op_ns: 0,
            slept: false,
        }
    }

    /// The CPU time that the thread has used, if operations cost what they did before.
    fn used_ns(&self) -> u64 {
        self.seen_ns + self.computed_ns + self.ops * self.op_ns
    }

    fn look(&mut self) {
        let now_ns = own_cpu_ns().saturating_sub(self.began_ns);
        let cost_ns = now_ns.saturating_sub(self.seen_ns + self.computed_ns);
        self.op_ns = cost_ns.checked_div(self.ops).unwrap_or(self.op_ns);
        (self.seen_ns, self.computed_ns, self.ops) = (now_ns, 0, 0);
    }

    /// Computes until the account is even.
    fn compute(&mut self, task: &Task, ns: u64) -> Flow {
        self.due_ns += ns;
        if self.ops >= self.next_look {
            self.next_look = (self.next_look * 2).min(LOOK_OPS);
            self.look();
        } else if self.slept && self.ops >= LOOK_OPS_AWAKE {
            self.look();
        }
        loop {
            let left_ns = self.due_ns.saturating_sub(self.used_ns());
            let is_sure = left_ns < LONG_NS || task.run.busy.is_exact();
            let piece_ns = if is_sure { left_ns } else { left_ns - left_ns / KEPT_PART };
            task.use_cpu(piece_ns)?;
            self.computed_ns += piece_ns;
            if is_sure {
                return Ok(());
            }
            self.look();
        }
    }

    /// Computes for the last time.
    fn end(&mut self, task: &Task, ns: u64) -> Flow {
        self.due_ns = (self.due_ns + ns).saturating_sub(END_NS);
        self.compute(task, 0)?;
        self.look();
        let left_ns = self.due_ns.saturating_sub(self.seen_ns);
        if left_ns < NEAR_NS { Ok(()) } else { self.compute(task, 0) }
    }
}

/// Plays the task's tape to its end, but for a wait that it begins with.
pub fn play(task: &Task) -> Flow {
    let (run, group, number) = (task.run, task.group, task.number);
    let began_ns =
        task.slot.map_or_else(own_cpu_ns, |slot: &TaskSlot| slot.cpu_before_ns.load(SeqCst));
    let mut account = Account::new(began_ns);
    if run.script.is_made(group, number) {
        // The recorded one had to begin, too.
        account.look();
    }
    let mut tape = run.script.tape(group, number);
    if run.script.first_wait(group, number).is_some() {
        tape = &tape[1..];
    }
    let start_ns = run.control().start_ns.load(SeqCst) + task.plan().starts_ns[number as usize];
    for (at, op) in tape.iter().enumerate() {
        task.over()?;
        match *op {
            TapeOp::Run(ns) if at + 1 == tape.len() => return account.end(task, ns),
            TapeOp::Run(ns) => account.compute(task, ns)?,
            op => account.slept = play_op(task, op, start_ns)?,
        }
        account.ops += 1;
    }
    account.end(task, 0)
}

/// Plays an operation that computes nothing; whether the task slept.
fn play_op(task: &Task, op: TapeOp, start_ns: u64) -> Result<bool, End> {
    let (run, stop) = (task.run, &task.run.control().stop);
    let slept = match op {
        TapeOp::Run(_) => false,
        TapeOp::Wait(semaphore, _) => run.semaphores[semaphore as usize].wait(stop)?,
        TapeOp::Receive(semaphore, _) => {
            let semaphore = semaphore as usize;
            run.semaphores[semaphore].receive(run.mailbox(semaphore), stop)?
        }
        TapeOp::Post(semaphore, _) => {
            let semaphore = semaphore as usize;
            run.semaphores[semaphore].post_to(run.mailbox(semaphore));
            false
        }
        TapeOp::Fork(tape) => {
            children::make_thread(task, tape)?;
            false
        }
        TapeOp::Sleep(ns) => sleep_until(task, now_ns().saturating_add(ns))?,
        // Kernels disagree whether a sleep until a time that has passed is one.
        TapeOp::Until(ns) if now_ns() >= start_ns + ns => false,
        TapeOp::Until(ns) => sleep_until(task, start_ns + ns)?,
        TapeOp::Nice(nice) => {
            attributes::set_nice(nice).map_err(|errno| task.fail(Fault::Nice, errno))?;
            false
        }
        TapeOp::Yield => {
            // SAFETY: no arguments.
            unsafe { libc::sched_yield() };
            false
        }
    };
    Ok(slept)
}

fn sleep_until(task: &Task, until_ns: u64) -> Result<bool, End> {
    task.sleep_until(until_ns).map(|()| true)
}
