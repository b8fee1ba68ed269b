// SPDX-License-Identifier: GPL-2.0-only
//! The tree of a workload's control groups. The rules are those of the kernel's cgroup v2, which
//! would refuse the values in the middle of a trial.

use crate::play::{Refusal, limits};
use crate::{ControlGroup, Workload};

/// The most groups of a workload, parents without tables included.
pub const GROUPS_MAX: usize = 63;
/// The most levels below the workload's own group.
pub const DEPTH_MAX: usize = 8;
/// The most bytes of one name of a path.
pub const NAME_BYTES_MAX: usize = 64;
/// `cpu.weight` of a group for which nobody has chosen one.
pub const USUAL_WEIGHT: u32 = 100;
/// The usual period of a quota.
pub const USUAL_PERIOD_US: u64 = 100_000;
/// What the kernel's `tg_set_cfs_bandwidth` accepts as quota and period.
const QUOTA_US_MIN: u64 = 1_000;
const PERIOD_US_MAX: u64 = 1_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupNode {
    /// Its number in the tree's order; `None`: the workload's own group.
    pub parent: Option<usize>,
    /// Its settings; the name is the whole path.
    pub settings: ControlGroup,
}

impl GroupNode {
    /// The last name of its path.
    pub fn own_name(&self) -> &str {
        self.settings.name.rsplit('/').next().unwrap_or_default()
    }
}

/// The tree, parents before children, each with all that is below it before the next.
pub fn tree(workload: &Workload, cpus: u32) -> Result<Vec<GroupNode>, Refusal> {
    let mut paths: Vec<ControlGroup> = Vec::new();
    // Before each is compared with each.
    check_number(workload.control_groups.len())?;
    for (index, group) in workload.control_groups.iter().enumerate() {
        check(group, cpus).map_err(|refusal| refusal.inside(format_args!("group[{index}]")))?;
        if workload.control_groups[..index].iter().any(|other| other.name == group.name) {
            let message = format!("a second group named '{}'", group.name);
            let refusal = Refusal::new(message, "write all of its settings in one [[group]]");
            return Err(refusal.inside(format_args!("group[{index}].name")));
        }
        paths.push(group.clone());
    }
    add_parents(&mut paths);
    check_number(paths.len())?;
    paths.sort_by(|a, b| a.name.split('/').cmp(b.name.split('/')));
    let parent_of = |path: &str| {
        let (parent, _) = path.rsplit_once('/')?;
        paths.iter().position(|other| other.name == parent)
    };
    let parents: Vec<_> = paths.iter().map(|group| parent_of(&group.name)).collect();
    let nodes = paths.into_iter().zip(parents);
    let nodes: Vec<_> = nodes.map(|(settings, parent)| GroupNode { parent, settings }).collect();
    check_cpusets(workload, &nodes)?;
    check_absent(workload, &nodes)?;
    Ok(nodes)
}

fn check_number(groups: usize) -> Result<(), Refusal> {
    if groups <= GROUPS_MAX {
        return Ok(());
    }
    let hint = format!("at most {GROUPS_MAX} together, parents included");
    Err(Refusal::new(format!("{groups} groups are too many"), hint).inside("group"))
}

/// The place of a group in the tree; none for the workload's own.
pub fn number(tree: &[GroupNode], name: &str) -> Option<usize> {
    tree.iter().position(|node| node.settings.name == name)
}

/// The CPUs of a group: its own, or those of the nearest parent that has some; empty: all.
pub fn cpus_of(tree: &[GroupNode], group: usize) -> &[u32] {
    let mut at = Some(group);
    while let Some(number) = at {
        if !tree[number].settings.cpus.is_empty() {
            return &tree[number].settings.cpus;
        }
        at = tree[number].parent;
    }
    &[]
}

fn add_parents(groups: &mut Vec<ControlGroup>) {
    let mut at = 0;
    while at < groups.len() && groups.len() <= GROUPS_MAX {
        if let Some((parent, _)) = groups[at].name.rsplit_once('/') {
            let name = parent.to_owned();
            if groups.iter().all(|group| group.name != name) {
                groups.push(ControlGroup { name, ..ControlGroup::default() });
            }
        }
        at += 1;
    }
}

/// Checks a group's settings, or a change of them.
pub(super) fn check(group: &ControlGroup, cpus: u32) -> Result<(), Refusal> {
    check_name(&group.name).map_err(|refusal| refusal.inside("name"))?;
    let range = |field: &str, value: u64, least: u64, most: u64| {
        limits::range(field, value, least, most).map_err(|refusal| refusal.inside(field))
    };
    if let Some(weight) = group.weight {
        range("weight", u64::from(weight), 1, 10_000)?;
    }
    if let Some(nice) = group.nice.filter(|nice| !(-20..=19).contains(nice)) {
        let refusal = Refusal::new(format!("{nice} is no nice value"), "write -20 … 19");
        return Err(refusal.inside("nice"));
    }
    let chosen = [group.weight.is_some(), group.nice.is_some(), group.idle];
    if chosen.iter().filter(|chosen| **chosen).count() > 1 {
        let message = "a group has one of 'weight', 'nice' and 'idle'";
        return Err(Refusal::new(message, "write the one that counts"));
    }
    check_quota(group)?;
    limits::util_clamp(&group.uclamp).map_err(|refusal| refusal.inside("uclamp"))?;
    limits::affinity(&group.cpus, cpus).map_err(|refusal| refusal.inside("cpus"))
}

fn check_quota(group: &ControlGroup) -> Result<(), Refusal> {
    let Some(quota_us) = group.quota_us else {
        let field = match (group.period_us, group.burst_us) {
            (Some(_), _) => "period_us",
            (None, 1..) => "burst_us",
            (None, 0) => return Ok(()),
        };
        let refusal = Refusal::new(format!("'{field}' without a quota"), "add 'quota_us = …'");
        return Err(refusal.inside(field));
    };
    let range = |field: &str, value: u64, least: u64, most: u64| {
        limits::range(field, value, least, most).map_err(|refusal| refusal.inside(field))
    };
    range("quota_us", quota_us, QUOTA_US_MIN, limits::TIME_US_MAX)?;
    range("period_us", group.period_us.unwrap_or(USUAL_PERIOD_US), QUOTA_US_MIN, PERIOD_US_MAX)?;
    range("burst_us", group.burst_us, 0, quota_us)?;
    Ok(())
}

/// Each name becomes a folder of the cgroup file system, beside the kernel's own files.
pub fn check_name(path: &str) -> Result<(), Refusal> {
    let refuse = |message: String, hint: &str| Err(Refusal::new(message, hint));
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    for name in path.split('/') {
        if name.len() > NAME_BYTES_MAX {
            let message = format!("a name of {} bytes is too long", name.len());
            return refuse(message, "write at most 64");
        }
        if name.is_empty()
            || !name.chars().all(allowed)
            || !name.starts_with(|letter: char| letter.is_ascii_alphanumeric())
        {
            let hint = "use letters, digits and _ - . in names, and / between them; a letter or \
                        digit first";
            return refuse(format!("'{}' cannot be a group's name", path.escape_debug()), hint);
        }
        let reserved = ["cgroup.", "cpu.", "cpuset.", "memory.", "io.", "pids."];
        if reserved.iter().any(|prefix| name.starts_with(prefix)) {
            let hint = "choose one that does not begin like a file of the kernel";
            return refuse(format!("'{name}' is a name of the kernel's"), hint);
        }
    }
    if path.split('/').count() > DEPTH_MAX {
        let hint = format!("write at most {DEPTH_MAX} names");
        return refuse("the group is too deep".into(), &hint);
    }
    Ok(())
}

/// What is below an absent group is absent, too.
fn check_absent(workload: &Workload, tree: &[GroupNode]) -> Result<(), Refusal> {
    for node in tree {
        let Some(parent) = node.parent.filter(|parent| tree[*parent].settings.absent) else {
            continue;
        };
        if !node.settings.absent {
            let (name, above) = (&node.settings.name, &tree[parent].settings.name);
            let index = workload.control_groups.iter().position(|group| group.name == *name);
            let message = format!("'{name}' is there from the beginning, and '{above}' is not");
            let refusal = Refusal::new(message, "add 'absent = true' to it, too");
            return Err(refusal.inside(format_args!("group[{}]", index.unwrap_or(0))));
        }
    }
    Ok(())
}

/// A group's CPUs are some of its parent's, and some of those that its tasks may use.
fn check_cpusets(workload: &Workload, tree: &[GroupNode]) -> Result<(), Refusal> {
    for node in tree {
        let (name, own) = (&node.settings.name, &node.settings.cpus);
        let parent = node.parent.map_or(&[][..], |parent| cpus_of(tree, parent));
        let outside = own.iter().find(|cpu| !parent.is_empty() && !parent.contains(cpu));
        if let Some(cpu) = outside {
            let index = workload.control_groups.iter().position(|group| group.name == *name);
            let message = format!("CPU {cpu} is none of the parent's");
            let refusal = Refusal::new(message, "a group's CPUs are some of its parent's");
            return Err(refusal.inside(format_args!("group[{}].cpus", index.unwrap_or(0))));
        }
    }
    for (index, task) in workload.tasks.iter().enumerate() {
        let Some(group) = number(tree, &task.group) else { continue };
        let cpus = cpus_of(tree, group);
        let is_apart = !task.affinity.is_empty()
            && !cpus.is_empty()
            && !task.affinity.iter().any(|cpu| cpus.contains(cpu));
        if is_apart {
            let message = format!("no CPU of the task is one of the group '{}'", task.group);
            let refusal = Refusal::new(message, "name CPUs that both have");
            return Err(refusal.inside(format_args!("task[{index}].affinity")));
        }
    }
    Ok(())
}
