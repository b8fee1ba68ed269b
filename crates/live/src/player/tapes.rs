// SPDX-License-Identifier: GPL-2.0-only
//! Plays what one task of a recording did.
//!
//! A recorded time on a CPU contains the calls with which the task slept and woke others. The
//! player makes such calls itself. So it computes each recorded time less what the recorded calls
//! cost under the machine's own scheduler ([`CallCosts`]), and never looks at the clock: what the
//! scheduler under test costs more is not made up for. A message for which its reader slept in the
//! recording but does not in the replay, or the other way round, costs what it would have cost the
//! program.
//!
//! [`CallCosts`]: crate::player::call_costs::CallCosts

use std::sync::atomic::Ordering::SeqCst;

use model::TapeOp;
use model::tape::Reader;

use crate::player::clock::{now_ns, own_cpu_ns};
use crate::player::run_state::Fault;
use crate::player::task::{End, Flow, Task};
use crate::player::{attributes, children};

/// What a thread does after its last operation costs about as much: it looks at its clock, leaves
/// its results, and sleeps. The recorded end is in the last recorded time.
const END_NS: u64 = 10_000;

/// Plays the task's tape to its end, but for a wait that it begins with.
pub fn play(task: &Task) -> Flow {
    let (run, group, number) = (task.run, task.group, task.number);
    // What the player's calls have cost and the task has not computed less for. A thread that was
    // made had to begin, as the recorded one had.
    let mut owed_ns = if run.script.is_made(group, number) { own_cpu_ns() } else { 0 };
    let mut tape = run.script.tape(group, number);
    let left_out = usize::from(run.script.first_wait(group, number).is_some());
    tape = &tape[left_out..];
    let mut start_ns = run.control().start_ns.load(SeqCst) + task.plan().starts_ns[number as usize];
    let begins_again = matches!(tape.last(), Some(TapeOp::Again(_)));
    let mut at = 0;
    while let Some(op) = tape.get(at) {
        at += 1;
        task.over()?;
        let ns = match *op {
            TapeOp::Run(ns) => ns,
            TapeOp::Again(first) => {
                (at, start_ns) = (first as usize - left_out, now_ns());
                continue;
            }
            op => {
                owed_ns += play_op(task, op, start_ns)?;
                continue;
            }
        };
        owed_ns += if at == tape.len() { END_NS } else { 0 };
        task.use_cpu(ns.saturating_sub(owed_ns))?;
        owed_ns = owed_ns.saturating_sub(ns);
        if begins_again {
            task.count_round();
        }
    }
    Ok(())
}

/// Plays an operation that computes nothing; what it has cost.
fn play_op(task: &Task, op: TapeOp, start_ns: u64) -> Result<u64, End> {
    let (run, stop, calls) = (task.run, &task.run.control().stop, task.run.busy.calls);
    Ok(match op {
        TapeOp::Run(_) | TapeOp::Again(_) => 0,
        TapeOp::Wait(semaphore, _) => {
            run.semaphores[semaphore as usize].wait(stop)?;
            calls.futex_ns
        }
        TapeOp::Receive(semaphore, _, reader) => {
            calls.message_ns(reader, receive(task, semaphore)?)
        }
        TapeOp::Room(semaphore, _) => calls.message_ns(Reader::Awake, receive(task, semaphore)?),
        TapeOp::Spin(semaphore, look_ns) => {
            while !run.semaphores[semaphore as usize].take() {
                yield_now();
                task.use_cpu(look_ns.into())?;
                task.over()?;
            }
            0
        }
        TapeOp::Post(semaphore, _, reader) => {
            let mailbox = run.mailbox(semaphore as usize);
            let woke = run.semaphores[semaphore as usize].post_to(mailbox);
            match (mailbox, reader) {
                (Some(_), _) => calls.message_ns(reader, woke),
                (None, Reader::Asleep) => calls.futex_ns,
                (None, Reader::Awake) => 0,
            }
        }
        TapeOp::Fork(tape) => {
            let before_ns = own_cpu_ns();
            children::make_thread(task, tape)?;
            own_cpu_ns() - before_ns
        }
        TapeOp::Sleep(ns) => sleep_until(task, now_ns().saturating_add(ns))?,
        // Kernels disagree whether a sleep until a time that has passed is one.
        TapeOp::Until(ns) if now_ns() >= start_ns + ns => 0,
        TapeOp::Until(ns) => sleep_until(task, start_ns + ns)?,
        TapeOp::Nice(nice) => {
            attributes::set_nice(nice).map_err(|errno| task.fail(Fault::Nice, errno))?;
            0
        }
        TapeOp::Yield => {
            yield_now();
            calls.futex_ns
        }
    })
}

/// Whether it slept for that.
fn receive(task: &Task, semaphore: u32) -> Result<bool, End> {
    let run = task.run;
    let mailbox = run.mailbox(semaphore as usize);
    Ok(run.semaphores[semaphore as usize].receive(mailbox, &run.control().stop)?)
}

fn yield_now() {
    // SAFETY: no arguments.
    unsafe { libc::sched_yield() };
}

fn sleep_until(task: &Task, until_ns: u64) -> Result<u64, End> {
    task.sleep_until(until_ns).map(|()| task.run.busy.calls.sleep_ns)
}
