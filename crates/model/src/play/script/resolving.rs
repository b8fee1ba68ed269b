// SPDX-License-Identifier: GPL-2.0-only
//! From groups and interrupts of a workload to those of a script, which has one source of
//! interrupts for each CPU.
//!
//! Tasks that wait for the end of others, as threads join threads: each task of a joined group
//! posts a semaphore when it ends, and the one that joins them takes it as often as there are
//! tasks. Such a semaphore is a futex, and so is the thread number for which `pthread_join` waits.

use super::{Group, Setting};
use crate::play::ceilings::Priority;
use crate::play::limits::{ROUNDS_MAX, TIME_US_MAX};
use crate::play::names::{Names, Timers, first_use};
use crate::play::op::Resolver;
use crate::play::{Op, Refusal, limits, policy, tapes};
use crate::{InterruptLoad, Seed, TaskGroup, Workload};

/// A group of tasks with numbers for names.
pub(super) fn group(
    group: &TaskGroup,
    workload: &Workload,
    names: &mut Names,
    setting: Setting,
) -> Result<Group, Refusal> {
    check_group(group, setting)?;
    tapes::check_group(group).map_err(|refusal| refusal.inside("steps"))?;
    let own = group.policy.unwrap_or(setting.policy);
    policy::check(&own).map_err(|refusal| refusal.inside("policy"))?;
    let control_group =
        names.starting_group(&group.group).map_err(|refusal| refusal.inside("group"))?;
    let mut resolver = Resolver {
        group,
        names,
        workload,
        priority: Priority::new(own),
        cpus: setting.cpus,
        ops: Vec::new(),
        timers: Timers::default(),
    };
    resolver.steps(&group.steps)?;
    if group.repeat != Some(1) && !group.template {
        resolver.priority.check_round(&own).map_err(|refusal| refusal.inside("steps"))?;
    }
    let (ops, timers) = (resolver.ops, resolver.timers.plans);
    let count = if group.template { 0 } else { group.count };
    let jitter = setting.seed.derive(&format!("jitter {} ", group.name));
    let start = |task| (group.delay_us + jitter_us(group, task, jitter)) * 1_000;
    Ok(Group {
        name: group.name.clone(),
        starts_ns: (0..count).map(start).collect(),
        template: group.template,
        repeat: if group.template { Some(1) } else { group.repeat },
        policy: own,
        affinity: group.affinity.clone(),
        uclamp: group.uclamp,
        control_group,
        session: None,
        joined: None,
        timers,
        first_task: 0,
        first_tape: 0,
        finite: !group.template && (group.repeat.is_some() || ops.contains(&Op::Exit)),
        has_spans: ops.contains(&Op::SpanEnd),
        has_frames: ops.contains(&Op::Frame),
        seed: setting.seed.derive("work ").and(&group.name),
        ops,
    })
}

fn check_group(group: &TaskGroup, setting: Setting) -> Result<(), Refusal> {
    if group.name.contains('\0') {
        let refusal = Refusal::new("a name cannot hold a zero byte", "leave it out");
        return Err(refusal.inside("name"));
    }
    if group.template && !group.group.is_empty() {
        let hint = "leave it out, or begin its steps with { group = … }";
        let refusal = Refusal::new("forked tasks are in the group of their parent", hint);
        return Err(refusal.inside("group"));
    }
    if group.steps.is_empty() {
        let message = format!("the task '{}' has no steps", group.name);
        return Err(Refusal::new(message, "write e.g. steps = [{ run_us = 1000 }]"));
    }
    if group.repeat.is_some_and(|rounds| rounds == 0 || rounds > ROUNDS_MAX) {
        let hint = format!("write 1 … {ROUNDS_MAX}, or leave it out to play until the end");
        return Err(Refusal::new("the number of rounds is out of range", hint).inside("repeat"));
    }
    for (field, us) in [("delay_us", group.delay_us), ("jitter_us", group.jitter_us)] {
        limits::time_ns(us).map_err(|refusal| refusal.inside(field))?;
    }
    limits::util_clamp(&group.uclamp).map_err(|refusal| refusal.inside("uclamp"))?;
    limits::affinity(&group.affinity, setting.cpus).map_err(|refusal| refusal.inside("affinity"))
}

/// A task's share of its group's jitter. It comes from the seed alone, so that all backends see the
/// same arrivals; `jitter` is the seed for the group's.
fn jitter_us(group: &TaskGroup, task: u32, jitter: Seed) -> u64 {
    if group.jitter_us == 0 {
        return 0;
    }
    jitter.and(&task.to_string()).below(group.jitter_us)
}

/// The shortest time between two interrupts: that of Linux's `cpu-clock` events.
const EVERY_US_MIN: u64 = 10;
/// The longest work for an interrupt: a CPU that is away longer counts as locked up.
const LENGTH_US_MAX: u64 = 10_000;
/// How much of a CPU interrupts may take.
const SHARE_PERCENT_MAX: u64 = 90;
const NS_PER_US: u64 = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterruptSource {
    pub cpu: u32,
    pub every_ns: u64,
    pub length_ns: u64,
}

/// All of them, in the order of the workload's tables and of the CPUs in each.
///
/// # Errors
/// A table that cannot be played.
pub fn interrupt_sources(workload: &Workload, cpus: u32) -> Result<Vec<InterruptSource>, Refusal> {
    let mut all = Vec::new();
    for (index, load) in workload.interrupts.iter().enumerate() {
        add(load, cpus, &mut all)
            .map_err(|refusal| refusal.inside(format_args!("interrupt[{index}]")))?;
    }
    Ok(all)
}

fn add(load: &InterruptLoad, cpus: u32, all: &mut Vec<InterruptSource>) -> Result<(), Refusal> {
    check(load, cpus)?;
    let (every_ns, length_ns) = (load.every_us * NS_PER_US, load.length_us * NS_PER_US);
    let is_chosen = |cpu: &u32| load.cpus.is_empty() || load.cpus.contains(cpu);
    for cpu in (0..cpus).filter(is_chosen) {
        all.push(InterruptSource { cpu, every_ns, length_ns });
        let of_cpu = all.iter().filter(|source| source.cpu == cpu);
        let percent: u64 = of_cpu.map(|source| source.length_ns * 100 / source.every_ns).sum();
        if percent > SHARE_PERCENT_MAX {
            return Err(Refusal::new(
                format!("the interrupts of CPU {cpu} take {percent} % of it"),
                format!("leave time for tasks: {SHARE_PERCENT_MAX} % at most"),
            ));
        }
    }
    Ok(())
}

fn check(load: &InterruptLoad, cpus: u32) -> Result<(), Refusal> {
    limits::range("time between interrupts in µs", load.every_us, EVERY_US_MIN, TIME_US_MAX)
        .map_err(|refusal| refusal.inside("every_us"))?;
    limits::range("an interrupt's length in µs", load.length_us, 1, LENGTH_US_MAX)
        .map_err(|refusal| refusal.inside("length_us"))?;
    limits::affinity(&load.cpus, cpus).map_err(|refusal| refusal.inside("cpus"))
}

/// A group's name for the semaphore of its ends.
pub(super) fn semaphore(group: &str) -> String {
    format!("join {group}")
}

impl Resolver<'_> {
    pub(in crate::play) fn join(&mut self, name: &str) -> Result<(), Refusal> {
        let tasks = self.workload.tasks.iter();
        let joined = tasks.clone().find(|group| group.name == name).ok_or_else(|| {
            let known: Vec<&str> = tasks.map(|group| group.name.as_str()).collect();
            let hint = format!("there are {}", known.join(", "));
            Refusal::new(format!("there is no task '{name}'"), hint)
        })?;
        check_joined(joined)?;
        self.check_joining()?;
        let own = self.group.name.as_str();
        if reaches(&self.names.joins, name, own) {
            let message = format!("'{own}' and '{name}' would wait for each other's end");
            return Err(Refusal::new(message, "let one of them end without a join"));
        }
        if self.names.joins.iter().any(|(_, joined)| joined == name) {
            let message = format!("the tasks '{name}' are joined twice");
            return Err(Refusal::new(message, "a thread is joined once: write one step 'join'"));
        }
        self.names.joins.push((own.to_owned(), name.to_owned()));
        let semaphore = first_use(&mut self.names.semaphores, &semaphore(name));
        let (count, start) = (u64::from(joined.count), self.ops.len());
        let end = start + 2;
        self.ops.extend([Op::LoopStart { count, end }, Op::Take(semaphore), Op::LoopEnd { start }]);
        Ok(())
    }

    fn check_joining(&self) -> Result<(), Refusal> {
        // A loop that has not ended does not know its end.
        let is_open = |op: &Op| matches!(op, Op::LoopStart { end: 0, .. });
        let is_once = self.group.count <= 1 && self.group.repeat == Some(1);
        if is_once && !self.group.template && !self.ops.iter().any(is_open) {
            return Ok(());
        }
        Err(Refusal::new(
            "a thread is joined once, and this step would be played more often",
            "write it outside loops, in a task with repeat = 1 and without a count",
        ))
    }
}

fn check_joined(group: &TaskGroup) -> Result<(), Refusal> {
    let name = &group.name;
    if group.template {
        let message = format!("'{name}' is a template");
        return Err(Refusal::new(message, "write wait_children in the task that forks it"));
    }
    if group.repeat.is_none() && !group.steps.contains(&crate::Step::Exit) {
        let message = format!("the tasks '{name}' never end");
        return Err(Refusal::new(message, format!("add 'repeat = …' to the task '{name}'")));
    }
    if group.steps.contains(&crate::Step::Tape) {
        let message = format!("the tasks '{name}' play tapes");
        return Err(Refusal::new(message, "who waited for their ends is on tapes, too"));
    }
    Ok(())
}

/// Whether the end of a group needs that of another one.
fn reaches(joins: &[(String, String)], from: &str, to: &str) -> bool {
    let next = joins.iter().filter(|(own, _)| own == from);
    from == to || next.into_iter().any(|(_, joined)| reaches(joins, joined, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(tables: &[(u64, u64, &[u32])]) -> Workload {
        let table = |&(every_us, length_us, cpus): &(u64, u64, &[u32])| InterruptLoad {
            every_us,
            length_us,
            cpus: cpus.to_vec(),
        };
        Workload { interrupts: tables.iter().map(table).collect(), ..Workload::default() }
    }

    #[test]
    fn a_table_without_cpus_interrupts_all() {
        let found = interrupt_sources(&workload(&[(1_000, 50, &[]), (200, 10, &[1])]), 2).unwrap();
        let found = found.iter().map(|source| (source.cpu, source.every_ns, source.length_ns));
        let expected = [(0, 1_000_000, 50_000), (1, 1_000_000, 50_000), (1, 200_000, 10_000)];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}
