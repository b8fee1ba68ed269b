// SPDX-License-Identifier: GPL-2.0-only
//! The score: a workload with every name resolved to a number, and loops made flat.

use model::workload::barrier_users;
use model::{Policy, PolicyClass, SchedulerChoice, Seed, Step, TaskGroup, Trial, Workload};

const US: u64 = 1_000;
/// Kept for the lab on real kernels, so workloads cannot have it anywhere.
pub(crate) const LAB_PRIORITY: u32 = 99;

/// A workload that can be played.
#[derive(Default)]
pub struct Score {
    /// The groups in the workload's order, without those that have no tasks.
    pub groups: Vec<Group>,
    /// When tasks are told to stop.
    pub duration_ns: Option<u64>,
    /// The first pipe of each channel, and how many it has.
    pub channels: Vec<(usize, u32)>,
    /// How many tasks meet at each barrier.
    pub barriers: Vec<u32>,
    /// How many locks, conditions (with `suspend`'s) and semaphores there are.
    pub counts: [usize; 3],
    /// CPU lists that tasks change to.
    pub affinities: Vec<Vec<u32>>,
}

/// A group of equal tasks.
#[derive(Default)]
pub struct Group {
    /// The group's name.
    pub name: String,
    /// Start of each task after the common start; empty for a template.
    pub starts_ns: Vec<u64>,
    /// Whether only `fork` steps make its tasks.
    pub template: bool,
    /// How often the steps are played.
    pub repeat: Option<u64>,
    /// The policy that its tasks start with.
    pub policy: Policy,
    /// The CPUs that its tasks start on; empty: all.
    pub affinity: Vec<u32>,
    /// What its tasks do.
    pub ops: Vec<Op>,
    /// Its timers.
    pub timers: Vec<TimerPlan>,
    /// Whether its tasks play spans.
    pub has_spans: bool,
    /// Whether its tasks end by themselves.
    pub finite: bool,
}

/// A timer's constants; see [`model::workload::Timer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct TimerPlan {
    pub period_ns: u64,
    pub relative: bool,
    pub skip: bool,
}

/// A step with numbers for names.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Op {
    Run(u64),
    RunUntil(u64),
    Sleep(u64),
    Timer(usize),
    Lock(usize),
    Unlock(usize),
    Wait { condition: usize, lock: usize, signal: bool },
    Signal(usize),
    Broadcast(usize),
    Barrier(usize),
    Suspend(usize),
    Post(usize),
    Take(usize),
    Send { channel: usize, bytes: u64, fan: u32 },
    Receive { channel: usize, bytes: u64 },
    Write { bytes: u64, sync: bool },
    Read(u64),
    Fork { group: usize, count: u32 },
    WaitChildren,
    Exec,
    Exit,
    Yield,
    Nice(i32),
    Policy(Policy),
    Affinity(usize),
    SpanStart { limit_ns: u64 },
    SpanEnd,
    LoopStart { count: u64, end: usize },
    LoopEnd { start: usize },
}

#[derive(Default)]
struct Names {
    groups: Vec<(String, bool)>,
    channels: Vec<String>,
    locks: Vec<String>,
    conditions: Vec<String>,
    semaphores: Vec<String>,
    barriers: Vec<String>,
    timers: Vec<String>,
    affinities: Vec<Vec<u32>>,
}

impl Score {
    /// Resolves a trial's workload.
    ///
    /// # Errors
    /// A sentence that says what cannot be played, and what to write instead.
    pub fn new(trial: &Trial) -> Result<Score, String> {
        let workload = &trial.workload;
        if workload.program.is_some() {
            return Err("a real program cannot run in the simulator; use the vm backend".into());
        }
        let policy = match &trial.contestant.scheduler {
            SchedulerChoice::Policy { policy } => *policy,
            _ => Policy::default(),
        };
        let tasks: Vec<&TaskGroup> =
            workload.tasks.iter().filter(|group| group.template || group.count > 0).collect();
        let mut names = Names {
            groups: tasks.iter().map(|group| (group.name.clone(), group.template)).collect(),
            channels: workload.channels.iter().map(|channel| channel.name.clone()).collect(),
            ..Names::default()
        };
        let mut groups = Vec::with_capacity(tasks.len());
        for group in &tasks {
            let resolved = resolve_group(group, &mut names, policy, trial)
                .map_err(|why| format!("task group `{}`: {why}", group.name))?;
            groups.push(resolved);
        }
        Ok(Score {
            groups,
            duration_ns: workload.duration_us.map(|us| us * US),
            channels: channels(workload)?,
            barriers: names.barriers.iter().map(|barrier| barrier_users(&tasks, barrier)).collect(),
            counts: [names.locks.len(), names.conditions.len(), names.semaphores.len()],
            affinities: names.affinities,
        })
    }
}

fn channels(workload: &Workload) -> Result<Vec<(usize, u32)>, String> {
    let mut first = 0;
    let place = |channel: &model::Channel| {
        if channel.count == 0 {
            return Err(format!("channel `{}` has count = 0; write at least 1", channel.name));
        }
        let start = first;
        first += channel.count as usize;
        Ok((start, channel.count))
    };
    workload.channels.iter().map(place).collect()
}

fn resolve_group(
    group: &TaskGroup,
    names: &mut Names,
    policy: Policy,
    trial: &Trial,
) -> Result<Group, String> {
    names.timers.clear();
    let mut resolved = Group {
        name: group.name.clone(),
        template: group.template,
        repeat: if group.template { Some(1) } else { group.repeat },
        policy: checked(group.policy.unwrap_or(policy))?,
        affinity: checked_cpus(&group.affinity, trial.machine.cpus)?,
        ..Group::default()
    };
    let mut scope = Scope { group, names, out: &mut resolved, cpus: trial.machine.cpus };
    scope.steps(&group.steps)?;
    let exits = resolved.ops.contains(&Op::Exit);
    resolved.finite = !group.template && (group.repeat.is_some() || exits);
    let count = if group.template { 0 } else { group.count };
    let start = |task| (group.delay_us + jitter_us(group, task, trial.seed)) * US;
    resolved.starts_ns = (0..count).map(start).collect();
    Ok(resolved)
}

/// As the live player draws it, so that all backends meet the same arrivals.
fn jitter_us(group: &TaskGroup, task: u32, seed: Seed) -> u64 {
    if group.jitter_us == 0 {
        return 0;
    }
    seed.derive(&format!("jitter {} {task}", group.name)).below(group.jitter_us)
}

struct Scope<'a> {
    group: &'a TaskGroup,
    names: &'a mut Names,
    out: &'a mut Group,
    cpus: u32,
}

impl Scope<'_> {
    fn steps(&mut self, steps: &[Step]) -> Result<(), String> {
        steps.iter().try_for_each(|step| self.step(step))
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Loop { count, steps } => return self.repeat(*count, steps),
            Step::Within { us, steps } => return self.within(*us, steps),
            _ => {}
        }
        let op = self.op(step)?;
        self.out.ops.push(op);
        Ok(())
    }

    fn within(&mut self, us: u64, steps: &[Step]) -> Result<(), String> {
        if self.group.template {
            return Err("a template cannot use `within`: put it into the task that forks".into());
        }
        self.out.has_spans = true;
        self.out.ops.push(Op::SpanStart { limit_ns: us * US });
        self.steps(steps)?;
        self.out.ops.push(Op::SpanEnd);
        Ok(())
    }

    fn repeat(&mut self, count: u64, steps: &[Step]) -> Result<(), String> {
        let start = self.out.ops.len();
        self.out.ops.push(Op::LoopStart { count, end: 0 });
        self.steps(steps)?;
        let end = self.out.ops.len();
        self.out.ops.push(Op::LoopEnd { start });
        self.out.ops[start] = Op::LoopStart { count, end };
        Ok(())
    }

    fn op(&mut self, step: &Step) -> Result<Op, String> {
        Ok(match step {
            Step::RunUs(us) => Op::Run(us * US),
            Step::RunUntilUs(us) => Op::RunUntil(us * US),
            Step::SleepUs(us) => Op::Sleep(us * US),
            Step::Timer(timer) => Op::Timer(self.timer(timer)?),
            Step::Send { channel, bytes, fan } => Op::Send {
                channel: self.channel(channel)?,
                bytes: u64::from(*bytes),
                fan: (*fan).max(1),
            },
            Step::Receive { channel, bytes } => {
                Op::Receive { channel: self.channel(channel)?, bytes: u64::from(*bytes) }
            }
            Step::WriteFile { bytes, sync } => Op::Write { bytes: *bytes, sync: *sync },
            Step::ReadFile { bytes } => Op::Read(*bytes),
            Step::Fork { task, count } => Op::Fork { group: self.template(task)?, count: *count },
            Step::WaitChildren => Op::WaitChildren,
            Step::Exec if self.group.template => Op::Exec,
            Step::Exec => return Err("`exec` is for templates: it would replace the lab".into()),
            Step::Exit => Op::Exit,
            Step::Yield => Op::Yield,
            Step::Nice(nice) => Op::Nice(*nice),
            Step::Policy(policy) => Op::Policy(checked(*policy)?),
            Step::Affinity(list) => {
                let cpus = checked_cpus(list, self.cpus)?;
                self.names.affinities.push(cpus);
                Op::Affinity(self.names.affinities.len() - 1)
            }
            meeting => self.meeting(meeting)?,
        })
    }

    /// The steps with which tasks wait for each other.
    fn meeting(&mut self, step: &Step) -> Result<Op, String> {
        let names = &mut *self.names;
        let own = &self.group.name;
        let suspension =
            |name: &String| format!("suspend {}", if name.is_empty() { own } else { name });
        let condition = |name: &String| format!("condition {name}");
        Ok(match step {
            Step::Lock(lock) => Op::Lock(first_use(&mut names.locks, lock)),
            Step::Unlock(lock) => Op::Unlock(first_use(&mut names.locks, lock)),
            Step::Wait { condition: name, lock } | Step::Sync { condition: name, lock } => {
                Op::Wait {
                    condition: first_use(&mut names.conditions, &condition(name)),
                    lock: first_use(&mut names.locks, lock),
                    signal: matches!(step, Step::Sync { .. }),
                }
            }
            Step::Signal(name) => Op::Signal(first_use(&mut names.conditions, &condition(name))),
            Step::Broadcast(name) => {
                Op::Broadcast(first_use(&mut names.conditions, &condition(name)))
            }
            Step::Barrier(_) if self.group.template => {
                return Err(
                    "a template cannot use `barrier`: nobody knows how many will come".into()
                );
            }
            Step::Barrier(name) => Op::Barrier(first_use(&mut names.barriers, name)),
            Step::Suspend(name) => Op::Suspend(first_use(&mut names.conditions, &suspension(name))),
            Step::Resume(name) => {
                Op::Broadcast(first_use(&mut names.conditions, &suspension(name)))
            }
            Step::SemaphorePost(name) => Op::Post(first_use(&mut names.semaphores, name)),
            Step::SemaphoreWait(name) => Op::Take(first_use(&mut names.semaphores, name)),
            other => return Err(format!("the simulator does not know the step {other:?}")),
        })
    }

    fn timer(&mut self, timer: &model::workload::Timer) -> Result<usize, String> {
        let plan = TimerPlan {
            period_ns: timer.period_us * US,
            relative: timer.relative,
            skip: timer.skip,
        };
        let number = first_use(&mut self.names.timers, &timer.name);
        match self.out.timers.get(number) {
            _ if plan.period_ns == 0 => Err("a timer's period_us must be at least 1".into()),
            Some(&known) if known == plan => Ok(number),
            Some(_) => Err(format!("timer `{}` differs; give each timer a name", timer.name)),
            None => {
                self.out.timers.push(plan);
                Ok(number)
            }
        }
    }

    fn channel(&self, name: &str) -> Result<usize, String> {
        let known = self.names.channels.iter().position(|known| known == name);
        known.ok_or_else(|| format!("no channel is called `{name}`; declare it with [[channel]]"))
    }

    fn template(&self, name: &str) -> Result<usize, String> {
        match self.names.groups.iter().position(|(known, _)| known == name) {
            Some(number) if self.names.groups[number].1 => Ok(number),
            Some(_) => Err(format!("`fork` needs a template; write template = true in `{name}`")),
            None => Err(format!("`fork` names `{name}`, but no task group is called so")),
        }
    }
}

/// The number of a name, which is added when it is new.
fn first_use(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.into());
        names.len() - 1
    })
}

fn checked(policy: Policy) -> Result<Policy, String> {
    let real_time = matches!(policy.class, PolicyClass::Fifo | PolicyClass::Rr);
    if real_time && !(1..LAB_PRIORITY).contains(&policy.priority) {
        return Err(format!("priority {} cannot be used: write 1 … 98", policy.priority));
    }
    if policy.class == PolicyClass::Deadline && !crate::core::deadline::is_valid(&policy) {
        return Err(
            "the kernel refuses these deadline parameters: write runtime_us of at least 2, \
             not above deadline_us, and that not above period_us"
                .into(),
        );
    }
    Ok(policy)
}

fn checked_cpus(list: &[u32], cpus: u32) -> Result<Vec<u32>, String> {
    if !list.is_empty() && list.iter().all(|&cpu| cpu >= cpus) {
        return Err(format!("affinity {list:?} names no CPU of the machine, which has {cpus}"));
    }
    Ok(list.to_vec())
}
