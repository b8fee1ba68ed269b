// SPDX-License-Identifier: GPL-2.0-only
//! The interrupts of a workload, which take time from whatever a CPU does.

use super::workload_state::WorkloadState;
use crate::core::Core;
use crate::core::events::EventKind;

impl WorkloadState {
    /// The CPU that a source interrupts.
    pub(crate) fn interrupted_cpu(&self, number: u32) -> Option<u32> {
        self.script.interrupts.get(number as usize).map(|source| source.cpu)
    }
}

impl Core {
    /// From the common start on, each source interrupts its CPU at a phase of its own.
    pub(super) fn begin_interrupts(&mut self, start_ns: u64) {
        let mut phases = self.workload.interrupt_phases;
        for number in 0..self.workload.script.interrupts.len() {
            let every_ns = self.workload.script.interrupts[number].every_ns;
            let first_ns = start_ns + phases.below(every_ns);
            self.machine.events.push(first_ns, EventKind::Interrupt, number as u32, 0);
        }
    }

    /// A task that is interrupted is charged for it, as by kernels that do not account for the time
    /// of interrupts (`CONFIG_IRQ_TIME_ACCOUNTING`).
    pub(crate) fn on_interrupt(&mut self, number: u32) {
        let source = self.workload.script.interrupts[number as usize];
        let next_ns = self.machine.now + source.every_ns;
        self.machine.events.push(next_ns, EventKind::Interrupt, number, 0);
        let cost_ns = self.machine.costs.timer_ns + source.length_ns;
        self.interrupt(source.cpu, cost_ns, |_| ());
    }
}
