// SPDX-License-Identifier: GPL-2.0-only
//! The run queue of the deadline class.

use std::collections::BTreeSet;

use super::task_id::TaskId;

/// The deadline tasks of a CPU in order of deadline, including the running task.
#[derive(Default)]
pub struct DeadlineQueue {
    tasks: BTreeSet<(u64, TaskId)>,
}

impl DeadlineQueue {
    pub fn first(&self) -> Option<TaskId> {
        self.iter().next()
    }

    /// The earliest deadline; later than any deadline if the queue is empty.
    pub(super) fn earliest(&self) -> u64 {
        self.tasks.first().map_or(u64::MAX, |&(deadline, _)| deadline)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = TaskId> {
        self.tasks.iter().map(|&(_, task)| task)
    }

    pub(super) fn insert(&mut self, deadline: u64, task: TaskId) {
        self.tasks.insert((deadline, task));
    }

    pub(super) fn remove(&mut self, deadline: u64, task: TaskId) {
        self.tasks.remove(&(deadline, task));
    }
}
