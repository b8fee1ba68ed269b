// SPDX-License-Identifier: GPL-2.0-only
//! The steps of a group as a flat table of operations, with numbers for names.
//!
//! A loop or a span is a pair of operations around what it plays, so a player needs no tree: the
//! position in the table is the whole state.

use crate::{ControlGroup, Policy, Step, TaskGroup, UtilClamp, Workload};

use crate::play::ceilings::Priority;
use crate::play::limits::{self, BYTES_MAX, ENDLESS, ROUNDS_MAX, TIME_US_MAX};
use crate::play::names::{Names, Timers, first_use};
use crate::play::{Refusal, control_groups, policy};

/// One operation; see [`crate::Step`] for the meanings. Numbers of locks, conditions, … count from
/// 0 in the order of first use; times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Op {
    Run(u64),
    /// A time in this range, ends included, drawn from the task's seed.
    RunBetween {
        least_ns: u64,
        most_ns: u64,
    },
    RunUntil(u64),
    Sleep(u64),
    /// A timer's next release is this long after the last one.
    Timer {
        number: usize,
        period_ns: u64,
    },
    Lock(usize),
    Unlock(usize),
    /// With `signal` it is a `sync`, which first wakes one waiter.
    Wait {
        condition: usize,
        lock: usize,
        signal: bool,
    },
    /// Comes to the waiters of a condition, and sleeps at [`Op::Await`] unless it has been woken
    /// since. With `signal` it first wakes one waiter.
    Enlist {
        condition: usize,
        signal: bool,
    },
    Await(usize),
    Signal(usize),
    /// Also `resume`: both wake all waiters.
    Broadcast(usize),
    Barrier(usize),
    /// Waits for a condition without a lock.
    Suspend(usize),
    Post(usize),
    Take(usize),
    Send {
        channel: usize,
        bytes: u64,
        fan: u32,
    },
    Receive {
        channel: usize,
        bytes: u64,
    },
    Write {
        bytes: u64,
        sync: bool,
    },
    Read(u64),
    /// Writes to memory; `buffer` is at most `bytes`.
    Fill {
        bytes: u64,
        buffer: u64,
    },
    /// This many writes to `/dev/null` of at most `buffer` bytes each.
    Discard {
        bytes: u64,
        buffer: u64,
    },
    Fork {
        group: usize,
        count: u32,
    },
    WaitChildren,
    Exec,
    Exit,
    Yield,
    Nice(i32),
    /// An index of [`crate::play::Script::policies`].
    Policy(usize),
    /// An index of [`crate::play::Script::affinities`].
    Affinity(usize),
    Uclamp(UtilClamp),
    /// The control group that the task moves to; none: the workload's own.
    Group(Option<usize>),
    /// An index of [`crate::play::Script::group_changes`].
    SetGroup(usize),
    /// A control group that is not there at the beginning.
    MakeGroup(usize),
    RemoveGroup(usize),
    /// `end` is the position of the matching [`Op::SpanEnd`].
    SpanStart {
        limit_ns: u64,
        end: usize,
    },
    SpanEnd,
    Frame,
    /// The tape of the task; see [`crate::play::Script::tapes`].
    Tape,
    /// `end` is the position of the matching [`Op::LoopEnd`].
    LoopStart {
        count: u64,
        end: usize,
    },
    /// `start` is the position of the matching [`Op::LoopStart`].
    LoopEnd {
        start: usize,
    },
}

pub(crate) struct Resolver<'a> {
    pub group: &'a TaskGroup,
    pub names: &'a mut Names,
    pub workload: &'a Workload,
    pub priority: Priority,
    pub cpus: u32,
    pub ops: Vec<Op>,
    pub timers: Timers,
}

impl Resolver<'_> {
    /// Appends operations for `steps`.
    pub fn steps(&mut self, steps: &[Step]) -> Result<(), Refusal> {
        for (index, step) in steps.iter().enumerate() {
            self.step(step).map_err(|refusal| refusal.inside(format_args!("steps[{index}]")))?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), Refusal> {
        match step {
            Step::Loop { count, steps } => self.repeat(*count, steps),
            Step::Within { us, steps } => self.within(*us, steps),
            Step::Join(group) => self.join(group),
            _ if self.with_ceiling(step)? => Ok(()),
            _ => {
                let op = self.op(step)?;
                self.ops.push(op);
                Ok(())
            }
        }
    }

    fn repeat(&mut self, count: u64, steps: &[Step]) -> Result<(), Refusal> {
        if steps.is_empty() {
            return Err(Refusal::new("a loop without steps", "write its steps or delete it"));
        }
        if count != ENDLESS {
            limits::range("rounds", count, 0, ROUNDS_MAX)?;
        }
        let (start, own) = (self.ops.len(), self.priority.own);
        self.ops.push(Op::LoopStart { count, end: 0 });
        self.steps(steps).map_err(|refusal| refusal.inside("loop"))?;
        self.priority.check_round(&own)?;
        self.ops[start] = Op::LoopStart { count, end: self.ops.len() };
        self.ops.push(Op::LoopEnd { start });
        Ok(())
    }

    fn within(&mut self, us: u64, steps: &[Step]) -> Result<(), Refusal> {
        if self.group.template {
            return Err(Refusal::new(
                "the end of a forked task's span cannot be seen",
                "put it into the task that forks, around the fork and wait_children",
            ));
        }
        if steps.is_empty() {
            return Err(Refusal::new("a span without steps", "write its steps or delete it"));
        }
        limits::range("a span's limit in µs", us, 1, TIME_US_MAX)?;
        let (start, limit_ns) = (self.ops.len(), limits::time_ns(us)?);
        self.ops.push(Op::SpanStart { limit_ns, end: 0 });
        self.steps(steps).map_err(|refusal| refusal.inside("within"))?;
        self.ops[start] = Op::SpanStart { limit_ns, end: self.ops.len() };
        self.ops.push(Op::SpanEnd);
        Ok(())
    }

    fn op(&mut self, step: &Step) -> Result<Op, Refusal> {
        Ok(match step {
            Step::RunUs(us) => Op::Run(limits::time_ns(*us)?),
            Step::RunBetweenUs { least, most } => self.run_between(*least, *most)?,
            Step::RunUntilUs(us) => Op::RunUntil(limits::time_ns(*us)?),
            Step::SleepUs(us) => Op::Sleep(limits::time_ns(*us)?),
            Step::Timer(timer) => Op::Timer {
                number: self.timers.number(timer, &mut self.names.timers)?,
                period_ns: limits::time_ns(timer.period_us)?,
            },
            Step::Send { channel, bytes, fan } => Op::Send {
                channel: self.names.channel(channel)?,
                bytes: message_bytes(*bytes)?,
                fan: (*fan).max(1),
            },
            Step::Receive { channel, bytes } => {
                Op::Receive { channel: self.names.channel(channel)?, bytes: message_bytes(*bytes)? }
            }
            Step::WriteFile { bytes, sync } => {
                Op::Write { bytes: file_bytes(*bytes)?, sync: *sync }
            }
            Step::ReadFile { bytes } => Op::Read(file_bytes(*bytes)?),
            Step::WriteMemory { bytes, buffer } => {
                let (bytes, buffer) = buffered(*bytes, *buffer)?;
                Op::Fill { bytes, buffer }
            }
            Step::WriteNull { bytes, buffer } => {
                let (bytes, buffer) = buffered(*bytes, *buffer)?;
                Op::Discard { bytes, buffer }
            }
            Step::Fork { task, count } => {
                Op::Fork { group: self.names.template(task)?, count: *count }
            }
            Step::WaitChildren => Op::WaitChildren,
            Step::Exec if self.group.template => Op::Exec,
            Step::Frame if self.group.template => {
                return Err(Refusal::new(
                    "a forked task shows one frame at most, and a frame time needs two",
                    "put it into a task that starts by itself",
                ));
            }
            Step::Frame => Op::Frame,
            Step::Exec => {
                let hint = "put it into a task with 'template = true'";
                return Err(Refusal::new("only a forked task can exec", hint));
            }
            Step::Exit => Op::Exit,
            Step::Yield => Op::Yield,
            Step::Tape => Op::Tape,
            Step::Nice(_) | Step::Policy(_) | Step::Affinity(_) => self.change(step)?,
            Step::Uclamp(clamp) => {
                limits::util_clamp(clamp)?;
                Op::Uclamp(*clamp)
            }
            Step::Group(name) => Op::Group(self.names.control_group(name)?),
            Step::SetGroup(change) => self.set_group(change)?,
            Step::MakeGroup(name) => Op::MakeGroup(self.names.absent_group(name)?),
            Step::RemoveGroup(name) => Op::RemoveGroup(self.names.absent_group(name)?),
            step => self.synchronization(step)?,
        })
    }

    fn set_group(&mut self, change: &ControlGroup) -> Result<Op, Refusal> {
        let number = self.names.control_group(&change.name)?.ok_or_else(|| {
            Refusal::new("the workload's own group has no settings", "name a group")
        })?;
        if change.absent {
            let hint = "write it in the group's table, and the step remove_group here";
            return Err(Refusal::new("a change cannot make a group absent", hint));
        }
        control_groups::check(change, self.cpus)?;
        self.names.group_changes.push((number, change.clone()));
        Ok(Op::SetGroup(self.names.group_changes.len() - 1))
    }

    fn run_between(&self, least: u64, most: u64) -> Result<Op, Refusal> {
        if self.group.template {
            return Err(Refusal::new(
                "a forked task draws no times",
                "write run_us, and a template for each length",
            ));
        }
        if least > most {
            let message = format!("from {least} to {most} µs there is no time");
            return Err(Refusal::new(message, "write the smaller one as `least`"));
        }
        Ok(Op::RunBetween { least_ns: limits::time_ns(least)?, most_ns: limits::time_ns(most)? })
    }

    /// Steps that change the task's own attributes.
    fn change(&mut self, step: &Step) -> Result<Op, Refusal> {
        match step {
            Step::Nice(nice) => {
                policy::check(&Policy { nice: *nice, ..Policy::default() })?;
                Ok(Op::Nice(*nice))
            }
            Step::Policy(policy) => {
                policy::check(policy)?;
                let policy = self.own_policy(policy)?;
                self.names.policies.push(policy);
                Ok(Op::Policy(self.names.policies.len() - 1))
            }
            Step::Affinity(list) if list.is_empty() => {
                Err(Refusal::new("an empty list of CPUs", "name at least one CPU"))
            }
            Step::Affinity(list) => {
                limits::affinity(list, self.cpus)?;
                self.names.affinities.push(list.clone());
                Ok(Op::Affinity(self.names.affinities.len() - 1))
            }
            other => Err(unknown(other)),
        }
    }

    fn synchronization(&mut self, step: &Step) -> Result<Op, Refusal> {
        let (names, own) = (&mut *self.names, self.group.name.as_str());
        Ok(match step {
            Step::Lock(lock) => Op::Lock(names.lock(lock)),
            Step::Unlock(lock) => Op::Unlock(names.lock(lock)),
            Step::Wait { condition, lock } | Step::Sync { condition, lock } => Op::Wait {
                condition: names.condition(condition),
                lock: names.lock(lock),
                signal: matches!(step, Step::Sync { .. }),
            },
            Step::Signal(condition) => Op::Signal(names.condition(condition)),
            Step::Broadcast(condition) => Op::Broadcast(names.condition(condition)),
            Step::Barrier(_) if self.group.template => {
                return Err(Refusal::new(
                    "a forked task cannot wait at a barrier: how many will come is not known",
                    "put it into a task that starts by itself",
                ));
            }
            Step::Barrier(barrier) => Op::Barrier(first_use(&mut names.barriers, barrier)),
            Step::Suspend(name) => Op::Suspend(names.suspension(name, own)),
            Step::Resume(name) => Op::Broadcast(names.suspension(name, own)),
            Step::SemaphorePost(name) => Op::Post(names.semaphore(name)),
            Step::SemaphoreWait(name) => Op::Take(names.semaphore(name)),
            other => return Err(unknown(other)),
        })
    }
}

fn unknown(step: &Step) -> Refusal {
    Refusal::new(format!("no player knows the step {step:?}"), "leave it out")
}

fn message_bytes(bytes: u32) -> Result<u64, Refusal> {
    limits::range("message bytes", u64::from(bytes), 1, BYTES_MAX)
}

/// A number of bytes, and what of a buffer they reach.
fn buffered(bytes: u64, buffer: u64) -> Result<(u64, u64), Refusal> {
    let bytes = limits::range("bytes", bytes, 1, BYTES_MAX)?;
    Ok((bytes, limits::range("buffer bytes", buffer, 1, BYTES_MAX)?.min(bytes)))
}

fn file_bytes(bytes: u64) -> Result<u64, Refusal> {
    limits::range("file bytes", bytes, 1, BYTES_MAX)
}
