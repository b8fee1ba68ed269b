// SPDX-License-Identifier: GPL-2.0-only
//! The clock of a CPU, and the work that its task is doing.

use super::cpu::{LAZY, NOW};
use super::events::EventKind;
use super::machine_state::MachineState;
use super::speed::FULL;

impl MachineState {
    /// The time on a CPU. Kernel work moves it ahead of the event that is being handled.
    #[inline]
    pub(crate) fn clock(&self, cpu: u32) -> u64 {
        self.now.max(self.cpus[cpu as usize].free_at)
    }

    /// Kernel work on a CPU: what its task does is delayed by it.
    #[inline]
    pub(crate) fn charge(&mut self, cpu: u32, ns: u64) {
        if ns == 0 {
            return;
        }
        let now = self.now;
        let here = &mut self.cpus[cpu as usize];
        here.free_at = here.free_at.max(now) + ns;
        if here.done_at != u64::MAX {
            self.delay_work(cpu, ns);
        }
    }

    /// Out of line, because most kernel work is done while no task works.
    #[inline(never)]
    fn delay_work(&mut self, cpu: u32, ns: u64) {
        let here = &mut self.cpus[cpu as usize];
        let until = self.tasks[here.curr.0 as usize].until;
        here.done_at = if until > 0 { until.max(here.free_at) } else { here.done_at + ns };
    }

    /// Lets the current task work from now on, and makes sure that its end is noticed.
    #[inline]
    pub(crate) fn resume(&mut self, cpu: u32) {
        let here = &mut self.cpus[cpu as usize];
        if here.curr.0 == cpu {
            here.done_at = u64::MAX;
            return;
        }
        let clock = self.now.max(here.free_at);
        let speed = self.speeds.of(cpu);
        here.resumed_at = clock;
        let task = &self.tasks[here.curr.0 as usize];
        here.done_at = match task.until {
            0 if speed == FULL => clock + task.work_left,
            0 => clock + (task.work_left * FULL).div_ceil(speed),
            until => until.max(clock),
        };
        self.arm_work(cpu);
        self.arm_tick(cpu);
    }

    /// Takes note of what the current task has left to do.
    #[inline]
    pub(crate) fn pause(&mut self, cpu: u32) {
        if self.cpus[cpu as usize].done_at != u64::MAX {
            self.interrupt_work(cpu);
        }
    }

    fn interrupt_work(&mut self, cpu: u32) {
        let speed = self.speeds.of(cpu);
        let here = &mut self.cpus[cpu as usize];
        let clock = self.now.max(here.free_at);
        let task = &mut self.tasks[here.curr.0 as usize];
        if task.until == 0 {
            let left = here.done_at.saturating_sub(clock);
            let left = if speed == FULL { left } else { left * speed / FULL };
            let done = task.work_left.saturating_sub(left);
            task.work_left -= done;
            let user_ns = if speed == FULL { done } else { done * FULL / speed };
            self.stats[here.curr.0 as usize].user_ns += user_ns;
        } else {
            self.stats[here.curr.0 as usize].user_ns += clock.saturating_sub(here.resumed_at);
        }
        here.done_at = u64::MAX;
    }

    /// An event that comes too early is harmless: it is handled by arming the next one. So only an
    /// earlier end needs a new event.
    #[inline]
    pub(crate) fn arm_work(&mut self, cpu: u32) {
        let here = &mut self.cpus[cpu as usize];
        if here.done_at < here.armed_at {
            here.armed_at = here.done_at;
            self.events.push(here.done_at, EventKind::Work, cpu, 0);
        }
    }

    /// Ticks come on a grid, and only to busy CPUs.
    fn arm_tick(&mut self, cpu: u32) {
        let here = &mut self.cpus[cpu as usize];
        if !here.tick_armed {
            here.tick_armed = true;
            let since = self.now.saturating_sub(self.tick_phase);
            let next = self.tick_phase + (since / self.tick_ns + 1) * self.tick_ns;
            self.events.push(next, EventKind::Tick, cpu, 0);
        }
    }

    /// Makes a CPU reschedule as soon as possible (`resched_curr`).
    #[inline]
    pub(crate) fn resched(&mut self, cpu: u32) {
        let here = &mut self.cpus[cpu as usize];
        if here.need_resched & NOW != 0 {
            return;
        }
        here.need_resched |= NOW;
        if cpu != self.this_cpu {
            self.send_ipi(cpu);
        }
    }

    /// Makes a CPU reschedule before it returns to user mode (`resched_curr_lazy`): another CPU
    /// notices it at its next interrupt.
    pub(crate) fn resched_lazy(&mut self, cpu: u32) {
        if self.is_idle(cpu) {
            return self.resched(cpu);
        }
        self.cpu_mut(cpu).need_resched |= LAZY;
    }

    #[inline(never)]
    fn send_ipi(&mut self, cpu: u32) {
        let time = self.clock(self.this_cpu) + self.costs.ipi_ns;
        self.events.push(time, EventKind::Resched, cpu, 0);
    }
}
