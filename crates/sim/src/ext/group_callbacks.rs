// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduler is told of control groups (`scx_cgroup_*` of the kernel).

use model::ControlGroup;
use model::play::control_groups::GroupNode;

use crate::core::events::EventKind;
use crate::core::task::State;
use crate::core::{Core, TaskId};
use crate::flags::ENQ_MOVE;

/// From the end of a group's folder until the scheduler hears of it: a grace period of RCU and work
/// in the background. On Linux 7.3 in the VM it is more than 100 ms.
const GRACE_NS: u64 = 200_000_000;

impl Core {
    /// Somebody makes the folder of a group (`scx_tg_online`).
    ///
    /// # Errors
    /// The error of `mkdir`.
    pub(crate) fn make_group(&mut self, number: u32, node: &GroupNode) -> Result<(), i32> {
        let Some(parent) = self.machine.groups[number as usize].parent else { return Ok(()) };
        if self.machine.groups[number as usize].is_there {
            return Err(libc::EEXIST);
        }
        // A kernel keeps what was removed beside what is made; here it ends first.
        for removed in self.machine.children_first() {
            self.on_offline(removed);
        }
        if !self.machine.groups[parent as usize].is_there {
            return Err(libc::ENOENT);
        }
        let fresh = self.machine.new_group(Some(parent), &ControlGroup::default());
        self.machine.groups[number as usize] = fresh;
        self.machine.make_group(number, node.own_name());
        let is_told = self.ext.is_loaded() && self.ext.has.cgroup_init;
        let result = if is_told { call!(self, cgroup_init(number)) } else { 0 };
        if result < 0 {
            self.machine.remove_group(number);
            return Err(-result);
        }
        // The player writes into the files of the folder that is there.
        self.set_group(number, &node.settings);
        Ok(())
    }

    /// Somebody removes the folder of a group. The scheduler is told after a grace period of RCU.
    ///
    /// # Errors
    /// The error of `rmdir`.
    pub(crate) fn remove_group(&mut self, number: u32) -> Result<(), i32> {
        if !self.machine.groups[number as usize].is_there {
            return Err(libc::ENOENT);
        }
        if self.machine.is_populated(number) {
            return Err(libc::EBUSY);
        }
        let group = &mut self.machine.groups[number as usize];
        (group.is_there, group.is_dying) = (false, true);
        let time = self.machine.clock(self.machine.this_cpu) + GRACE_NS;
        self.machine.events.push(time, EventKind::Offline, number, 0);
        Ok(())
    }

    /// A group that was removed is not used any more (`scx_tg_offline`).
    pub(crate) fn on_offline(&mut self, number: u32) {
        if !self.machine.groups[number as usize].is_dying {
            return;
        }
        if self.ext.is_loaded() {
            call!(self, cgroup_exit(number));
        }
        self.machine.remove_group(number);
    }

    /// The first part of a move (`scx_cgroup_can_attach`): the scheduler may refuse, and the
    /// controller `cpuset`, which attaches before `cpu`, gives the task the CPUs of the group. It
    /// may have to leave its CPU before the second part.
    pub(crate) fn begin_move(&mut self, task: TaskId, to: u32) -> bool {
        let from = self.machine.task(task).control_group;
        if from == to {
            return true;
        }
        if self.ext.is_loaded() && self.ext.has.cgroup_prep_move {
            let result = call!(self, cgroup_prep_move(task, from, to));
            if result < 0 {
                return false;
            }
        }
        self.tell_of_move(task, to);
        let mask = self.mask_in_group(to, self.machine.task(task).asked_mask);
        self.set_affinity(task, mask);
        true
    }

    /// The second part of a move: the controller `cpu` attaches the task (`sched_move_task`).
    pub(crate) fn end_move(&mut self, task: TaskId, to: u32) {
        let from = self.machine.task(task).control_group;
        if from == to {
            return;
        }
        let scope = self.begin_change(task, ENQ_MOVE);
        self.machine.write_group(task, to);
        if self.ext.is_loaded() && self.ext.has.cgroup_move {
            call!(self, cgroup_move(task, from, to));
        }
        self.end_change(task, scope);
        let cpu = self.machine.task(task).cpu;
        let runs = self.machine.curr(cpu) == task;
        if runs && self.machine.task(task).state == State::Runnable {
            self.machine.resched(cpu);
        }
    }

    /// `sched_setaffinity()`: the task asks for CPUs, and gets those that its group has.
    pub(crate) fn ask_for_cpus(&mut self, task: TaskId, mask: u32) {
        self.machine.task_mut(task).asked_mask = mask;
        let mask = self.mask_in_group(self.machine.task(task).control_group, mask);
        self.set_affinity(task, mask);
    }

    /// The CPUs that a task of a group may use if it asks for those of `mask`.
    fn mask_in_group(&mut self, group: u32, mask: u32) -> u32 {
        let of_group = self.machine.mask_of_control_group(group);
        match (of_group, mask) {
            (0, mask) => mask,
            (of_group, 0) => of_group,
            (of_group, mask) => {
                let mut both = self.machine.masks[mask as usize].clone();
                both.keep(&self.machine.masks[of_group as usize]);
                if both.is_empty() { of_group } else { self.machine.intern(both) }
            }
        }
    }

    /// Somebody writes to the files of a group, if it is there.
    ///
    /// # Errors
    /// The error of `open`.
    pub(crate) fn change_group_settings(
        &mut self,
        number: u32,
        change: &ControlGroup,
    ) -> Result<(), i32> {
        if !self.machine.groups[number as usize].is_there {
            return Err(libc::ENOENT);
        }
        self.set_group(number, change);
        Ok(())
    }

    fn set_group(&mut self, group: u32, change: &ControlGroup) {
        if let Some(weight) = change.chosen_weight() {
            self.set_group_idle(group, false);
            self.set_group_weight(group, weight);
        }
        if change.idle {
            self.set_group_idle(group, true);
        }
        let burst_us = self.machine.groups[group as usize].burst_us;
        if let Some(quota_us) = change.quota_us {
            let state = &self.machine.groups[group as usize];
            let period_us = change.period_us.unwrap_or(state.period_us);
            self.set_group_bandwidth(group, (period_us, quota_us, burst_us));
        }
        if change.burst_us > 0 {
            let state = &self.machine.groups[group as usize];
            let (period_us, quota_us) = (state.period_us, state.quota_us);
            self.set_group_bandwidth(group, (period_us, quota_us, change.burst_us));
        }
        if !change.cpus.is_empty() {
            self.set_group_cpus(group, &change.cpus);
        }
    }

    /// `scx_group_set_weight()`.
    fn set_group_weight(&mut self, group: u32, weight: u32) {
        let before = std::mem::replace(&mut self.machine.groups[group as usize].weight, weight);
        if before != weight && self.ext.is_loaded() && self.ext.has.cgroup_set_weight {
            call!(self, cgroup_set_weight(group, weight));
        }
    }

    /// `scx_group_set_idle()`.
    fn set_group_idle(&mut self, group: u32, is_idle: bool) {
        let before = std::mem::replace(&mut self.machine.groups[group as usize].is_idle, is_idle);
        if before != is_idle && self.ext.is_loaded() && self.ext.has.cgroup_set_idle {
            call!(self, cgroup_set_idle(group, is_idle));
        }
    }

    /// `scx_group_set_bandwidth()`.
    fn set_group_bandwidth(&mut self, group: u32, after: (u64, u64, u64)) {
        let state = &mut self.machine.groups[group as usize];
        let before = (state.period_us, state.quota_us, state.burst_us);
        (state.period_us, state.quota_us, state.burst_us) = after;
        if before != after && self.ext.is_loaded() && self.ext.has.cgroup_set_bandwidth {
            call!(self, cgroup_set_bandwidth(group, after));
        }
    }

    /// `cpuset.cpus` of a group.
    fn set_group_cpus(&mut self, group: u32, cpus: &[u32]) {
        self.machine.groups[group as usize].own_mask = self.machine.mask_of(cpus);
        for task in self.machine.all_tasks() {
            if self.machine.task(task).state != State::Dead {
                self.ask_for_cpus(task, self.machine.task(task).asked_mask);
            }
        }
    }
}
