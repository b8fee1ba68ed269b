// SPDX-License-Identifier: GPL-2.0-only
//! The reservation that keeps sched_ext tasks from starving under real-time ones (`ext_server`):
//! 50 ms in each second on each CPU, deferred until they have really starved.
//!
//! DIVERGES: the server yields to every deadline task, whatever the deadlines; in the kernel it
//! takes part in EDF with a deadline of one second, which differs only when deadline tasks have
//! longer ones.

use model::trace::Preemption;

use super::Core;
use super::events::{EventKind, holds};
use super::task::Class;

const PERIOD_NS: u64 = 1_000_000_000;
const RUNTIME_NS: u64 = 50_000_000;

/// A CPU's reservation.
#[derive(Default)]
pub struct Server {
    /// Sched_ext tasks run before real-time ones now.
    pub active: bool,
    /// Time that they have had in this period.
    ran_ns: u64,
    armed: bool,
    generation: u32,
}

impl Core {
    /// Waits for starvation, if there is something to protect.
    pub(crate) fn start_server(&mut self, cpu: u32) {
        let now = self.now;
        let here = &mut self.cpus[cpu as usize];
        if self.nr_real_time == 0 || here.nr_ext == 0 || here.server.armed {
            return;
        }
        here.server.armed = true;
        let (time, generation) = (now + PERIOD_NS - RUNTIME_NS, here.server.generation);
        self.events.push(time, EventKind::Server, cpu, generation);
    }

    fn restart_server(&mut self, cpu: u32, delay_ns: u64, already_ns: u64) {
        let server = &mut self.cpus[cpu as usize].server;
        server.generation = server.generation.wrapping_add(1);
        (server.active, server.armed, server.ran_ns) = (false, true, already_ns);
        let generation = server.generation;
        self.events.push(self.now + delay_ns, EventKind::Server, cpu, generation);
    }

    /// Sched_ext tasks have run for so long on the CPU.
    pub(crate) fn serve(&mut self, cpu: u32, ns: u64) {
        let server = &mut self.cpus[cpu as usize].server;
        if !server.armed && !server.active {
            return;
        }
        server.ran_ns += ns;
        if server.ran_ns < RUNTIME_NS {
            return;
        }
        let over = server.ran_ns - RUNTIME_NS;
        if server.active {
            // The next reservation begins with the next period; an overrun is paid back then.
            self.restart_server(cpu, PERIOD_NS - RUNTIME_NS, over);
            self.because(cpu, Preemption::Reservation);
            self.resched(cpu);
        } else {
            self.restart_server(cpu, PERIOD_NS - RUNTIME_NS, 0);
        }
    }

    /// They have starved for most of a period.
    pub(crate) fn on_server(&mut self, cpu: u32, generation: u32) {
        let here = &mut self.cpus[cpu as usize];
        if !holds(generation, here.server.generation) {
            return;
        }
        here.server.armed = false;
        if here.nr_ext == 0 || self.nr_real_time == 0 {
            here.server.ran_ns = 0;
            return;
        }
        if self.curr_class(cpu) == Class::Ext {
            self.restart_server(cpu, PERIOD_NS - RUNTIME_NS, 0);
            return;
        }
        self.cpu_mut(cpu).server.active = true;
        self.because(cpu, Preemption::Reservation);
        self.interrupt(cpu, 0, |core| core.resched(cpu));
    }
}
