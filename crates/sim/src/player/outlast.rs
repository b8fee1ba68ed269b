// SPDX-License-Identifier: GPL-2.0-only
//! After the measurement. On a real kernel each task must get a CPU once more to end, and the
//! watchdog ejects a scheduler that never gives one to a waiting task, however short the workload
//! was. Here virtual time passes until then. None of it is measured.

use super::progress::{Ending, Gate};
use crate::core::Core;
use crate::core::task::State;
use crate::measure::recorder::Recorder;

impl Core {
    /// If the scheduler may have forgotten tasks, lets the workload's tasks end until those have
    /// run, or the watchdog ejects the scheduler. The measurement does not change.
    pub(crate) fn outlast(&mut self) {
        let is_complete = self.workload.over && !self.workload.timed_out;
        if !is_complete || self.ext.exit().is_some() || self.recorder.refusal.is_some() {
            return;
        }
        let forgotten = self.perhaps_forgotten();
        if forgotten.is_empty() {
            return;
        }
        let nobody = Recorder::new(self.workload.groups().len(), false);
        let recorder = std::mem::replace(&mut self.recorder, nobody);
        let (stats, end) = (self.machine.stats.clone(), self.machine.now);
        self.end_all();
        self.run_until_served(forgotten);
        (self.recorder, self.machine.stats) = (recorder, stats);
        (self.machine.now, self.workload.over) = (end, true);
    }

    /// From now on each task of the workload ends as soon as it has a CPU; the main task sleeps.
    fn end_all(&mut self) {
        let main = self.workload.main;
        for task in self.machine.all_tasks().filter(|&task| task != main) {
            let this = self.machine.task_mut(task);
            (this.work_left, this.until) = (0, 0);
            let progress = &mut self.workload.progress[task.0 as usize];
            (progress.ending, progress.gate) = (Ending::Leave, Gate::Passed);
            progress.unprepared = false;
        }
        self.workload.over = false;
        for cpu in 0..self.machine.topology.cpus {
            self.machine.this_cpu = cpu;
            if self.machine.curr(cpu) == main {
                self.schedule(cpu, Some(State::Sleeping));
                self.machine.leave_real_time(main);
            } else {
                self.machine.resume(cpu);
            }
            self.settle(cpu);
            self.machine.arm_work(cpu);
        }
    }
}
