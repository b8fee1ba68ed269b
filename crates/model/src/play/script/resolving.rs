// SPDX-License-Identifier: GPL-2.0-only
//! From a group of a workload to one of a script.

use crate::{Seed, TaskGroup, Workload};

use super::{Group, Setting};
use crate::play::ceilings::Priority;
use crate::play::limits::{self, ROUNDS_MAX};
use crate::play::names::{Names, Timers};
use crate::play::op::Resolver;
use crate::play::{Op, Refusal, policy, tapes};

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
