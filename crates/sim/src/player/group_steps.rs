// SPDX-License-Identifier: GPL-2.0-only
//! What tasks do to control groups: they join their own before the common start, move, and make,
//! change and remove groups.

use std::io;

use model::play::Op;

use super::workload_state::Flow;
use crate::core::control_groups::group_number;
use crate::core::{Core, TaskId};

/// How many of the cheapest system calls take as long as what a move to a control group does before
/// `sched_move_task`, and as what it does after it.
const CALLS_OF_MOVE: u64 = 8;
/// Why a task could not move.
const REFUSED_MOVE: &str = "the scheduler's ops.cgroup_prep_move() refused it";

impl Core {
    /// The number of the control group that a group's tasks start in.
    pub(super) fn control_group_of(&self, group: usize) -> u32 {
        match self.workload.script.groups[group].control_group {
            Some(in_tree) => group_number(in_tree),
            None => self.machine.own_group(),
        }
    }

    /// Whether a task has still to move to its group.
    pub(super) fn joins_group(&self, task: TaskId) -> bool {
        self.control_group_of(self.group_of(task)) != self.machine.task(task).control_group
    }

    /// The first part of a task's move to its group.
    pub(super) fn may_join(&mut self, cpu: u32, task: TaskId) -> bool {
        let is_allowed = self.begin_move(task, self.control_group_of(self.group_of(task)));
        if !is_allowed {
            self.refuse_group(task, REFUSED_MOVE);
        }
        self.machine.charge(cpu, self.machine.costs.syscall_ns * CALLS_OF_MOVE);
        is_allowed
    }

    /// The second part.
    pub(super) fn join_group(&mut self, cpu: u32, task: TaskId) {
        self.end_move(task, self.control_group_of(self.group_of(task)));
        self.machine.charge(cpu, self.machine.costs.syscall_ns * CALLS_OF_MOVE);
    }

    /// A task writes itself into a group's `cgroup.threads`. If it loses its CPU in the middle, or
    /// must leave it, it goes on with the write when it has one again.
    pub(super) fn change_group(&mut self, cpu: u32, task: TaskId, group: Option<usize>) -> Flow {
        let group = group.map_or(self.machine.own_group(), group_number);
        let begins = self.workload.progress[task.0 as usize].phase == 0;
        if begins {
            self.machine.charge(cpu, self.machine.costs.syscall_ns);
        }
        if !self.machine.groups[group as usize].is_there {
            self.refuse_group(task, &not_done(libc::ENOENT));
        } else if begins && !self.begin_move(task, group) {
            self.refuse_group(task, REFUSED_MOVE);
        } else if begins && (!self.machine.allowed(task, cpu) || self.interrupted(cpu)) {
            self.workload.progress[task.0 as usize].phase = 1;
            return Flow::Again;
        } else {
            self.end_move(task, group);
        }
        self.step_is_done(task);
        Flow::Again
    }

    /// A step makes or removes a control group, or changes its settings.
    pub(super) fn change_groups(&mut self, cpu: u32, task: TaskId, op: Op) -> Flow {
        self.machine.charge(cpu, self.machine.costs.syscall_ns);
        let result = match op {
            Op::MakeGroup(group) => {
                let node = self.workload.script.control_groups[group].clone();
                self.make_group(group_number(group), &node)
            }
            Op::RemoveGroup(group) => self.remove_group(group_number(group)),
            Op::SetGroup(change) => {
                let (group, change) = self.workload.script.group_changes[change].clone();
                self.change_group_settings(group_number(group), &change)
            }
            _ => Ok(()),
        };
        if let Err(error) = result {
            self.refuse_group(task, &not_done(error));
        }
        Flow::Next
    }

    /// A write to the files of a group fails, on a kernel, too.
    pub(super) fn refuse_group(&mut self, task: TaskId, why: &str) {
        let group = &self.workload.script.groups[self.group_of(task)].name;
        let text = format!("a task of `{group}` could not go on: its control group: {why}");
        self.recorder.refusal.get_or_insert(text);
        self.workload.over = true;
    }
}

/// The words for an error of a write, with what helps.
fn not_done(error: i32) -> String {
    let help = match error {
        libc::EEXIST => "it was made before",
        libc::EBUSY => "tasks or groups are in the one that is to be removed",
        libc::ENOENT => "is it there? Steps make and remove absent groups",
        _ => "the scheduler may have refused it",
    };
    format!("{}; {help}", io::Error::from_raw_os_error(error))
}
