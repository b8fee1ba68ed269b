// SPDX-License-Identifier: GPL-2.0-only
//! Plays what one task of a recording did.
//!
//! A recorded time on a CPU contains the calls with which the task slept and woke others. The
//! player makes such calls itself. So it computes each recorded time less what the recorded calls
//! cost under the machine's own scheduler ([`CallCosts`]), and never looks at the clock: what the
//! scheduler under test costs more is not made up for. A message for which its reader slept in the
//! recording but does not in the replay, or the other way round, costs what it would have cost the
//! program. What the player itself computes between two calls is part of the recorded time, too.

use std::sync::atomic::Ordering::SeqCst;
use std::thread::yield_now;

use model::play::{Script, Setting};
use model::tape::{Reader, Recorded, TapesText};
use model::{Policy, Seed, Step, TapeOp, TaskGroup, Workload};

use crate::player::busy::BusyLoop;
use crate::player::call_costs::CallCosts;
use crate::player::clock::{now_ns, own_cpu_ns};
use crate::player::run_state::{Fault, RunState};
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
        owed_ns += run.busy.calls.operation_ns + if at == tape.len() { END_NS } else { 0 };
        task.use_cpu(ns.saturating_sub(owed_ns))?;
        owed_ns = owed_ns.saturating_sub(ns);
        if begins_again {
            task.count_round();
        }
    }
    Ok(())
}

/// What the player's calls cost on this machine, and what it computes itself.
pub fn call_costs() -> CallCosts {
    CallCosts::measured(|| messages_without_calls().unwrap_or(0))
}

/// CPU time of an operation without a call and of work of no length, from a tape that sends
/// messages and one that finds them there.
fn messages_without_calls() -> Option<u64> {
    const MESSAGES: usize = 100;
    let [sent, found] = ["r0 d1.1 ", "r0 t0.1 "].map(|message| message.repeat(MESSAGES));
    let text = TapesText(Some(format!("task 1 sends\n{sent}\ntask 2 reads\n{found}\n").into()));
    let tasks = TaskGroup { count: 2, ..TaskGroup::once("tapes", vec![Step::Tape]) };
    let recording = Some(Recorded { text, ..Recorded::default() });
    let workload = Workload { tasks: vec![tasks], recording, ..Workload::default() };
    let script =
        Script::new(&workload, Setting { policy: Policy::default(), seed: Seed(1), cpus: 1 })
            .ok()?;
    let run = RunState::new(script, BusyLoop::counted(), |_, _, _| (), Default::default()).ok()?;
    let tasks = [0, 1].map(|number| Task::new(&run, 0, number, 0));
    let used_ns = || {
        let before_ns = own_cpu_ns();
        tasks.iter().try_for_each(play).ok()?;
        Some((own_cpu_ns() - before_ns) / (2 * MESSAGES as u64))
    };
    // The first time, their memory is new.
    used_ns().and_then(|_| used_ns())
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
            calls.yield_ns
        }
    })
}

/// Whether it slept for that.
fn receive(task: &Task, semaphore: u32) -> Result<bool, End> {
    let run = task.run;
    let mailbox = run.mailbox(semaphore as usize);
    Ok(run.semaphores[semaphore as usize].receive(mailbox, &run.control().stop)?)
}

fn sleep_until(task: &Task, until_ns: u64) -> Result<u64, End> {
    task.sleep_until(until_ns).map(|()| task.run.busy.calls.sleep_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_players_own_work_is_known_and_small() {
        let operation_ns = messages_without_calls().expect("two tapes can be played");
        assert!((1..20_000).contains(&operation_ns), "{operation_ns} ns");
    }
}
