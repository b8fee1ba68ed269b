// SPDX-License-Identifier: GPL-2.0-only
//! A task: plays a group's steps, as a thread or as a forked process.
//!
//! Nothing here allocates, locks or prints: a process forked from a process with threads may only
//! do what is async-signal-safe.

use std::mem::MaybeUninit;
use std::sync::atomic::Ordering::SeqCst;

use crate::player::busy::spin;
use crate::player::clock::{now_ns, sleep_until};
use crate::player::futex::Stopped;
use crate::player::run_state::{Fault, GroupTally, RunState, TaskSlot};
use crate::player::score::{Group, Op};
use crate::player::timers::Timers;
use crate::player::{attributes, children, files, messages};

/// Why a task ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It has played all its steps, or reached `exit`.
    Played,
    /// The trial is over, or the task has reported a fault.
    Stopped,
}

/// Go on, or end.
pub type Flow = Result<(), End>;

impl From<Stopped> for End {
    fn from(_: Stopped) -> End {
        End::Stopped
    }
}

/// Bytes that a task reads or writes at once.
pub const BUFFER: usize = 16 * 1024;

/// A task that is playing.
pub struct Task<'a> {
    /// What it shares with the others.
    pub run: &'a RunState,
    /// Its group's number.
    pub group: usize,
    /// Its number in the group.
    pub number: u32,
    /// Where it leaves its results; a forked process has none.
    pub slot: Option<&'a TaskSlot>,
    /// Its timers.
    pub timers: Timers,
    /// Steps played so far.
    pub steps: u64,
    /// Its own file, if it has one yet.
    pub file: Option<files::OwnFile>,
    /// Room for what it reads and writes.
    pub buffer: MaybeUninit<[u8; BUFFER]>,
}

impl<'a> Task<'a> {
    /// A task that has not begun. `start_ns` is where its timers' grids begin.
    pub fn new(run: &'a RunState, group: usize, number: u32, start_ns: u64) -> Task<'a> {
        Task {
            run,
            group,
            number,
            slot: None,
            timers: Timers::new(start_ns),
            steps: 0,
            file: None,
            buffer: MaybeUninit::uninit(),
        }
    }

    /// The plan of its group.
    pub fn plan(&self) -> &'a Group {
        &self.run.score.groups[self.group]
    }

    /// What its group leaves behind.
    pub fn tally(&self) -> &'a GroupTally {
        &self.run.groups[self.group]
    }

    /// Plays all rounds.
    pub fn play(&mut self) -> End {
        let plan = self.plan();
        let mut rounds = 0;
        while plan.repeat.is_none_or(|repeat| rounds < repeat) {
            if self.over().is_err() {
                return End::Stopped;
            }
            if let Err(end) = self.steps(&plan.ops) {
                return end;
            }
            rounds += 1;
            if let Some(slot) = self.slot.filter(|_| self.run.counting()) {
                slot.rounds.fetch_add(1, SeqCst);
            }
        }
        End::Played
    }

    /// Ends the task when the trial is over.
    pub fn over(&self) -> Flow {
        if self.run.stopped() { Err(End::Stopped) } else { Ok(()) }
    }

    /// Reports a fault, which ends the trial.
    pub fn fail(&self, fault: Fault, errno: attributes::Errno) -> End {
        self.run.report(fault, self.group, errno);
        End::Stopped
    }

    fn steps(&mut self, ops: &'a [Op]) -> Flow {
        for op in ops {
            self.over()?;
            self.step(op)?;
            // A loop is as long as what it repeats, and a span as what it measures.
            self.steps += u64::from(op.inner().is_empty());
        }
        Ok(())
    }

    fn step(&mut self, op: &'a Op) -> Flow {
        match op {
            Op::Run { us } => self.run(*us),
            Op::RunUntil { ns } => self.run_until(now_ns().saturating_add(*ns)),
            Op::Sleep { ns } => self.sleep_until(now_ns().saturating_add(*ns)),
            Op::Timer(number) => self.timer(*number),
            Op::Send { channel, bytes, fan } => messages::send(self, *channel, *bytes, *fan),
            Op::Receive { channel, bytes } => messages::receive(self, *channel, *bytes),
            Op::Write { bytes, sync } => files::write(self, *bytes, *sync),
            Op::Read { bytes } => files::read(self, *bytes),
            Op::Fork { group, count } => children::fork(self, *group, *count),
            Op::WaitChildren => children::wait(self),
            Op::Exec => Err(children::exec(self)),
            Op::Exit => Err(End::Played),
            Op::Within { limit_ns, ops } => self.within(*limit_ns, ops),
            Op::Loop { count, ops } => self.repeat(*count, ops),
            Op::Yield | Op::Nice(_) | Op::Policy(_) | Op::Affinity(_) => self.change(op),
            meeting => self.meet(meeting),
        }
    }

    fn repeat(&mut self, count: u64, ops: &'a [Op]) -> Flow {
        for _ in 0..count {
            self.over()?;
            self.steps(ops)?;
        }
        Ok(())
    }

    /// Measures how long the steps take. What the end of the run finds unfinished counts only if it
    /// is too old already: nobody knows how long the rest would have taken.
    fn within(&mut self, limit_ns: u64, ops: &'a [Op]) -> Flow {
        let start_ns = now_ns();
        let flow = self.steps(ops);
        let (run, tally) = (self.run, self.tally());
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

    /// The steps in which tasks wait for each other.
    fn meet(&mut self, op: &Op) -> Flow {
        let run = self.run;
        let stop = &run.control().stop;
        match *op {
            Op::Lock(lock) => run.locks[lock].take(stop)?,
            Op::Unlock(lock) => run.locks[lock].release(),
            Op::Wait { condition, lock } => {
                run.conditions[condition].wait(Some(&run.locks[lock]), stop)?;
            }
            Op::Signal(condition) => run.conditions[condition].signal(),
            Op::Broadcast(condition) | Op::Resume(condition) => {
                run.conditions[condition].broadcast();
            }
            Op::Sync { condition, lock } => {
                run.conditions[condition].signal();
                run.conditions[condition].wait(Some(&run.locks[lock]), stop)?;
            }
            Op::Barrier(number) => {
                run.barriers[number].wait(run.score.barriers[number], stop)?;
            }
            Op::Suspend(condition) => run.conditions[condition].wait(None, stop)?,
            Op::Post(semaphore) => run.semaphores[semaphore].post(),
            Op::Take(semaphore) => run.semaphores[semaphore].wait(stop)?,
            _ => {}
        }
        Ok(())
    }

    /// The steps with which a task changes itself.
    fn change(&mut self, op: &Op) -> Flow {
        let (fault, result) = match op {
            Op::Nice(nice) => (Fault::Nice, attributes::set_nice(*nice)),
            Op::Policy(policy) => (Fault::Policy, attributes::set_policy(0, policy)),
            Op::Affinity(cpus) => (Fault::Affinity, attributes::set_affinity(cpus)),
            _ => {
                // SAFETY: no arguments.
                unsafe { libc::sched_yield() };
                return Ok(());
            }
        };
        result.map_err(|errno| self.fail(fault, errno))
    }

    /// Uses CPU time, and looks up every 50 µs to see whether the trial is over.
    fn run(&mut self, us: u64) -> Flow {
        let per_ms = self.run.rounds_per_ms;
        let chunk = (per_ms / 20).max(1);
        let mut left = (u128::from(us) * u128::from(per_ms) / 1_000) as u64;
        while left > chunk {
            spin(chunk);
            left -= chunk;
            self.over()?;
        }
        spin(left);
        Ok(())
    }

    fn run_until(&mut self, until_ns: u64) -> Flow {
        let chunk = (self.run.rounds_per_ms / 500).max(1);
        while now_ns() < until_ns {
            spin(chunk);
            self.over()?;
        }
        Ok(())
    }

    /// Sleeps; a signal ends it early only when the trial is over.
    pub fn sleep_until(&mut self, until_ns: u64) -> Flow {
        while !sleep_until(until_ns) {
            self.over()?;
        }
        self.over()
    }

    fn timer(&mut self, number: usize) -> Flow {
        let plan = self.plan().timers[number];
        let arrival_ns = now_ns();
        let counting = self.run.counting();
        let release_ns = self.timers.arrive(number, plan, arrival_ns, counting, self.tally());
        if release_ns > arrival_ns {
            self.sleep_until(release_ns)?;
        }
        let seen_ns = now_ns();
        let counting = self.run.counting();
        // The step that this is has not been counted yet.
        self.timers.release(number, seen_ns, counting, self.steps + 1, self.tally());
        Ok(())
    }
}
