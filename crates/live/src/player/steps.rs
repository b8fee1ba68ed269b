// SPDX-License-Identifier: GPL-2.0-only
//! Goes through a task's operations and performs each.

use std::sync::atomic::Ordering::SeqCst;

use model::Protocol;
use model::play::{Op, TimerPlan};

use crate::player::clock::now_ns;
use crate::player::run_state::Fault;
use crate::player::task::{End, Flow, Task};
use crate::player::{attributes, children, futex, input_output, memory, tapes};

/// Plays all rounds of the task's group.
pub fn play(task: &mut Task) -> End {
    let plan = task.plan();
    let mut rounds = 0;
    while plan.repeat.is_none_or(|repeat| rounds < repeat) {
        if task.over().is_err() {
            return End::Stopped;
        }
        if let Err(end) = range(task, 0, plan.ops.len()) {
            return end;
        }
        rounds += 1;
        task.count_round();
    }
    End::Played
}

/// Plays the operations from `at` up to `end`.
fn range(task: &mut Task, mut at: usize, end: usize) -> Flow {
    let ops = &task.plan().ops;
    while at < end {
        task.over()?;
        at = match ops[at] {
            Op::LoopStart { count, end } => {
                repeat(task, count, at + 1, end)?;
                end + 1
            }
            Op::SpanStart { limit_ns, end } => {
                within(task, limit_ns, at + 1, end)?;
                end + 1
            }
            op => {
                step(task, op)?;
                task.steps += 1;
                at + 1
            }
        };
    }
    Ok(())
}

fn repeat(task: &mut Task, count: u64, at: usize, end: usize) -> Flow {
    for _ in 0..count {
        task.over()?;
        range(task, at, end)?;
    }
    Ok(())
}

/// Measures how long the operations take. A span that is unfinished at the end of the trial counts
/// only if it exceeds its limit already, because its full length is unknown.
fn within(task: &mut Task, limit_ns: u64, at: usize, end: usize) -> Flow {
    let start_ns = now_ns();
    let flow = range(task, at, end);
    let (run, tally) = (task.run, task.tally());
    if run.counting() {
        tally.span(now_ns().saturating_sub(start_ns), limit_ns);
        return flow;
    }
    let end_ns = run.control().end_ns.load(SeqCst);
    let age_ns = end_ns.saturating_sub(start_ns);
    if age_ns > limit_ns {
        tally.span(age_ns, limit_ns);
    }
    flow
}

fn step(task: &mut Task, op: Op) -> Flow {
    match op {
        Op::Run(ns) => task.use_cpu(ns),
        Op::RunBetween { least_ns, most_ns } => {
            let ns = task.chance.between(least_ns, most_ns);
            task.use_cpu(ns)
        }
        Op::RunUntil(ns) => use_cpu_until(task, now_ns().saturating_add(ns)),
        Op::Sleep(ns) => task.sleep_until(now_ns().saturating_add(ns)),
        Op::Timer { number, period_ns } => timer(task, number, period_ns),
        Op::Send { channel, bytes, fan } => input_output::send(task, channel, bytes, fan),
        Op::Receive { channel, bytes } => input_output::receive(task, channel, bytes),
        Op::Write { bytes, sync } => input_output::write(task, bytes, sync),
        Op::Read(bytes) => input_output::read(task, bytes),
        Op::Fill { bytes, buffer } => memory::write(task, bytes, buffer),
        Op::Discard { bytes, buffer } => memory::discard(task, bytes, buffer),
        Op::Fork { group, count } => children::fork(task, group, count, play),
        Op::WaitChildren => children::wait(task),
        Op::Exec => Err(children::exec(task)),
        Op::Frame => frame(task),
        Op::Exit => Err(End::Left),
        Op::Tape => tapes::play(task),
        Op::Yield | Op::Nice(_) | Op::Policy(_) | Op::Affinity(_) => change(task, op),
        Op::Uclamp(_) | Op::Group(_) | Op::SetGroup(_) => change(task, op),
        Op::MakeGroup(_) | Op::RemoveGroup(_) => change(task, op),
        op => synchronize(task, op),
    }
}

fn synchronize(task: &Task, op: Op) -> Flow {
    let run = task.run;
    let stop = &run.control().stop;
    match op {
        Op::Lock(lock) => take(task, lock)?,
        Op::Unlock(lock) => release(task, lock),
        Op::Wait { condition, lock, signal } => {
            if signal {
                run.conditions[condition].signal();
            }
            run.conditions[condition].wait(|| release(task, lock), stop)?;
            take(task, lock)?;
        }
        Op::Enlist { condition, signal } => {
            if signal {
                run.conditions[condition].signal();
            }
            task.ticket.set(run.conditions[condition].draw());
        }
        Op::Await(condition) => run.conditions[condition].await_turn(task.ticket.get(), stop)?,
        Op::Signal(condition) => run.conditions[condition].signal(),
        Op::Broadcast(condition) => run.conditions[condition].broadcast(),
        Op::Barrier(number) => run.barriers[number].wait(run.script.barriers[number], stop)?,
        Op::Suspend(condition) => run.conditions[condition].wait(|| (), stop)?,
        Op::Post(semaphore) => {
            run.semaphores[semaphore].post();
        }
        Op::Take(semaphore) => {
            run.semaphores[semaphore].wait(stop)?;
        }
        _ => {}
    }
    Ok(())
}

fn take(task: &Task, number: usize) -> Flow {
    let (run, control) = (task.run, task.run.control());
    let lock = &run.locks[number];
    if run.script.locks[number] != Protocol::Inherit {
        return Ok(lock.take(&control.stop)?);
    }
    match lock.take_inheriting(task.thread(), &control.patience) {
        Ok(()) => Ok(()),
        // The tasks wait for each other, or for one that ended and never released it, as they would
        // for mutexes without a protocol.
        Err(libc::EDEADLK | libc::ESRCH) => loop {
            task.over()?;
            futex::wait(&control.stop, 0);
        },
        // After the end the holder may be gone.
        Err(errno) => {
            task.over()?;
            Err(task.fail(Fault::Mutex, errno))
        }
    }
}

fn release(task: &Task, number: usize) {
    let lock = &task.run.locks[number];
    match task.run.script.locks[number] {
        Protocol::None | Protocol::Ceiling => lock.release(),
        Protocol::Inherit => lock.release_inheriting(task.thread()),
    }
}

/// Operations that change the task's own attributes.
fn change(task: &Task, op: Op) -> Flow {
    let run = task.run;
    let (fault, result) = match op {
        Op::Nice(nice) => (Fault::Nice, attributes::set_nice(nice)),
        Op::Policy(index) => {
            (Fault::Policy, attributes::set_policy(0, &run.script.policies[index]))
        }
        Op::Affinity(index) => (Fault::Affinity, attributes::set_affinity(&run.affinities[index])),
        Op::Uclamp(clamp) => (Fault::Clamp, attributes::set_util_clamp(&clamp)),
        Op::Group(group) => (Fault::Group, run.group_files.join(group)),
        Op::SetGroup(number) => (Fault::Group, run.group_files.change(number)),
        Op::MakeGroup(group) => (Fault::Group, run.group_files.make(group)),
        Op::RemoveGroup(group) => (Fault::Group, run.group_files.unmake(group)),
        _ => {
            // SAFETY: no arguments.
            unsafe { libc::sched_yield() };
            return Ok(());
        }
    };
    result.map_err(|errno| task.fail(fault, errno))
}

fn use_cpu_until(task: &Task, until_ns: u64) -> Flow {
    let busy = task.run.busy;
    let chunk = (busy.rounds_per_ms / 500).max(1);
    while now_ns() < until_ns {
        busy.spin(chunk);
        task.over()?;
    }
    Ok(())
}

fn frame(task: &mut Task) -> Flow {
    if task.run.counting() {
        let mut tally = task.tally();
        task.frames.show(now_ns(), &mut tally);
    }
    Ok(())
}

fn timer(task: &mut Task, number: usize, period_ns: u64) -> Flow {
    let plan = TimerPlan { period_ns, ..task.plan().timers[number] };
    let arrival_ns = now_ns();
    let mut tally = task.tally();
    let counted = task.run.counting().then_some(&mut tally);
    let own_ns = task.timers[number].last_ns();
    let last_ns = plan.shared.map_or(own_ns, |shared| {
        let next = |last_ns| plan.release_after(last_ns, arrival_ns).0;
        task.run.releases[shared].claim(own_ns, next)
    });
    let release_ns = task.timers[number].arrive(plan, last_ns, arrival_ns, counted);
    if release_ns > arrival_ns {
        task.sleep_until(release_ns)?;
    }
    let seen_ns = now_ns();
    let counted = task.run.counting().then_some(&mut tally);
    // The step that this is has not been counted yet.
    task.timers[number].release(seen_ns, task.steps + 1, counted);
    Ok(())
}
