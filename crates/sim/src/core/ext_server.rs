// SPDX-License-Identifier: GPL-2.0-only
//! The deadline server that protects sched_ext tasks from starvation by real-time tasks
//! (`ext_server`): 50 ms per second on each CPU, deferred until tasks have starved.
//!
//! DIVERGES: every deadline task has precedence over the server. In the kernel the server takes
//! part in EDF with a deadline of one second, which makes a difference only for deadline tasks with
//! longer deadlines.

use model::trace::Preemption;

use super::Core;
use super::events::EventKind;
use super::kernel::MachineState;
use super::task::Class;

const PERIOD_NS: u64 = 1_000_000_000;
const RUNTIME_NS: u64 = 50_000_000;

/// How long tasks must have starved before the server becomes active, ns.
const DEFERRED_NS: u64 = PERIOD_NS - RUNTIME_NS;

/// A CPU's deadline server.
#[derive(Default)]
pub struct Server {
    /// The server is active: sched_ext tasks run before real-time tasks.
    pub active: bool,
    /// CPU time of sched_ext tasks in this period, ns.
    ran_ns: u64,
    armed: bool,
    generation: u32,
}

impl Server {
    /// Whether the timer that ends the deferral is set.
    pub fn is_armed(&self) -> bool {
        self.armed
    }

    /// Sets the timer that ends the deferral; returns the timer's generation.
    pub fn arm(&mut self) -> u32 {
        self.armed = true;
        self.generation
    }

    /// Begins a new period and invalidates the timer of the last one. The budget of the new period
    /// is smaller by the overrun of the last one. Returns the new timer's generation.
    pub fn restart(&mut self, overrun_ns: u64) -> u32 {
        self.generation = self.generation.wrapping_add(1);
        (self.active, self.armed, self.ran_ns) = (false, true, overrun_ns);
        self.generation
    }

    /// Accounts CPU time of sched_ext tasks. Returns the overrun when the budget is used up.
    pub fn account(&mut self, ns: u64) -> Option<u64> {
        if !self.armed && !self.active {
            return None;
        }
        self.ran_ns += ns;
        self.ran_ns.checked_sub(RUNTIME_NS)
    }

    /// The timer expires. Returns false if it is an outdated one, which changes nothing.
    pub fn expire(&mut self, generation: u32) -> bool {
        if generation != self.generation {
            return false;
        }
        self.armed = false;
        true
    }

    /// Forgets the CPU time of this period: nothing can starve any more.
    pub fn forget_use(&mut self) {
        self.ran_ns = 0;
    }
}

impl MachineState {
    /// Starts to wait for starvation if the CPU has sched_ext tasks.
    pub(crate) fn start_server(&mut self, cpu: u32) {
        let here = &mut self.cpus[cpu as usize];
        if self.nr_real_time == 0 || here.nr_ext == 0 || here.server.is_armed() {
            return;
        }
        let generation = here.server.arm();
        self.events.push(self.now + DEFERRED_NS, EventKind::Server, cpu, generation);
    }

    /// Begins a new period. `used_ns` of its budget are used already.
    fn restart_server(&mut self, cpu: u32, used_ns: u64) {
        let generation = self.cpus[cpu as usize].server.restart(used_ns);
        self.events.push(self.now + DEFERRED_NS, EventKind::Server, cpu, generation);
    }
}

impl Core {
    /// Accounts CPU time of sched_ext tasks.
    #[inline(never)]
    pub(crate) fn serve(&mut self, cpu: u32, ns: u64) {
        let server = &mut self.machine.cpus[cpu as usize].server;
        let Some(overrun_ns) = server.account(ns) else { return };
        if server.active {
            self.machine.restart_server(cpu, overrun_ns);
            self.because(cpu, Preemption::Reservation);
            self.machine.resched(cpu);
        } else {
            self.machine.restart_server(cpu, 0);
        }
    }

    /// The server's timer: sched_ext tasks have starved for most of a period.
    pub(crate) fn on_server(&mut self, cpu: u32, generation: u32) {
        let nr_real_time = self.machine.nr_real_time;
        let on_ext = self.machine.curr_class(cpu) == Class::Ext;
        let here = self.machine.cpu_mut(cpu);
        if !here.server.expire(generation) {
            return;
        }
        if here.nr_ext == 0 || nr_real_time == 0 {
            here.server.forget_use();
        } else if on_ext {
            self.machine.restart_server(cpu, 0);
        } else {
            here.server.active = true;
            self.because(cpu, Preemption::Reservation);
            self.interrupt(cpu, 0, |core| core.machine.resched(cpu));
        }
    }
}
