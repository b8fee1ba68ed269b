// SPDX-License-Identifier: GPL-2.0-only
//! A workload that can be played: every name is a number, so that playing it neither searches nor
//! allocates, not even in a forked process.

use crate::tape::TapeOp;
use crate::workload::barrier_users;
use crate::{
    Channel, ControlGroup, Policy, Protocol, SchedulerChoice, Seed, TaskGroup, TaskSession, Trial,
    UtilClamp, Workload,
};

use crate::play::control_groups::{self, GroupNode};
use crate::play::names::Names;
use crate::play::tapes::Tapes;
use crate::play::{Op, PROGRAM, Refusal, TimerPlan, ceilings, limits, sessions};

mod resolving;

pub use resolving::{InterruptSource, interrupt_sources};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// The groups in the workload's order, without those that have no tasks.
    pub groups: Vec<Group>,
    /// When tasks are told to stop, after the common start.
    pub duration_ns: Option<u64>,
    pub channels: Vec<Pipes>,
    /// The protocol of each mutex.
    pub locks: Vec<Protocol>,
    /// How many conditions there are, those of `suspend` included.
    pub conditions: usize,
    pub semaphores: usize,
    /// How many tasks meet at each barrier.
    pub barriers: Vec<u32>,
    /// How many timers tasks share.
    pub timers: usize,
    /// Policies that tasks change to.
    pub policies: Vec<Policy>,
    /// Lists of CPUs that tasks change to; none is empty.
    pub affinities: Vec<Vec<u32>>,
    /// The control groups below the workload's own, parents before children.
    pub control_groups: Vec<GroupNode>,
    /// Changes of control groups, each with the group's number.
    pub group_changes: Vec<(usize, ControlGroup)>,
    pub sessions: Vec<TaskSession>,
    pub interrupts: Vec<InterruptSource>,
    /// The control group that the program starts in; none: the workload's own.
    pub program_group: Option<usize>,
    pub program_session: Option<usize>,
    /// The tapes of a recording; see [`Tapes::ops`].
    pub tapes: Vec<Vec<TapeOp>>,
    /// Whether another task makes a tape's, while it plays.
    pub made: Vec<bool>,
    /// For each semaphore: the number of the tape whose task receives there, and so may sleep in a
    /// pipe of its own instead of a futex.
    pub mailboxes: Vec<Option<usize>>,
}

/// The pipes of one channel; all channels' pipes have consecutive numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipes {
    pub first: usize,
    /// The number of its pipes, at least 1.
    pub count: u32,
    /// They are pairs of sockets.
    pub sockets: bool,
}

impl Pipes {
    /// The pipe of a member; member numbers wrap around at the channel's count.
    pub fn pipe_of(&self, member: u64) -> usize {
        self.first + (member % u64::from(self.count)) as usize
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// The group's name; it holds no zero byte.
    pub name: String,
    /// Start of each task after the common start, in order; empty for a template.
    pub starts_ns: Vec<u64>,
    /// Whether only `fork` steps make its tasks.
    pub template: bool,
    /// How often the steps are played; `None`: until the task is told to stop.
    pub repeat: Option<u64>,
    /// The policy that its tasks start with.
    pub policy: Policy,
    /// The CPUs that its tasks start on; empty: all.
    pub affinity: Vec<u32>,
    /// The clamps that its tasks set at their start.
    pub uclamp: UtilClamp,
    /// The control group that its tasks start in; none: the workload's own.
    pub control_group: Option<usize>,
    /// The session that they start in; none: none of the workload's.
    pub session: Option<usize>,
    /// The semaphore that each of them posts when it ends, if another task joins them.
    pub joined: Option<usize>,
    /// What its tasks do; not empty.
    pub ops: Vec<Op>,
    pub timers: Vec<TimerPlan>,
    /// The number of its first task among all that start by themselves.
    pub first_task: usize,
    /// Whether its tasks end by themselves. No step is conditional, so an `exit` is reached.
    pub finite: bool,
    pub has_spans: bool,
    /// Whether its tasks show frames.
    pub has_frames: bool,
    /// The source of its tasks' chance; see [`Group::chance`].
    pub seed: Seed,
    /// The number of its first task's tape, if its tasks play tapes.
    pub first_tape: usize,
}

/// Inputs of a script besides the workload.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The policy of groups that do not set one.
    pub policy: Policy,
    /// The source of start phases.
    pub seed: Seed,
    pub cpus: u32,
}

impl Setting {
    /// The setting of a trial: a contestant that is a policy gives it to all groups without one.
    pub fn for_trial(trial: &Trial) -> Setting {
        let policy = match &trial.contestant.scheduler {
            SchedulerChoice::Policy { policy } => *policy,
            _ => Policy::default(),
        };
        Setting { policy, seed: trial.seed, cpus: trial.machine.cpus }
    }
}

impl Script {
    pub fn new(workload: &Workload, setting: Setting) -> Result<Script, Refusal> {
        let tasks: Vec<&TaskGroup> =
            workload.tasks.iter().filter(|group| is_played(group)).collect();
        let control_groups = control_groups::tree(workload, setting.cpus)?;
        sessions::check(workload)?;
        ceilings::check(&workload.mutexes)?;
        let mut names = Names::new(&tasks, &workload.channels, control_groups);
        let mut groups: Vec<Group> = Vec::with_capacity(tasks.len());
        let mut tapes = 0;
        for (index, group) in
            workload.tasks.iter().enumerate().filter(|(_, group)| is_played(group))
        {
            let inside = |refusal: Refusal| refusal.inside(format_args!("task[{index}]"));
            let mut resolved =
                resolving::group(group, workload, &mut names, setting).map_err(inside)?;
            resolved.session = sessions::number(workload, &group.session).map_err(inside)?;
            resolved.first_task =
                groups.last().map_or(0, |last| last.first_task + last.starts_ns.len());
            resolved.first_tape = tapes;
            tapes += if resolved.has_tape() { resolved.starts_ns.len() } else { 0 };
            groups.push(resolved);
        }
        for group in &mut groups {
            let semaphore = resolving::semaphore(&group.name);
            group.joined = names.semaphores.iter().position(|name| *name == semaphore);
        }
        let tapes = Tapes::of(workload, names.semaphores.len())
            .map_err(|refusal| refusal.inside("recording"))?;
        let program_group = workload.program.as_ref().map_or("", |program| &program.group);
        let program_group = names
            .starting_group(program_group)
            .map_err(|refusal| refusal.inside("program.group"))?;
        let barriers = names.barriers.iter().map(|name| barrier_users(&tasks, name)).collect();
        let script = Script {
            groups,
            duration_ns: duration_ns(workload)?,
            channels: pipes(&workload.channels)?,
            locks: names.locks.iter().map(|name| protocol(workload, name)).collect(),
            conditions: names.conditions(),
            semaphores: tapes.semaphores,
            barriers,
            timers: names.timers.len(),
            policies: names.policies,
            affinities: names.affinities,
            control_groups: names.control_groups,
            group_changes: names.group_changes,
            sessions: workload.sessions.clone(),
            interrupts: interrupt_sources(workload, setting.cpus)?,
            program_group,
            program_session: sessions::of_program(workload)?,
            tapes: tapes.ops,
            made: tapes.made,
            mailboxes: tapes.mailboxes,
        };
        script.ends(workload)?;
        Ok(script)
    }

    fn ends(&self, workload: &Workload) -> Result<(), Refusal> {
        let ends = self.duration_ns.is_some() || workload.program.is_some();
        if ends || self.finite_tasks() > 0 {
            return Ok(());
        }
        let hint = "add 'duration_us = …' (rt-app: \"duration\" in \"global\"), or 'repeat = …' to \
                    a task";
        Err(Refusal::new("the workload never ends", hint))
    }

    /// How many tasks there are, without those that `fork` steps make.
    pub fn tasks(&self) -> usize {
        self.groups.iter().map(|group| group.starts_ns.len()).sum()
    }

    /// How many of these are there from the start.
    pub fn starting_tasks(&self) -> usize {
        self.tasks() - self.made.iter().filter(|made| **made).count()
    }

    /// How many of these end by themselves.
    pub fn finite_tasks(&self) -> usize {
        let finite = self.groups.iter().filter(|group| group.finite);
        finite.map(|group| group.starts_ns.len()).sum()
    }

    pub fn forks(&self) -> bool {
        self.groups.iter().any(|group| group.ops.iter().any(|op| matches!(op, Op::Fork { .. })))
    }

    /// The tape of a group's task; none where its tasks do other things.
    pub fn tape(&self, group: usize, number: u32) -> &[TapeOp] {
        let plan = &self.groups[group];
        if !plan.has_tape() {
            return &[];
        }
        self.tapes.get(plan.first_tape + number as usize).map_or(&[], Vec::as_slice)
    }

    /// The semaphore on which a task's tape begins with a wait. The task waits there for the common
    /// start too: the task that made it, or woke it first, does so later.
    pub fn first_wait(&self, group: usize, number: u32) -> Option<usize> {
        let first = self.tape(group, number).first()?;
        let semaphore = first.waits_for(0).and(first.other())?;
        let starts = self.groups[group].starts_ns[number as usize] == 0;
        (starts && !self.is_made(group, number)).then_some(semaphore as usize)
    }

    /// Whether the tape of another task makes this one.
    pub fn is_made(&self, group: usize, number: u32) -> bool {
        let plan = &self.groups[group];
        plan.has_tape() && self.made.get(plan.first_tape + number as usize) == Some(&true)
    }

    /// The group and the number of the task that plays a tape.
    pub fn player_of(&self, tape: u32) -> (usize, u32) {
        let tape = tape as usize;
        let plays = |group: &Group| group.has_tape() && group.first_tape <= tape;
        let group = self.groups.iter().rposition(plays).unwrap_or(0);
        (group, (tape - self.groups[group].first_tape) as u32)
    }

    /// How many pipes all channels have together.
    pub fn pipes(&self) -> usize {
        self.channels.last().map_or(0, |last| last.first + last.count as usize)
    }
}

/// A group without tasks is left out.
fn is_played(group: &TaskGroup) -> bool {
    group.template || group.count > 0
}

/// The names of the groups that are measured, in the order of their numbers; a real program is the
/// last of them, as [`PROGRAM`].
pub fn measured_groups(workload: &Workload) -> Vec<String> {
    let played = workload.tasks.iter().filter(|group| is_played(group));
    let names = played.map(|group| group.name.clone());
    names.chain(workload.program.iter().map(|_| PROGRAM.to_owned())).collect()
}

impl Group {
    /// Whether its processes replace their program, after which nothing can be seen from inside.
    pub fn execs(&self) -> bool {
        self.ops.contains(&Op::Exec)
    }

    /// The source of what a task draws while it plays.
    pub fn chance(&self, number: u32) -> Seed {
        Seed(Seed(self.seed.0 ^ u64::from(number)).next_u64())
    }

    /// Whether its tasks play tapes. Such a group does nothing else.
    pub fn has_tape(&self) -> bool {
        self.ops == [Op::Tape]
    }

    pub fn has_files(&self) -> bool {
        self.ops.iter().any(|op| matches!(op, Op::Write { .. } | Op::Read(_)))
    }

    /// The bytes of memory that each of its tasks writes to; 0: none.
    pub fn memory_bytes(&self) -> u64 {
        let reached = self.ops.iter().map(|op| match op {
            Op::Fill { buffer, .. } | Op::Discard { buffer, .. } => *buffer,
            _ => 0,
        });
        reached.max().unwrap_or(0)
    }

    /// The numbers of the groups whose processes its tasks fork, each once, in order of first use.
    pub fn forked(&self) -> Vec<usize> {
        let mut groups = Vec::new();
        for op in &self.ops {
            match op {
                Op::Fork { group, .. } if !groups.contains(group) => groups.push(*group),
                _ => {}
            }
        }
        groups
    }
}

fn protocol(workload: &Workload, mutex: &str) -> Protocol {
    let table = workload.mutexes.iter().find(|table| table.name == mutex);
    table.map_or_else(Protocol::default, |table| table.protocol)
}

fn duration_ns(workload: &Workload) -> Result<Option<u64>, Refusal> {
    let duration_ns = workload.duration_us.map(limits::time_ns).transpose();
    duration_ns.map_err(|refusal| refusal.inside("duration_us"))
}

fn pipes(channels: &[Channel]) -> Result<Vec<Pipes>, Refusal> {
    let mut first = 0;
    let place = |(index, channel): (usize, &Channel)| {
        if channel.count == 0 {
            let refusal = limits::range("members", 0, 1, u64::from(u32::MAX)).map(|_| ());
            refusal.map_err(|refusal| refusal.inside(format_args!("channel[{index}].count")))?;
        }
        let pipes = Pipes { first, count: channel.count, sockets: channel.socket };
        first += channel.count as usize;
        Ok(pipes)
    };
    channels.iter().enumerate().map(place).collect()
}

#[cfg(test)]
mod tests;
