// SPDX-License-Identifier: GPL-2.0-only
//! The run queue of the real-time class: one list per priority.

use std::collections::{BTreeMap, VecDeque};

use super::task::TaskId;

/// The priority of an idle CPU, on the scale of `p->prio`.
pub const IDLE_PRIO: i32 = 140;

/// The real-time tasks of a CPU, including the running task.
#[derive(Default)]
pub struct RtQueue {
    /// One list per `p->prio`, 0 is the highest. Empty lists keep their memory.
    lists: BTreeMap<i32, VecDeque<TaskId>>,
    len: u32,
}

impl RtQueue {
    pub(super) fn insert(&mut self, prio: i32, task: TaskId, head: bool) {
        let list = self.lists.entry(prio).or_default();
        match head {
            true => list.push_front(task),
            false => list.push_back(task),
        }
        self.len += 1;
    }

    pub(super) fn remove(&mut self, prio: i32, task: TaskId) {
        let Some(list) = self.lists.get_mut(&prio) else { return };
        if let Some(at) = list.iter().position(|&queued| queued == task) {
            list.remove(at);
            self.len -= 1;
        }
    }

    /// The first task of the highest priority.
    pub fn first(&self) -> Option<TaskId> {
        self.iter().next()
    }

    /// Number of waiting and running tasks.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// The highest priority of the CPU's waiting and running tasks; that of an idle CPU if there
    /// are none.
    pub(super) fn best(&self) -> i32 {
        let mut lists = self.lists.iter().filter(|(_, list)| !list.is_empty());
        lists.next().map_or(IDLE_PRIO, |(&prio, _)| prio)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = TaskId> {
        self.lists.values().flatten().copied()
    }

    /// Moves the task to the tail of its list; false if it is alone there.
    pub fn rotate(&mut self, task: TaskId, prio: i32) -> bool {
        if self.lists.get(&prio).is_none_or(|list| list.len() < 2) {
            return false;
        }
        self.remove(prio, task);
        self.insert(prio, task, false);
        true
    }
}
