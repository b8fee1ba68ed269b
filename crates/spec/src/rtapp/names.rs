// SPDX-License-Identifier: GPL-2.0-only
//! Names of groups, made of names of tasks: each once, and as long as the kernel keeps them.

use std::collections::{BTreeMap, BTreeSet};

use model::metric::PROGRAM;

use crate::check::NAME_BYTES_MAX;

/// Names that have a meaning in metrics.
const TAKEN: [&str; 2] = ["all", PROGRAM];

pub struct GroupNames {
    given: BTreeSet<String>,
    /// The names that tasks will keep.
    kept: BTreeSet<String>,
    made: BTreeMap<String, u32>,
}

impl GroupNames {
    /// No names yet, for tasks that are called so in the file.
    pub fn new<'a>(tasks: impl Iterator<Item = &'a str>) -> GroupNames {
        let kept = tasks.filter(|name| **name == written(name, NAME_BYTES_MAX)).map(str::to_owned);
        GroupNames {
            given: TAKEN.map(str::to_owned).into(),
            kept: kept.collect(),
            made: BTreeMap::new(),
        }
    }

    /// The name of a task's group: its own if that is possible, else cut or numbered.
    pub fn give(&mut self, task: &str) -> String {
        if self.kept.contains(task) && self.given.insert(task.to_owned()) {
            return task.to_owned();
        }
        self.new_name(task, "")
    }

    /// The name of a task's group of forked processes.
    pub fn give_forked(&mut self, task: &str) -> String {
        self.new_name(task, "-fork")
    }

    fn new_name(&mut self, task: &str, ending: &str) -> String {
        let made = self.made.entry(format!("{task} {ending}")).or_default();
        loop {
            let number = if *made == 0 { String::new() } else { made.to_string() };
            *made += 1;
            let room = NAME_BYTES_MAX - ending.len() - number.len();
            let name = format!("{}{number}{ending}", written(task, room));
            if !self.kept.contains(&name) && self.given.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// A name in the letters that are allowed, cut to so many bytes.
fn written(name: &str, bytes: usize) -> String {
    let allowed = |letter: char| letter.is_alphanumeric() || "_.:-+".contains(letter);
    let mut written = String::new();
    for letter in name.chars().map(|letter| if allowed(letter) { letter } else { '_' }) {
        if written.len() + letter.len_utf8() > bytes {
            break;
        }
        written.push(letter);
    }
    if written.is_empty() { "task".into() } else { written }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_where_it_can_be() {
        let tasks = ["a", "a", "a1", "a name of 20 letters", "a_name_of_20_le", "all", ""];
        let mut names = GroupNames::new(tasks.into_iter());
        assert_eq!(
            tasks.map(|task| names.give(task)),
            ["a", "a2", "a1", "a_name_of_20_l1", "a_name_of_20_le", "all1", "task"]
        );
        assert_eq!(names.give_forked("a"), "a-fork");
        assert_eq!(names.give_forked("a_name_of_20_le"), "a_name_of_-fork");
        assert_eq!(names.give_forked("a_name_of_20_xx"), "a_name_of1-fork");
    }
}
