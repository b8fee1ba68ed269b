// SPDX-License-Identifier: GPL-2.0-only
//! Loading a scheduler, the tasks' way into and out of sched_ext, and unloading
//! (`scx_root_disable`).
//!
//! DIVERGES: unloading takes no time, so no CPU switches between its steps. On a real machine tasks
//! continue to run in bypass mode, and `running` and `stopping` report their switches.

use std::rc::Rc;

use compile::native::interface::{OPS_FLAGS, first_refused};

use model::PolicyClass;

use crate::core::kernel::{ExitInfo, Ops};
use crate::core::task::{Class, ENABLED, State};
use crate::core::{Core, NO_TASK, TaskId};
use crate::flags::*;

const MS: u64 = 1_000_000;

impl Core {
    /// Loads a scheduler (`scx_enable`). If that fails, the reason is the exit reason.
    pub(crate) fn load(&mut self, ops: Rc<dyn Ops>) {
        self.ext.has = ops.present();
        self.ext.ops_flags = ops.flags();
        self.ext.max_batch = match ops.dispatch_max_batch() {
            0 => DSP_DFL_MAX_BATCH,
            batch => batch,
        };
        self.ext.shard_size = super::cids::shard_size(ops.cid_shard_size());
        self.ext.watchdog_ns = match u64::from(ops.timeout_ms()) * MS {
            0 => WATCHDOG_MAX_TIMEOUT,
            timeout => timeout.min(WATCHDOG_MAX_TIMEOUT),
        };
        self.ext.idle.enabled =
            !self.ext.has.update_idle || self.ext.ops_flags & OPS_KEEP_BUILTIN_IDLE != 0;
        self.ops = ops;
        if let Some(lacking) = first_refused(OPS_FLAGS, self.ext.ops_flags) {
            return self.lacks(lacking);
        }
        if self.ext.ops_flags & OPS_SWITCH_PARTIAL != 0 && !self.switch_partially() {
            return self.lacks("tasks of SCHED_IDLE beside SCX_OPS_SWITCH_PARTIAL");
        }
        if self.idle_is_per_node() {
            self.ext.idle.by_node = self.machine.topology.nodes.len() > 1;
        }
        if let Some(refusal) = self.refused_flags() {
            return self.error(refusal.into());
        }
        self.ext.loaded = true;
        self.ext.traces = self.ops.traces();
        if let Some((callback, result)) = self.init_failure() {
            return self.error(format!("ops.{callback}() failed ({result})"));
        }
        for task in self.machine.all_tasks() {
            self.init_task(task, false);
        }
        for task in self.machine.all_tasks() {
            if self.machine.task(task).class == Class::Ext {
                self.enable_task_with_mask(task);
            }
        }
        self.lift_bypass();
        self.start_watchdog();
    }

    /// Gives the ordinary tasks the policy `SCHED_EXT`, as the player does on a kernel. False if a
    /// task would stay in the fair class, which is not modelled.
    ///
    /// DIVERGES: the player's own threads are real-time tasks. On a kernel they are in the fair
    /// class, which is above sched_ext, too.
    fn switch_partially(&mut self) -> bool {
        let is_idle = |policy: &model::Policy| policy.class == PolicyClass::Idle;
        if self.workload.groups().iter().any(|group| is_idle(&group.policy)) {
            return false;
        }
        self.machine.switches_partially = true;
        for task in self.machine.all_tasks() {
            self.machine.write_policy(task, self.machine.task(task).policy);
        }
        true
    }

    /// Calls the callbacks that come before those of tasks; the first that fails, and its error.
    fn init_failure(&mut self) -> Option<(&'static str, i32)> {
        let has = self.ext.has;
        if has.init_cids {
            match call!(self, init_cids()) {
                0.. => {}
                result => return Some(("init_cids", result)),
            }
        }
        let result = call!(self, init());
        if result < 0 {
            return Some(("init", result));
        }
        let ops = Rc::clone(&self.ops);
        for group in 0..self.machine.groups.len() as u32 {
            if !self.machine.groups[group as usize].is_there {
                continue;
            }
            // This takes no time: what has no groups is as under a scheduler that asks for none.
            let result = if has.cgroup_init { ops.cgroup_init(self, group) } else { 0 };
            if result < 0 {
                return Some(("cgroup_init", result));
            }
        }
        None
    }

    fn refused_flags(&self) -> Option<&'static str> {
        let set = |flag| self.ext.ops_flags & flag != 0;
        if set(OPS_ENQ_LAST) && !self.ext.has.enqueue {
            Some("SCX_OPS_ENQ_LAST requires ops.enqueue() to be implemented")
        } else if set(OPS_BUILTIN_IDLE_PER_NODE) && !self.ext.idle.enabled {
            Some("SCX_OPS_BUILTIN_IDLE_PER_NODE requires CPU idle selection enabled")
        } else {
            None
        }
    }

    /// Sends every idle CPU through its idle loop once, which fills the masks and calls
    /// `ops.update_idle`.
    fn lift_bypass(&mut self) {
        self.ext.bypass = false;
        for cpu in 0..self.machine.topology.cpus {
            if self.ext.exit.is_some() {
                return;
            }
            self.machine.this_cpu = cpu;
            self.machine.cpu_mut(cpu).stopper = true;
            self.schedule(cpu, None);
            self.settle(cpu);
        }
        self.machine.this_cpu = 0;
    }

    pub(crate) fn init_task(&mut self, task: TaskId, fork: bool) {
        if !self.ext.has.init_task {
            return;
        }
        let result = call!(self, init_task(task, fork));
        if result < 0 {
            let name = self.name(task);
            self.error(format!("ops.init_task() failed ({result}) for {name}"));
        }
    }

    /// `scx_enable_task()`.
    pub(crate) fn enable_task(&mut self, task: TaskId) {
        self.machine.task_mut(task).scx |= ENABLED;
        self.publish_flags(task);
        if self.ext.has.enable {
            call!(self, enable(task));
        }
        self.reweight(task);
    }

    /// Enables a task, at loading and when it joins from another class.
    pub(crate) fn enable_task_with_mask(&mut self, task: TaskId) {
        self.enable_task(task);
        self.tell_cpumask(task);
    }

    pub(crate) fn reweight(&mut self, task: TaskId) {
        if self.ext.has.set_weight {
            let weight = self.weight(task);
            call!(self, set_weight(task, weight));
        }
    }

    pub(crate) fn tell_cpumask(&mut self, task: TaskId) {
        if self.ext.has.set_cpumask {
            call!(self, set_cpumask(task));
        }
    }

    /// `scx_disable_task()`.
    pub(crate) fn disable_task(&mut self, task: TaskId) {
        if !self.is_enabled(task) {
            return;
        }
        if self.ext.has.disable {
            call!(self, disable(task));
        }
        self.machine.task_mut(task).scx &= !ENABLED;
        self.publish_flags(task);
        self.set_slice(task, 0);
        self.set_dsq_vtime(task, 0);
    }

    /// `scx_exit_task()`.
    pub(crate) fn exit_task(&mut self, task: TaskId) {
        self.disable_task(task);
        if self.ext.has.exit_task {
            call!(self, exit_task(task, false));
        }
    }
}

impl Core {
    /// Unloads the scheduler. Its exit reason does not change any more: errors while unloading are
    /// ignored.
    pub(crate) fn unload(&mut self) {
        if !self.ext.loaded {
            return;
        }
        let normal = ExitInfo {
            kind: EXIT_UNREG,
            code: 0,
            reason: "unregistered from user space".into(),
            message: String::new(),
        };
        let info = self.ext.exit.clone().unwrap_or(normal);
        self.ext.leaving = true;
        // The measurement is over, so nothing costs time any more.
        self.machine.costs = model::Costs::FREE;
        self.enter_bypass();
        if self.ext.has.cgroup_exit {
            for group in self.machine.children_first() {
                call!(self, cgroup_exit(group));
                if self.machine.groups[group as usize].is_dying {
                    self.machine.remove_group(group);
                }
            }
        }
        for task in self.machine.all_tasks() {
            if self.machine.task(task).state != State::Dead {
                self.leave_ext(task);
                self.exit_task(task);
            }
        }
        call!(self, exit(&info));
        (self.ext.loaded, self.ext.traces) = (false, false);
    }

    /// `scx_bypass(true)`: dequeues and enqueues every waiting task, which takes it from the
    /// scheduler and its queues.
    fn enter_bypass(&mut self) {
        self.ext.bypass = true;
        self.ext.events.bypass_activate += 1;
        for cpu in 0..self.machine.topology.cpus {
            self.machine.this_cpu = cpu;
            for task in self.waiting_last_first(cpu) {
                let scope = self.begin_change(task, DEQ_MOVE);
                self.end_change(task, scope);
            }
        }
        self.machine.this_cpu = 0;
    }

    /// The CPU's waiting tasks in reverse order: a task that is cycled is appended to the list
    /// again, so the kernel iterates backwards.
    fn waiting_last_first(&self, cpu: u32) -> Vec<TaskId> {
        let known = |at: u32| (at != NO_TASK).then_some(at);
        let last = known(self.machine.cpus[cpu as usize].watch_tail);
        let before = |&at: &u32| known(self.machine.tasks[at as usize].watch_previous);
        std::iter::successors(last, before).map(TaskId).collect()
    }

    /// Moves a task to the fair class: it is dequeued from sched_ext. The fair class is not
    /// modelled, so nothing follows.
    fn leave_ext(&mut self, task: TaskId) {
        if self.machine.task(task).class == Class::Ext && self.is_enabled(task) {
            self.machine.this_cpu = self.machine.task(task).cpu;
            self.begin_change(task, DEQ_MOVE | DEQ_CLASS);
        }
    }
}
