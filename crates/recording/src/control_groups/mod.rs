// SPDX-License-Identifier: GPL-2.0-only
//! The control groups of a recorded machine, as far as they matter to the tasks that are played.
//!
//! A group that has neither a sibling nor a quota changes nothing and is left out; one of the usual
//! weight beside another one is kept, because each counts as one.

use std::collections::{BTreeMap, BTreeSet};

use model::play::control_groups::{DEPTH_MAX, GROUPS_MAX, NAME_BYTES_MAX, check_name};
use model::{ControlGroup, TapeOp};

use crate::event::{Recording, TaskIndex};

/// The groups that a workload gets, and which of them a task is in.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// With names that a workload may have, parents first.
    pub groups: Vec<ControlGroup>,
    /// How many others count as their parents.
    pub merged: usize,
    of_tasks: BTreeMap<TaskIndex, String>,
}

/// The groups that are left, by their paths on the machine; the root has the empty one.
#[derive(Default)]
struct Tree {
    /// With the CPU time of a group's own tasks.
    ns: BTreeMap<String, u64>,
    /// Those that have tasks of their own.
    used: BTreeSet<String>,
    /// Groups that are left out, and their parents.
    gone: BTreeMap<String, String>,
}

impl Chosen {
    pub fn of(recording: &Recording, played: &[TaskIndex], tapes: &[Vec<TapeOp>]) -> Chosen {
        let settings: BTreeMap<&str, &ControlGroup> =
            recording.control_groups.iter().map(|group| (&*group.name, group)).collect();
        let path = |task: TaskIndex| &recording.tasks[task.0 as usize].control_group;
        let mut tree = Tree::default();
        for &task in played {
            let ops = tapes.get(task.0 as usize).map_or(&[][..], Vec::as_slice);
            let ran = |op: &TapeOp| if let TapeOp::Run(ns) = *op { ns } else { 0 };
            tree.add(path(task), ops.iter().map(ran).sum());
        }
        let has_quota = |path: &str| settings.get(path).is_some_and(|it| it.quota_us.is_some());
        while let Some(path) = tree.pointless(has_quota) {
            tree.remove(&path);
        }
        let mut merged = 0;
        while let Some(path) = tree.too_many() {
            tree.remove(&path);
            merged += 1;
        }
        let names = tree.names();
        let group = |(path, name): (&String, &String)| {
            let settings = settings.get(path.as_str()).copied().cloned().unwrap_or_default();
            ControlGroup { name: name.clone(), ..settings }
        };
        let name = |task: TaskIndex| names.get(tree.place(path(task))).cloned().unwrap_or_default();
        Chosen {
            groups: names.iter().map(group).collect(),
            merged,
            of_tasks: played.iter().map(|&task| (task, name(task))).collect(),
        }
    }

    /// The name of a task's group; empty: the workload's own.
    pub fn name(&self, task: TaskIndex) -> String {
        self.of_tasks.get(&task).cloned().unwrap_or_default()
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

impl Tree {
    fn add(&mut self, path: &str, ns: u64) {
        *self.ns.entry(path.into()).or_default() += ns;
        self.used.insert(path.into());
        let mut above = path;
        while !above.is_empty() {
            above = parent(above);
            self.ns.entry(above.into()).or_default();
        }
    }

    /// The group, or the nearest one above that is left.
    fn place<'a>(&'a self, path: &'a str) -> &'a str {
        self.gone.get(path).map_or(path, |above| self.place(above))
    }

    fn parent<'a>(&'a self, path: &'a str) -> &'a str {
        self.place(parent(path))
    }

    /// How many groups are in each that has some.
    fn children(&self) -> BTreeMap<&str, usize> {
        let mut children = BTreeMap::new();
        for path in self.ns.keys().filter(|path| !path.is_empty()) {
            *children.entry(self.parent(path)).or_default() += 1;
        }
        children
    }

    fn depth(&self, path: &str) -> usize {
        let ups = std::iter::successors(Some(path), |path| Some(self.parent(path)));
        ups.take_while(|path| !path.is_empty()).count()
    }

    /// A group that is all that its parent has.
    fn pointless(&self, has_quota: impl Fn(&str) -> bool) -> Option<String> {
        let children = self.children();
        let alone = |path: &&String| {
            let above = self.parent(path);
            !path.is_empty()
                && !has_quota(path)
                && !self.used.contains(above)
                && children.get(above) == Some(&1)
        };
        self.ns.keys().find(alone).cloned()
    }

    /// The group that goes while there are too many levels or groups.
    fn too_many(&self) -> Option<String> {
        let deep = self.ns.keys().find(|path| self.depth(path) > DEPTH_MAX);
        let children = self.children();
        let leaf = |path: &str| !path.is_empty() && !children.contains_key(path);
        let least = || self.ns.iter().filter(|(path, _)| leaf(path)).min_by_key(|(_, ns)| **ns);
        let is_full = self.ns.len() > GROUPS_MAX + 1;
        deep.or_else(|| least().filter(|_| is_full).map(|(path, _)| path)).cloned()
    }

    fn remove(&mut self, path: &str) {
        let above = self.parent(path).to_owned();
        let ns = self.ns.remove(path).unwrap_or(0);
        *self.ns.entry(above.clone()).or_default() += ns;
        if self.used.remove(path) {
            self.used.insert(above.clone());
        }
        self.gone.insert(path.into(), above);
    }

    /// The names that a workload may have, by path.
    fn names(&self) -> BTreeMap<String, String> {
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        let mut taken = BTreeSet::new();
        for path in self.ns.keys().filter(|path| !path.is_empty()) {
            let own = allowed(path.rsplit('/').next().unwrap_or_default());
            let above = names.get(self.parent(path)).map(|above| format!("{above}/"));
            let whole = format!("{}{own}", above.unwrap_or_default());
            let numbered = (2_u32..).map(|number| format!("{whole}_{number}"));
            let all = std::iter::once(whole.clone()).chain(numbered);
            let name = all.into_iter().find(|name| taken.insert(name.clone())).unwrap_or_default();
            names.insert(path.clone(), name);
        }
        names
    }
}

/// A folder's name with the letters that a group's may have, and room for a number.
fn allowed(name: &str) -> String {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    let letters = name.chars().map(|letter| if is_allowed(letter) { letter } else { '_' });
    let letters = letters.skip_while(|letter| !letter.is_ascii_alphanumeric());
    let name: String = letters.take(NAME_BYTES_MAX - 6).collect();
    if check_name(&name).is_ok() { name } else { format!("g_{}", name.replace('.', "_")) }
}

/// Calls the groups c1, c2, …
pub fn make_anonymous(recording: &mut Recording) {
    let groups = recording.control_groups.iter().map(|group| &group.name);
    let paths: BTreeSet<String> =
        groups.chain(recording.tasks.iter().map(|task| &task.control_group)).cloned().collect();
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for path in paths.into_iter().filter(|path| !path.is_empty()) {
        let own = format!("c{}", names.len() + 1);
        let above = names.get(parent(&path)).map(|above| format!("{above}/"));
        names.insert(path, format!("{}{own}", above.unwrap_or_default()));
    }
    let groups = recording.control_groups.iter_mut().map(|group| &mut group.name);
    let tasks = recording.tasks.iter_mut().map(|task| &mut task.control_group);
    groups.chain(tasks).for_each(|path| *path = names.get(path).cloned().unwrap_or_default());
}

#[cfg(test)]
mod tests;
