// SPDX-License-Identifier: GPL-2.0-only
//! How long steps take: the `within` step.

use super::progress::Flow;
use crate::core::{Core, TaskId};

impl Core {
    pub(crate) fn span_start(&mut self, cpu: u32, task: TaskId, limit_ns: u64) -> Flow {
        let clock = self.machine.clock(cpu);
        let play = &mut self.workload.progress[task.0 as usize];
        play.steps = play.steps.wrapping_sub(1);
        play.spans.push((clock, limit_ns));
        Flow::Next
    }

    /// The live player reads the clock at both ends and counts, as for a job.
    pub(crate) fn span_end(&mut self, cpu: u32, task: TaskId) -> Flow {
        let clock = self.machine.clock(cpu);
        let play = &mut self.workload.progress[task.0 as usize];
        play.steps = play.steps.wrapping_sub(1);
        if let Some((start_ns, limit_ns)) = play.spans.pop() {
            let tally = &mut self.recorder.groups[play.group as usize];
            tally.span(clock.saturating_sub(start_ns), limit_ns);
        }
        self.machine.charge(cpu, self.machine.costs.job_ns);
        Flow::Next
    }

    /// A task that ends inside spans ends them.
    pub(crate) fn exit_spans(&mut self, cpu: u32, task: TaskId) -> Flow {
        while !self.workload.progress[task.0 as usize].spans.is_empty() {
            self.span_end(cpu, task);
        }
        Flow::End
    }
}
