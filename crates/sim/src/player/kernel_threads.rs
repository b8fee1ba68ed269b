// SPDX-License-Identifier: GPL-2.0-only
//! The kernel threads that decide where tasks of control groups begin: one worker of a work queue
//! for each CPU.
//!
//! When a group gets its first task or loses its last one, a worker of the CPU where that happens
//! tells those who watch `cgroup.events` (`cgroup_file_notify`). The worker takes the CPU from the
//! task that has joined, and an idle CPU then takes the task.

use model::Policy;

use super::workload_state::Gate;
use crate::core::task::{NewTask, State};
use crate::core::{Core, TaskId};
use crate::flags::PF_KTHREAD;

/// How long the worker runs for one group, ns: what a bpf_printk in a scheduler's callbacks shows
/// on Linux 7.3.4 in virtual time.
const NOTIFY_NS: u64 = 10_000;
/// The process number of the first worker. Those of Fairground's own tasks are greater.
const FIRST_PID: i32 = 101;
/// Larger machines have no workers: their process numbers would meet those of Fairground's tasks.
const CPUS_MAX: u32 = 512;

impl Core {
    /// Makes the workers of a workload that has control groups.
    pub(crate) fn add_workers(&mut self) {
        let cpus = self.machine.topology.cpus;
        if self.workload.control_groups().is_empty() || cpus > CPUS_MAX || !self.tasks_have_pasts()
        {
            return;
        }
        for cpu in 0..cpus {
            let mask = self.machine.mask_of(&[cpu]);
            let worker = self.new_task(&NewTask {
                pid: FIRST_PID + cpu as i32,
                tgid: FIRST_PID + cpu as i32,
                comm: &format!("kworker/{cpu}:1"),
                policy: Policy::default(),
                mask,
                parent: None,
                cpu,
                flags: PF_KTHREAD,
                group: u32::MAX,
            });
            self.machine.set_state(worker, State::Sleeping);
            let progress = &mut self.workload.progress[worker.0 as usize];
            (progress.group, progress.gate) = (u32::MAX, Gate::Worker);
            self.workload.workers.push(worker);
        }
    }

    /// A task begins to move to another group: the worker of this CPU has to tell it if that group
    /// has no task, or if the present one will have none.
    pub(crate) fn tell_of_move(&mut self, task: TaskId, to: u32) {
        let Some(&worker) = self.workload.workers.get(self.machine.this_cpu as usize) else {
            return;
        };
        let from = self.machine.task(task).control_group;
        let is_empty = |group| !self.machine.has_tasks(group, Some(task));
        let changes = is_empty(to) || is_empty(from);
        if changes && self.machine.task(worker).state == State::Sleeping {
            self.machine.task_mut(worker).work_left = NOTIFY_NS;
            self.wake(worker, 0);
        }
    }
}
