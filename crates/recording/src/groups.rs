// SPDX-License-Identifier: GPL-2.0-only
//! Groups of like tasks: the same name, numbers at its end aside, with the same attributes.

use std::collections::{BTreeMap, BTreeSet};

use model::{Policy, Tape, TapeOp};
use serde::Serialize;

use crate::event::{Recording, Task, TaskIndex};

/// The kernel keeps this many bytes of a thread's name.
const NAME_BYTES_MAX: usize = 15;

#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its name, which is unique and can be a group's in a workload.
    pub name: String,
    pub policy: Policy,
    /// The CPUs of its tasks; empty: all.
    pub affinity: Vec<u32>,
    /// Their control group; empty: the workload's own.
    pub control_group: String,
    /// Its tasks, by their places in the recording.
    pub tasks: Vec<TaskIndex>,
}

/// Groups the tasks, in the order in which they were first seen. Tasks of different control groups
/// are not alike.
pub fn groups(
    recording: &Recording,
    tasks: impl Iterator<Item = TaskIndex>,
    control_group: impl Fn(TaskIndex) -> String,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for index in tasks {
        let task = &recording.tasks[index.0 as usize];
        let own = Group {
            name: stem(&task.name),
            policy: policy(task),
            affinity: affinity(task, recording),
            control_group: control_group(index),
            tasks: Vec::new(),
        };
        let alike = |known: &Group| {
            known.name == own.name
                && known.policy == own.policy
                && known.affinity == own.affinity
                && known.control_group == own.control_group
        };
        let place = groups.iter().position(alike).unwrap_or(groups.len());
        if place == groups.len() {
            groups.push(own);
        }
        groups[place].tasks.push(index);
    }
    named(groups)
}

/// Groups of the same name get a number.
fn named(mut groups: Vec<Group>) -> Vec<Group> {
    let mut taken = BTreeSet::new();
    for group in &mut groups {
        let stem = group.name.clone();
        let numbered = (2_u32..).map(|number| format!("{}_{number}", cut(&stem, 4)));
        let mut names = std::iter::once(stem.clone()).chain(numbered);
        group.name = names.find(|name| taken.insert(name.clone())).unwrap_or_default();
    }
    groups
}

/// A thread's name as that of its group: without numbers at its end, and with the letters that a
/// group's name can have.
fn stem(name: &str) -> String {
    let without = name
        .trim_end_matches(|letter: char| letter.is_ascii_digit() || "-_:/#.~ ".contains(letter));
    let allowed = |letter: char| letter.is_alphanumeric() || "_.:-+".contains(letter);
    let safe: String =
        without.chars().map(|letter| if allowed(letter) { letter } else { '_' }).collect();
    match cut(&safe, 0) {
        "" => "task".into(),
        // These have a meaning in metrics.
        word @ ("all" | "program") => format!("{word}_"),
        word => word.into(),
    }
}

/// What fits into a thread's name beside so many other bytes.
fn cut(name: &str, beside: usize) -> &str {
    let mut end = name.len().min(NAME_BYTES_MAX - beside);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

fn policy(task: &Task) -> Policy {
    let policy = task.attributes.policy.unwrap_or_default();
    Policy { nice: task.attributes.nice.unwrap_or(policy.nice), ..policy }
}

/// A list of all CPUs says nothing.
fn affinity(task: &Task, recording: &Recording) -> Vec<u32> {
    let list = task.attributes.affinity.clone().unwrap_or_default();
    if list.len() as u32 >= recording.cpus { Vec::new() } else { list }
}

/// A workload's groups as far as their tapes tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Graph {
    /// The groups in the workload's order.
    pub groups: Vec<GroupUse>,
    /// Wake-ups between groups, the most frequent first.
    pub edges: Vec<Edge>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GroupUse {
    pub name: String,
    pub tasks: u32,
    pub cpu_ns: u64,
    /// Waits for other tasks, messages that had come before included.
    pub waits: u64,
    /// Sleeps that timers end.
    pub timers: u64,
    /// Sleeps that devices end.
    pub delays: u64,
}

/// Wake-ups of tasks of one group by those of another one, or of the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Edge {
    pub from: String,
    pub to: String,
    pub wakes: u64,
}

/// Reads tapes. `groups` are the names and counts of the groups that play them, in order.
pub fn of(tapes: &[Tape], groups: &[(String, u32)]) -> Graph {
    let players = groups.iter().enumerate();
    let group_of: Vec<usize> = players
        .flat_map(|(group, (_, count))| std::iter::repeat_n(group, *count as usize))
        .collect();
    let named = |(name, tasks): &(String, u32)| GroupUse {
        name: name.clone(),
        tasks: *tasks,
        ..GroupUse::default()
    };
    let mut uses: Vec<GroupUse> = groups.iter().map(named).collect();
    let mut wakes: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for (tape, to) in tapes.iter().zip(&group_of) {
        let group = &mut uses[*to];
        for op in &tape.ops {
            match *op {
                TapeOp::Run(ns) => group.cpu_ns = group.cpu_ns.saturating_add(ns),
                TapeOp::Wait(from, _) | TapeOp::Receive(from, ..) => {
                    group.waits += 1;
                    *wakes.entry((group_of[from as usize], *to)).or_default() += 1;
                }
                TapeOp::Until(_) => group.timers += 1,
                TapeOp::Sleep(_) => group.delays += 1,
                // Who looks is not woken, and most that need room find it.
                TapeOp::Room(..)
                | TapeOp::Spin(..)
                | TapeOp::Post(..)
                | TapeOp::Fork(_)
                | TapeOp::Nice(_)
                | TapeOp::Again(_)
                | TapeOp::Yield => {}
            }
        }
    }
    let name = |group: usize| groups[group].0.clone();
    let edge = |((from, to), wakes)| Edge { from: name(from), to: name(to), wakes };
    let mut edges: Vec<Edge> = wakes.into_iter().map(edge).collect();
    edges.sort_by_key(|edge| std::cmp::Reverse(edge.wakes));
    Graph { groups: uses, edges }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Attributes;

    fn names(tasks: &[(&str, i32)]) -> Vec<(String, usize)> {
        let task = |(name, nice): &(&str, i32)| Task {
            name: (*name).into(),
            attributes: Attributes { nice: Some(*nice), ..Attributes::default() },
            ..Task::default()
        };
        let tasks: Vec<Task> = tasks.iter().map(task).collect();
        let all = (0..tasks.len() as u32).map(TaskIndex);
        let recording = Recording { tasks, cpus: 1, ..Recording::default() };
        let groups = groups(&recording, all, |_| String::new());
        groups.into_iter().map(|group| (group.name, group.tasks.len())).collect()
    }

    #[test]
    fn numbers_at_the_end_make_no_other_group() {
        let found = names(&[("worker-1", 0), ("main", 0), ("worker-12", 0), ("worker", 0)]);
        assert_eq!(found, [("worker".into(), 3), ("main".into(), 1)]);
    }

    #[test]
    fn other_attributes_and_odd_names_make_names_of_their_own() {
        let found =
            names(&[("Web Content", 0), ("Web Content", 5), ("", 0), ("123", 0), ("all", 0)]);
        let expected = [("Web_Content", 1), ("Web_Content_2", 1), ("task", 2), ("all_", 1)];
        assert_eq!(found, expected.map(|(name, count)| (name.to_owned(), count)));
        let long = names(&[("0123456789abcdef", 0), ("0123456789abcdef", 1)]);
        assert_eq!(long[1].0, "0123456789a_2");
        assert_eq!(names(&[("ééééééééé", 0)])[0].0, "ééééééé");
    }

    #[test]
    fn the_graph_counts_wake_ups_between_groups() {
        let text = "task 1 a\np1 p1 r5 p2\ntask 2 b\nw0 w0 s7 r9 p2\ntask 3 b\nw1 w0 u50 r1";
        let tapes = model::tape::read(text).expect(text);
        let graph = of(&tapes, &[("a".into(), 1), ("b".into(), 2)]);
        let edge = |from: &str, to: &str, wakes| Edge { from: from.into(), to: to.into(), wakes };
        assert_eq!(graph.edges, [edge("a", "b", 3), edge("b", "b", 1)]);
        let b = &graph.groups[1];
        assert_eq!((b.tasks, b.cpu_ns, b.waits, b.timers, b.delays), (2, 10, 4, 1, 1));
    }
}
