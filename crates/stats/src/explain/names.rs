// SPDX-License-Identifier: GPL-2.0-only
//! Names of tasks: `hog/1` is the second of group `hog`, `kworker/0:1[200]` a task outside the
//! workload.

use model::trace::TraceTask;

/// A task by its name, and how long it was in each state.
#[derive(Clone, Debug, Default)]
pub struct Past {
    pub pid: u32,
    pub name: String,
    pub group: usize,
    pub running_ns: u64,
    pub waiting_ns: u64,
    pub sleeping_ns: u64,
    pub blocked_ns: u64,
}

/// The tasks by group and thread number, with their names, and the groups; tasks outside the
/// workload are last.
pub fn named(known: &[TraceTask]) -> (Vec<Past>, Vec<String>) {
    let mut tasks: Vec<&TraceTask> = known.iter().filter(|task| task.pid != 0).collect();
    tasks.sort_by_key(|task| (task.group.is_empty(), &task.group, task.pid));
    let mut groups: Vec<String> = Vec::new();
    let mut numbers: Vec<u32> = Vec::new();
    let mut past = Vec::new();
    for task in tasks {
        if groups.last() != Some(&task.group) {
            groups.push(task.group.clone());
            numbers.push(0);
        }
        let number = &mut numbers[groups.len() - 1];
        let name = match task.group.as_str() {
            "" => format!("{}[{}]", task.comm, task.pid),
            group => format!("{group}/{number}"),
        };
        *number += 1;
        past.push(Past { pid: task.pid, name, group: groups.len() - 1, ..Past::default() });
    }
    if groups.last().is_none_or(|last| !last.is_empty()) {
        groups.push(String::new());
    }
    (past, groups)
}
