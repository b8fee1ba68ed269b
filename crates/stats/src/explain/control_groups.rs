// SPDX-License-Identifier: GPL-2.0-only
//! What control groups have to do with waits: a group had used its quota, or its share.
//!
//! No kernel has an event for either, so both are read from who ran. A group that is throttled does
//! not run at all, and has run for its quota in a period just before. A group that shares a CPU by
//! weight waits while others of its level run.
//!
//! Nothing is told of loads whose steps change groups: the trace does not have the changes.

use std::collections::BTreeMap;

use model::metric::PROGRAM;
use model::play::control_groups::{GroupNode, USUAL_PERIOD_US, USUAL_WEIGHT, number, tree};
use model::tables::NO_GROUP_CALLBACKS;
use model::{Policy, Record, SchedulerChoice, Step, TaskGroup, Workload};
use serde::Serialize;

use super::chains::{CpuSpan, RunDelay};
use super::timeline::Timeline;

/// Linux hands a quota to CPUs in parts of this length: what a group has run in a period differs
/// from the quota by so much for each CPU.
const PART_NS: u64 = 5_000_000;
/// A group that rests for less than its period divided by this only waits its turn.
const REST: u64 = 20;
/// A cause counts if it explains this part of a wait.
const LITTLE: u64 = 10;
/// The use of a share is measured over this multiple of the wait, and over at least `BEFORE_NS`.
const BEFORE: u64 = 10;
const BEFORE_NS: u64 = 100_000_000;

/// Why the group of a waiting task did not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupCause {
    pub group: String,
    /// For how long of the wait, ns.
    pub ns: u64,
    #[serde(flatten)]
    pub limit: Limit,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "limit")]
pub enum Limit {
    Quota {
        quota_ns: u64,
        period_ns: u64,
    },
    Share {
        /// Its weight, and that of all groups and tasks that ran beside it.
        weight: u64,
        of: u64,
        /// What it had of their CPU time, in so much time before the wait's end.
        used_ns: u64,
        of_ns: u64,
        before_ns: u64,
    },
}

/// The control groups of a workload, and the tasks in them.
#[derive(Clone, Debug, Default)]
pub struct ControlGroups {
    tree: Vec<GroupNode>,
    /// The group that the tasks of each task group are in, and the weight of each.
    tasks: BTreeMap<String, (Option<usize>, u64)>,
}

impl ControlGroups {
    /// The groups of a trial; empty if the scheduler disregards them.
    pub fn of(record: &Record, cpus: u32) -> ControlGroups {
        let notes = &record.provenance.notes;
        if notes.iter().any(|note| note.starts_with(NO_GROUP_CALLBACKS)) {
            return ControlGroups::default();
        }
        let usual = match record.trial.contestant.scheduler {
            SchedulerChoice::Policy { policy } => policy,
            _ => Policy::default(),
        };
        ControlGroups::of_workload(&record.trial.workload, cpus, usual)
    }

    /// Those of a workload; empty if steps change them. Tasks without a policy have this one.
    pub(super) fn of_workload(workload: &Workload, cpus: u32, usual: Policy) -> ControlGroups {
        let tree = tree(workload, cpus).unwrap_or_default();
        if tree.is_empty() || workload.tasks.iter().any(|task| changes(&task.steps)) {
            return ControlGroups::default();
        }
        // Only the fair class and sched_ext know groups.
        let place = |task: &TaskGroup| {
            let policy = task.policy.unwrap_or(usual);
            let weight = policy.cgroup_weight();
            let is_fair = policy.class.is_fair();
            is_fair.then(|| (task.name.clone(), (number(&tree, &task.group), weight.into())))
        };
        let mut tasks: BTreeMap<_, _> = workload.tasks.iter().filter_map(place).collect();
        if let Some(program) = &workload.program {
            let place = (number(&tree, &program.group), USUAL_WEIGHT.into());
            tasks.insert(PROGRAM.into(), place);
        }
        // A template's tasks are where the task is that forks them; templates fork no others.
        for task in workload.tasks.iter().filter(|task| !task.template) {
            let group = number(&tree, &task.group);
            for template in forked(&task.steps) {
                tasks.entry(template.into()).and_modify(|place| place.0 = group);
            }
        }
        ControlGroups { tree, tasks }
    }

    fn path(&self, group: Option<usize>) -> Vec<usize> {
        let up = std::iter::successors(group, |&group| self.tree[group].parent);
        let mut path: Vec<usize> = up.collect();
        path.reverse();
        path
    }

    fn weight(&self, group: usize) -> u64 {
        let settings = &self.tree[group].settings;
        match settings.idle {
            true => 0,
            false => settings.chosen_weight().unwrap_or(USUAL_WEIGHT).into(),
        }
    }
}

fn all_steps(steps: &[Step]) -> Vec<&Step> {
    steps.iter().flat_map(|step| [vec![step], all_steps(step.inner())].concat()).collect()
}

fn changes(steps: &[Step]) -> bool {
    let changing = |step: &&Step| matches!(step, Step::Group(_) | Step::SetGroup(_));
    all_steps(steps).iter().any(changing)
}

fn forked(steps: &[Step]) -> impl Iterator<Item = &str> {
    all_steps(steps).into_iter().filter_map(|step| match step {
        Step::Fork { task, .. } => Some(task.as_str()),
        _ => None,
    })
}

/// Finds causes in a timeline.
pub struct Causes<'a> {
    groups: &'a ControlGroups,
    timeline: &'a Timeline,
    /// For each group of the timeline: the control groups that it is in, and a task's weight.
    paths: Vec<Option<(Vec<usize>, u64)>>,
    /// For each control group with a quota, when its tasks ran, in order of the beginnings.
    runs: BTreeMap<usize, Vec<(u64, u64)>>,
}

/// What is beside a waiting task's group: another control group, or a task in the same one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Beside {
    Group(usize),
    Task(usize),
}

impl<'a> Causes<'a> {
    pub fn new(timeline: &'a Timeline, groups: &'a ControlGroups) -> Causes<'a> {
        let path = |name: &String| {
            groups.tasks.get(name).map(|&(group, weight)| (groups.path(group), weight))
        };
        let paths = match groups.tree.is_empty() {
            true => vec![None; timeline.groups.len()],
            false => timeline.groups.iter().map(path).collect(),
        };
        let mut causes = Causes { groups, timeline, paths, runs: BTreeMap::new() };
        let limited = |group: &usize| groups.tree[*group].settings.quota_us.is_some();
        for group in (0..groups.tree.len()).filter(limited) {
            let all = timeline.stretches.iter().flatten();
            let inside = all.filter(|span| causes.path(span).is_some_and(|p| p.contains(&group)));
            let mut runs: Vec<_> = inside.map(|span| (span.from_ns, span.to_ns)).collect();
            runs.sort_unstable();
            causes.runs.insert(group, runs);
        }
        causes
    }

    fn path_of(&self, task: usize) -> Option<&[usize]> {
        let (path, _) = self.paths[self.timeline.tasks[task].group].as_ref()?;
        Some(path)
    }

    fn path(&self, span: &CpuSpan) -> Option<&[usize]> {
        self.path_of(span.task?)
    }

    /// The cause that explains most of a wait. While a group rests by its quota, others run anyway.
    pub fn of(&self, wait: &RunDelay) -> Option<GroupCause> {
        let path = self.path_of(wait.task)?;
        let quotas = path.iter().filter_map(|&group| self.quota(wait, group));
        let quota = quotas.max_by_key(|cause| cause.ns);
        let rested_ns = quota.as_ref().map_or(0, |cause| cause.ns);
        let share = self.share(wait, path).filter(|cause| cause.ns > 2 * rested_ns);
        let counts = |cause: &GroupCause| cause.ns >= (wait.to_ns - wait.from_ns) / LITTLE;
        share.or(quota).filter(counts)
    }

    /// The times that a group with a quota rested after it had run for that.
    fn quota(&self, wait: &RunDelay, group: usize) -> Option<GroupCause> {
        let runs = self.runs.get(&group)?;
        let settings = &self.groups.tree[group].settings;
        let quota_ns = settings.quota_us?.saturating_mul(1_000);
        let period_ns = settings.period_us.unwrap_or(USUAL_PERIOD_US) * 1_000;
        let parts_ns = PART_NS * self.timeline.stretches.len() as u64;
        let parts_ns = parts_ns.min(quota_ns / 2);
        let most_ns = quota_ns.saturating_add(settings.burst_us.saturating_mul(1_000)) + parts_ns;
        let used_ns = |to_ns: u64| {
            let from_ns = to_ns.saturating_sub(period_ns);
            let overlap =
                |&(from, to): &(u64, u64)| to.min(to_ns).saturating_sub(from.max(from_ns));
            runs.iter().map(overlap).sum::<u64>()
        };
        let (mut ns, mut rested_from) = (0, 0);
        let ends = runs.iter().copied().chain([(self.timeline.end_ns, self.timeline.end_ns)]);
        for (begins, to) in ends {
            let inside = begins.min(wait.to_ns).saturating_sub(rested_from.max(wait.from_ns));
            let is_long = begins.saturating_sub(rested_from) >= period_ns / REST;
            if inside > 0
                && is_long
                && used_ns(rested_from) + parts_ns >= quota_ns
                && used_ns(begins) <= most_ns
            {
                ns += inside;
            }
            rested_from = rested_from.max(to);
        }
        let limit = Limit::Quota { quota_ns, period_ns };
        (ns > 0).then(|| GroupCause { group: settings.name.clone(), ns, limit })
    }

    /// The level of groups on which others ran for longest, if the wait's group had its share, or
    /// if that is smaller than its tasks would have without groups.
    fn share(&self, wait: &RunDelay, path: &[usize]) -> Option<GroupCause> {
        let mut others_ns = vec![0; path.len()];
        for part in &wait.parts {
            for (span, ns) in self.timeline.within(part.cpu, part.from_ns, part.to_ns) {
                let Some(other) = self.path(span) else { continue };
                let same = path.iter().zip(other).take_while(|(own, other)| own == other).count();
                others_ns.get_mut(same).into_iter().for_each(|sum| *sum += ns);
            }
        }
        let (ns, level) = others_ns.into_iter().zip(0..).max_by_key(|&(ns, _)| ns)?;
        let group = path[level];
        let before_ns = (BEFORE * (wait.to_ns - wait.from_ns)).max(BEFORE_NS).min(wait.to_ns);
        let mut had: BTreeMap<Beside, (u64, Vec<usize>)> = BTreeMap::new();
        had.insert(Beside::Group(group), (0, vec![wait.task]));
        for cpu in 0..self.timeline.stretches.len() as u32 {
            for (span, ns) in self.timeline.within(cpu, wait.to_ns - before_ns, wait.to_ns) {
                let (Some(task), Some(other)) = (span.task, self.path(span)) else { continue };
                if !other.starts_with(&path[..level]) {
                    continue;
                }
                let beside = other.get(level).map_or(Beside::Task(task), |&g| Beside::Group(g));
                let (sum, tasks) = had.entry(beside).or_default();
                *sum += ns;
                if !tasks.contains(&task) {
                    tasks.push(task);
                }
            }
        }
        let weight = |beside: &Beside| match *beside {
            Beside::Group(group) => self.groups.weight(group),
            Beside::Task(task) => {
                let place = &self.paths[self.timeline.tasks[task].group];
                place.as_ref().map_or(0, |(_, weight)| *weight)
            }
        };
        let (used_ns, own) = &had[&Beside::Group(group)];
        let of_ns: u64 = had.values().map(|(ns, _)| ns).sum();
        let tasks: usize = had.values().map(|(_, tasks)| tasks.len()).sum();
        let of: u64 = had.keys().map(weight).sum();
        let limit = Limit::Share {
            weight: self.groups.weight(group),
            of,
            used_ns: *used_ns,
            of_ns,
            before_ns,
        };
        let is_small = self.groups.weight(group) * (tasks as u64) < of * own.len() as u64;
        let name = self.groups.tree[group].settings.name.clone();
        let cause = GroupCause { group: name, ns, limit };
        (ns > 0 && (is_small || cause.had_its_share())).then_some(cause)
    }
}

impl GroupCause {
    /// Whether a group had what its weight gives it, or nearly.
    pub fn had_its_share(&self) -> bool {
        match self.limit {
            Limit::Quota { .. } => false,
            Limit::Share { weight, of, used_ns, of_ns, .. } => {
                let nearly = u128::from(weight) * u128::from(of_ns) * 4;
                u128::from(used_ns) * u128::from(of) * 5 >= nearly
            }
        }
    }
}
