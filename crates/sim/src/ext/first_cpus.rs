// SPDX-License-Identifier: GPL-2.0-only
//! Where new tasks begin on a machine that has nothing else to do.

use super::idle_masks::IdleMasks;
use crate::core::mask::next_in_all;
use crate::core::{Core, TaskId};
use crate::flags::WAKE_FORK;

/// The CPUs of a parent's new tasks, each of which is made when the last one sleeps: the built-in
/// selection gives each the next idle CPU, and never the parent's.
pub(crate) struct FirstCpus {
    parent: u32,
    /// All CPUs but the parent's.
    idle: IdleMasks,
}

impl FirstCpus {
    /// The CPU of the parent.
    pub(crate) fn parent(&self) -> u32 {
        self.parent
    }
}

impl Core {
    /// For a parent on this CPU, which runs from now on.
    pub(crate) fn first_cpus(&mut self, parent: u32) -> FirstCpus {
        let topology = &self.machine.topology;
        let mut idle = IdleMasks::new(topology);
        (0..topology.cpus).for_each(|cpu| idle.update(cpu, true, topology));
        idle.update(parent, false, topology);
        self.machine.this_cpu = parent;
        FirstCpus { parent, idle }
    }

    /// The CPU of one more task.
    pub(crate) fn next_first_cpu(&mut self, first: &mut FirstCpus, task: TaskId) -> u32 {
        std::mem::swap(&mut self.ext.idle, &mut first.idle);
        let found = self.select_cpu_default(task, first.parent, WAKE_FORK, None, 0);
        std::mem::swap(&mut self.ext.idle, &mut first.idle);
        let Some(cpu) = found else { return first.parent };
        first.idle.update(cpu, true, &self.machine.topology);
        cpu
    }

    /// A task that has restricted itself to other CPUs goes to the next one of them
    /// (`cpumask_any_and_distribute`).
    pub(crate) fn move_to_allowed(&mut self, task: TaskId) {
        let cpu = self.machine.task(task).cpu;
        if self.machine.allowed(task, cpu) {
            return;
        }
        let start = self.machine.cpus[cpu as usize].cursor.wrapping_add(1);
        let allowed = self.machine.cpus_allowed(task);
        if let Some(next) = next_in_all(&[allowed], start) {
            self.machine.cpu_mut(cpu).cursor = next;
            self.machine.set_task_cpu(task, next);
        }
    }
}
