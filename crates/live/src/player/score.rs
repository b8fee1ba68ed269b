// SPDX-License-Identifier: GPL-2.0-only
//! The score: a workload with every name resolved to a number, so that playing it neither searches
//! nor allocates — not even in a forked process.

use std::ffi::CString;

use model::workload::barrier_users;
use model::{Policy, PolicyClass, Seed, Step, TaskGroup, Workload};

use crate::player::attributes::{LAB_PRIORITY, cpu_set};
use crate::player::score::names::{Names, first_use};

mod names;

/// Timers that one task can have.
pub const MAX_TIMERS: usize = 8;

const US: u64 = 1_000;

/// A workload that can be played.
pub struct Score {
    /// The groups in the workload's order, without those that have no tasks.
    pub groups: Vec<Group>,
    /// When tasks are told to stop, after the common start.
    pub duration_ns: Option<u64>,
    /// Members of each channel.
    pub channels: Vec<u32>,
    /// How many locks there are.
    pub locks: usize,
    /// How many conditions there are, the ones of `suspend` included.
    pub conditions: usize,
    /// How many semaphores there are.
    pub semaphores: usize,
    /// How many tasks meet at each barrier.
    pub barriers: Vec<u32>,
}

/// A group of equal tasks.
pub struct Group {
    /// The group's name.
    pub name: String,
    /// The threads' name.
    pub comm: CString,
    /// Start of each task after the common start, in order; empty for a template.
    pub starts_ns: Vec<u64>,
    /// Whether only `fork` steps make its tasks.
    pub template: bool,
    /// How often the steps are played.
    pub repeat: Option<u64>,
    /// The policy that its tasks start with.
    pub policy: Policy,
    /// The CPUs that its tasks start on.
    pub affinity: Option<libc::cpu_set_t>,
    /// What its tasks do.
    pub ops: Vec<Op>,
    /// Its timers.
    pub timers: Vec<TimerPlan>,
    /// The number of its first task among all.
    pub first_task: usize,
}

/// A timer's constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerPlan {
    /// The period.
    pub period_ns: u64,
    /// See [`model::workload::Timer`].
    pub relative: bool,
    /// See [`model::workload::Timer`].
    pub skip: bool,
}

/// A step with numbers for names.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Op {
    Run { us: u64 },
    RunUntil { ns: u64 },
    Sleep { ns: u64 },
    Timer(usize),
    Lock(usize),
    Unlock(usize),
    Wait { condition: usize, lock: usize },
    Signal(usize),
    Broadcast(usize),
    Sync { condition: usize, lock: usize },
    Barrier(usize),
    Suspend(usize),
    Resume(usize),
    Post(usize),
    Take(usize),
    Send { channel: usize, bytes: usize, fan: u32 },
    Receive { channel: usize, bytes: usize },
    Write { bytes: u64, sync: bool },
    Read { bytes: u64 },
    Fork { group: usize, count: u32 },
    WaitChildren,
    Exec,
    Exit,
    Yield,
    Nice(i32),
    Policy(Policy),
    Affinity(libc::cpu_set_t),
    Within { limit_ns: u64, ops: Vec<Op> },
    Loop { count: u64, ops: Vec<Op> },
}

impl Score {
    /// Resolves a workload; `policy` is the contestant's for groups without their own. Fails with a
    /// sentence that says what cannot be played.
    pub fn new(workload: &Workload, policy: Policy, seed: Seed) -> Result<Score, String> {
        let tasks: Vec<&TaskGroup> =
            workload.tasks.iter().filter(|group| group.template || group.count > 0).collect();
        let mut names = Names::new(&tasks, &workload.channels);
        let mut groups = Vec::with_capacity(tasks.len());
        let mut first_task = 0;
        for group in &tasks {
            let resolved = resolve_group(group, &mut names, policy, seed, first_task)
                .map_err(|why| format!("task group `{}`: {why}", group.name))?;
            first_task += resolved.starts_ns.len();
            groups.push(resolved);
        }
        let barriers =
            names.barriers.iter().map(|barrier| barrier_users(&tasks, barrier)).collect();
        Ok(Score {
            groups,
            duration_ns: workload.duration_us.map(|us| us * US),
            channels: workload.channels.iter().map(|channel| channel.count).collect(),
            locks: names.locks.len(),
            conditions: names.conditions.len(),
            semaphores: names.semaphores.len(),
            barriers,
        })
    }

    /// All tasks that start by themselves.
    pub fn tasks(&self) -> usize {
        self.groups.iter().map(|group| group.starts_ns.len()).sum()
    }

    /// Of these, the ones that end by themselves.
    pub fn finite_tasks(&self) -> usize {
        let finite = self.groups.iter().filter(|group| group.is_finite());
        finite.map(|group| group.starts_ns.len()).sum()
    }

    /// Whether any task forks.
    pub fn forks(&self) -> bool {
        self.groups.iter().any(|group| any(&group.ops, &|op| matches!(op, Op::Fork { .. })))
    }
}

impl Group {
    /// Whether its tasks end by themselves. There is no "if" among the steps: an `exit` is reached.
    pub fn is_finite(&self) -> bool {
        !self.template && (self.repeat.is_some() || any(&self.ops, &|op| matches!(op, Op::Exit)))
    }

    /// Whether its processes replace their program, after which nothing can be seen from inside.
    pub fn execs(&self) -> bool {
        any(&self.ops, &|op| matches!(op, Op::Exec))
    }

    /// Whether its tasks play spans.
    pub fn has_spans(&self) -> bool {
        any(&self.ops, &|op| matches!(op, Op::Within { .. }))
    }

    /// Whether its tasks use files.
    pub fn has_files(&self) -> bool {
        any(&self.ops, &|op| matches!(op, Op::Write { .. } | Op::Read { .. }))
    }

    /// The groups whose processes its tasks fork, each once.
    pub fn forked(&self) -> Vec<usize> {
        let mut groups = Vec::new();
        collect_forked(&self.ops, &mut groups);
        groups
    }
}

impl Op {
    /// The steps that this step plays; none if it plays no others.
    pub fn inner(&self) -> &[Op] {
        match self {
            Op::Loop { ops, .. } | Op::Within { ops, .. } => ops,
            _ => &[],
        }
    }
}

fn collect_forked(ops: &[Op], groups: &mut Vec<usize>) {
    for op in ops {
        match op {
            Op::Fork { group, .. } if !groups.contains(group) => groups.push(*group),
            other => collect_forked(other.inner(), groups),
        }
    }
}

fn any(ops: &[Op], test: &dyn Fn(&Op) -> bool) -> bool {
    ops.iter().any(|op| test(op) || any(op.inner(), test))
}

fn resolve_group(
    group: &TaskGroup,
    names: &mut Names,
    policy: Policy,
    seed: Seed,
    first_task: usize,
) -> Result<Group, String> {
    let mut timers = Timers { names: Vec::new(), plans: Vec::new() };
    let ops = resolve_steps(&group.steps, group, names, &mut timers)?;
    let count = if group.template { 0 } else { group.count };
    let start = |task| (group.delay_us + jitter_us(group, task, seed)) * US;
    Ok(Group {
        name: group.name.clone(),
        comm: CString::new(group.name.as_str()).map_err(|_| "a name cannot hold a zero byte")?,
        starts_ns: (0..count).map(start).collect(),
        template: group.template,
        repeat: if group.template { Some(1) } else { group.repeat },
        policy: checked(group.policy.unwrap_or(policy))?,
        affinity: if group.affinity.is_empty() { None } else { Some(cpus(&group.affinity)?) },
        ops,
        timers: timers.plans,
        first_task,
    })
}

fn jitter_us(group: &TaskGroup, task: u32, seed: Seed) -> u64 {
    seed.derive(&format!("jitter {} {task}", group.name)).below(group.jitter_us)
}

struct Timers {
    names: Vec<String>,
    plans: Vec<TimerPlan>,
}

impl Timers {
    fn number(&mut self, timer: &model::workload::Timer) -> Result<usize, String> {
        let plan = TimerPlan {
            period_ns: timer.period_us * US,
            relative: timer.relative,
            skip: timer.skip,
        };
        let number = first_use(&mut self.names, &timer.name);
        match self.plans.get(number) {
            _ if plan.period_ns == 0 => Err("a timer's period_us must be at least 1".into()),
            Some(&known) if known == plan => Ok(number),
            Some(_) => Err(format!("timer `{}` differs; give each timer a name", timer.name)),
            None if number >= MAX_TIMERS => Err(format!("at most {MAX_TIMERS} timers per task")),
            None => {
                self.plans.push(plan);
                Ok(number)
            }
        }
    }
}

fn resolve_steps(
    steps: &[Step],
    group: &TaskGroup,
    names: &mut Names,
    timers: &mut Timers,
) -> Result<Vec<Op>, String> {
    steps.iter().map(|step| resolve(step, group, names, timers)).collect()
}

fn resolve(
    step: &Step,
    group: &TaskGroup,
    names: &mut Names,
    timers: &mut Timers,
) -> Result<Op, String> {
    Ok(match step {
        Step::RunUs(us) => Op::Run { us: *us },
        Step::RunUntilUs(us) => Op::RunUntil { ns: us * US },
        Step::SleepUs(us) => Op::Sleep { ns: us * US },
        Step::Timer(timer) => Op::Timer(timers.number(timer)?),
        Step::Send { channel, bytes, fan } => {
            let channel = names.channel(channel)?;
            Op::Send { channel, bytes: *bytes as usize, fan: (*fan).max(1) }
        }
        Step::Receive { channel, bytes } => {
            Op::Receive { channel: names.channel(channel)?, bytes: *bytes as usize }
        }
        Step::WriteFile { bytes, sync } => Op::Write { bytes: *bytes, sync: *sync },
        Step::ReadFile { bytes } => Op::Read { bytes: *bytes },
        Step::Fork { task, count } => Op::Fork { group: names.template(task)?, count: *count },
        Step::WaitChildren => Op::WaitChildren,
        Step::Exec if group.template => Op::Exec,
        Step::Exec => return Err("`exec` is for templates: it would replace the lab".into()),
        Step::Exit => Op::Exit,
        Step::Yield => Op::Yield,
        Step::Nice(nice) => Op::Nice(*nice),
        Step::Policy(policy) => Op::Policy(checked(*policy)?),
        Step::Affinity(list) => Op::Affinity(cpus(list)?),
        Step::Within { .. } if group.template => {
            return Err("a template cannot use `within`: put it into the task that forks".into());
        }
        Step::Within { us, steps } => {
            Op::Within { limit_ns: us * US, ops: resolve_steps(steps, group, names, timers)? }
        }
        Step::Loop { count, steps } => {
            Op::Loop { count: *count, ops: resolve_steps(steps, group, names, timers)? }
        }
        meeting => resolve_meeting(meeting, group, names)?,
    })
}

/// The steps with which tasks wait for each other.
fn resolve_meeting(step: &Step, group: &TaskGroup, names: &mut Names) -> Result<Op, String> {
    Ok(match step {
        Step::Lock(lock) => Op::Lock(names.lock(lock)),
        Step::Unlock(lock) => Op::Unlock(names.lock(lock)),
        Step::Wait { condition, lock } => {
            Op::Wait { condition: names.condition(condition), lock: names.lock(lock) }
        }
        Step::Signal(condition) => Op::Signal(names.condition(condition)),
        Step::Broadcast(condition) => Op::Broadcast(names.condition(condition)),
        Step::Sync { condition, lock } => {
            Op::Sync { condition: names.condition(condition), lock: names.lock(lock) }
        }
        Step::Barrier(_) if group.template => {
            return Err("a template cannot use `barrier`: nobody knows how many will come".into());
        }
        Step::Barrier(barrier) => Op::Barrier(first_use(&mut names.barriers, barrier)),
        Step::Suspend(name) => Op::Suspend(names.suspension(name, group)),
        Step::Resume(name) => Op::Resume(names.suspension(name, group)),
        Step::SemaphorePost(name) => Op::Post(first_use(&mut names.semaphores, name)),
        Step::SemaphoreWait(name) => Op::Take(first_use(&mut names.semaphores, name)),
        other => return Err(format!("the player does not know the step {other:?}")),
    })
}

fn checked(policy: Policy) -> Result<Policy, String> {
    let real_time = matches!(policy.class, PolicyClass::Fifo | PolicyClass::Rr);
    if real_time && !(1..LAB_PRIORITY).contains(&policy.priority) {
        return Err(format!(
            "priority {} cannot be used: write 1 … 98 ({LAB_PRIORITY} is kept for the lab, which \
             must be able to end the trial)",
            policy.priority
        ));
    }
    Ok(policy)
}

fn cpus(list: &[u32]) -> Result<libc::cpu_set_t, String> {
    cpu_set(list).ok_or_else(|| format!("CPU numbers must be below {}", libc::CPU_SETSIZE))
}

#[cfg(test)]
mod tests;
