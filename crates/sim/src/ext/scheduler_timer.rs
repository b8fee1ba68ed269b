// SPDX-License-Identifier: GPL-2.0-only
//! The state of a scheduler's timer.

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
