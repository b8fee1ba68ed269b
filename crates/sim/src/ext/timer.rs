// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler's timers (`bpf_timer`). They expire exactly, so a policy can have slices that are
//! finer than the tick.

use crate::core::Core;
use crate::core::events::{EventKind, holds};

/// A timer and its expiry.
#[derive(Clone, Copy, Debug, Default)]
pub struct SchedulerTimer {
    cpu: u32,
    generation: u32,
    armed: bool,
}

impl Core {
    /// A new timer's number, for [`crate::Ops::timer`].
    pub fn timer_new(&mut self) -> u32 {
        self.timers.push(SchedulerTimer::default());
        self.timers.len() as u32 - 1
    }

    /// `bpf_timer_start()` with a delay in ns. The timer expires on the current CPU. An armed timer
    /// is moved.
    pub fn timer_start(&mut self, timer: u32, delay_ns: u64) {
        let here = self.this_cpu;
        let time = self.clock(here).saturating_add(delay_ns);
        let this = &mut self.timers[timer as usize];
        let generation = this.generation.wrapping_add(1);
        *this = SchedulerTimer { cpu: here, generation, armed: true };
        self.events.push(time, EventKind::SchedulerTimer, timer, generation);
    }

    /// `bpf_timer_cancel()`: returns whether the timer was armed.
    pub fn timer_cancel(&mut self, timer: u32) -> bool {
        let this = &mut self.timers[timer as usize];
        this.generation = this.generation.wrapping_add(1);
        std::mem::take(&mut this.armed)
    }

    pub(crate) fn on_scheduler_timer(&mut self, timer: u32, generation: u32) {
        let this = &mut self.timers[timer as usize];
        if !this.armed || !holds(generation, this.generation) {
            return;
        }
        this.armed = false;
        let cpu = this.cpu;
        self.interrupt(cpu, self.costs.timer_ns, |core| call!(core, timer(timer)));
    }
}
