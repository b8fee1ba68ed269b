// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler's timers (`bpf_timer`). They expire exactly, so a policy can have slices that are
//! finer than the tick.

use super::scheduler_timer::SchedulerTimer;
use crate::core::Core;
use crate::core::events::EventKind;

impl Core {
    /// A new timer's number, for [`crate::Ops::timer`].
    pub fn timer_new(&mut self) -> u32 {
        self.ext.timers.push(SchedulerTimer::default());
        self.ext.timers.len() as u32 - 1
    }

    /// `bpf_timer_start()` with a delay in ns. The timer expires on the current CPU. An armed timer
    /// is moved.
    pub fn timer_start(&mut self, timer: u32, delay_ns: u64) {
        let here = self.machine.this_cpu;
        let time = self.machine.clock(here).saturating_add(delay_ns);
        let generation = self.ext.timers[timer as usize].arm(here);
        self.machine.events.push(time, EventKind::SchedulerTimer, timer, generation);
    }

    /// `bpf_timer_cancel()`: returns whether the timer was armed.
    pub fn timer_cancel(&mut self, timer: u32) -> bool {
        self.ext.timers[timer as usize].cancel()
    }

    pub(crate) fn on_scheduler_timer(&mut self, timer: u32, generation: u32) {
        let Some(cpu) = self.ext.timers[timer as usize].expire(generation) else { return };
        self.interrupt(cpu, self.machine.costs.timer_ns, |core| call!(core, timer(timer)));
    }
}
