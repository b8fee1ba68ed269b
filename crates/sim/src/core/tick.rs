// SPDX-License-Identifier: GPL-2.0-only
//! Accounting of CPU time (`update_curr()`) and the scheduler tick.

use model::PolicyClass;
use model::trace::Preemption;

use super::Core;
use super::events::EventKind;
use super::memory::{get, put};
use super::task::Class;
use crate::flags::SLICE_INF;

/// `RR_TIMESLICE`, ns.
const RR_QUANTUM_NS: u64 = 100_000_000;

impl Core {
    /// Charges the current task with the time since the last call.
    pub(crate) fn update_curr(&mut self, cpu: u32) {
        let here = &self.machine.cpus[cpu as usize];
        let id = here.curr;
        if id.0 == cpu {
            return;
        }
        let clock = self.machine.now.max(here.free_at);
        let task = &mut self.machine.tasks[id.0 as usize];
        let delta = clock.saturating_sub(task.exec_start);
        if delta == 0 {
            return;
        }
        task.exec_start = clock;
        task.cpu_ns += delta;
        put(task.memory, self.machine.arena.layout.sum_exec_runtime, task.cpu_ns);
        match task.class {
            Class::Ext => {
                let at = self.machine.arena.layout.slice;
                let slice: u64 = get(task.memory, at);
                if slice != SLICE_INF {
                    put(task.memory, at, slice.saturating_sub(delta));
                }
                if self.machine.nr_real_time > 0 {
                    self.serve(cpu, delta);
                }
            }
            Class::Deadline => {
                let used = self.machine.used_budget(cpu, id, delta);
                self.machine.task_mut(id).dl_runtime -= used as i64;
            }
            Class::Rt | Class::Idle => {}
        }
    }

    pub(crate) fn on_tick(&mut self, cpu: u32) {
        self.machine.cpus[cpu as usize].tick_armed = false;
        if self.machine.is_idle(cpu) {
            // An idle CPU has no tick.
            return;
        }
        self.interrupt(cpu, self.machine.costs.tick_ns, |core| core.tick(cpu));
        if !self.machine.is_idle(cpu) && !self.machine.cpus[cpu as usize].tick_armed {
            self.machine.cpus[cpu as usize].tick_armed = true;
            self.machine.events.push(
                self.machine.now + self.machine.tick_ns,
                EventKind::Tick,
                cpu,
                0,
            );
        }
    }

    fn tick(&mut self, cpu: u32) {
        self.update_curr(cpu);
        let task = self.machine.cpus[cpu as usize].curr;
        let (block, at) = (self.machine.task(task).memory, self.machine.arena.layout.utime);
        put(block, at, get::<u64>(block, at) + self.machine.tick_ns);
        match self.machine.task(task).class {
            Class::Ext => self.tick_ext(cpu, task),
            Class::Rt => self.tick_rt(cpu),
            Class::Deadline => self.tick_deadline(cpu),
            Class::Idle => {}
        }
    }

    /// SCHED_RR counts its quantum in ticks; SCHED_FIFO has none.
    fn tick_rt(&mut self, cpu: u32) {
        let quantum = (RR_QUANTUM_NS / self.machine.tick_ns).max(1) as u32;
        let id = self.machine.cpus[cpu as usize].curr;
        let task = self.machine.task_mut(id);
        if task.policy.class != PolicyClass::Rr {
            return;
        }
        if task.rr_ticks == 0 {
            task.rr_ticks = quantum;
        }
        task.rr_ticks -= 1;
        if task.rr_ticks > 0 {
            return;
        }
        task.rr_ticks = quantum;
        let prio = task.prio;
        if self.machine.cpus[cpu as usize].rt.rotate(id, prio) {
            self.because(cpu, Preemption::SliceEnd);
            self.machine.resched(cpu);
        }
    }
}
