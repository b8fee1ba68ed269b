// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler's timers (`bpf_timer`). They expire exactly, so a policy can have slices that are
//! finer than the tick.

use super::ext_state::ExtState;
use crate::core::Core;
use crate::core::events::EventKind;

#[derive(Clone, Copy, Debug, Default)]
pub struct SchedulerTimer {
    cpu: u32,
    generation: u32,
    armed: bool,
}

impl SchedulerTimer {
    /// Arms the timer on a CPU, and invalidates its earlier expiry. Returns the new generation.
    pub(super) fn arm(&mut self, cpu: u32) -> u32 {
        let generation = self.generation.wrapping_add(1);
        *self = SchedulerTimer { cpu, generation, armed: true };
        generation
    }

    pub(super) fn cancel(&mut self) -> bool {
        self.generation = self.generation.wrapping_add(1);
        std::mem::take(&mut self.armed)
    }

    /// The CPU on which the timer expires; `None` if that expiry is outdated.
    pub(super) fn expire(&mut self, generation: u32) -> Option<u32> {
        if !self.armed || generation != self.generation {
            return None;
        }
        self.armed = false;
        Some(self.cpu)
    }
}

impl ExtState {
    pub(crate) fn timer_cpu(&self, timer: u32) -> Option<u32> {
        self.timers.get(timer as usize).map(|timer| timer.cpu)
    }
}

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
