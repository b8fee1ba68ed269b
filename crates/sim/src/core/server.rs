// SPDX-License-Identifier: GPL-2.0-only
//! The deadline server that protects sched_ext tasks from starvation by real-time tasks
//! (`ext_server`): 50 ms per second on each CPU, deferred until tasks have starved.
//!
//! DIVERGES: every deadline task has precedence over the server. In the kernel the server takes
//! part in EDF with a deadline of one second, which makes a difference only for deadline tasks with
//! longer deadlines.

use model::trace::Preemption;

use super::Core;
use super::events::{EventKind, holds};
use super::task::Class;

const PERIOD_NS: u64 = 1_000_000_000;
const RUNTIME_NS: u64 = 50_000_000;

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

impl Core {
    /// Starts to wait for starvation if the CPU has sched_ext tasks.
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

    /// Accounts CPU time of sched_ext tasks.
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
            // The next budget comes with the next period, minus the overrun.
            self.restart_server(cpu, PERIOD_NS - RUNTIME_NS, over);
            self.because(cpu, Preemption::Reservation);
            self.resched(cpu);
        } else {
            self.restart_server(cpu, PERIOD_NS - RUNTIME_NS, 0);
        }
    }

    /// The server's timer: sched_ext tasks have starved for most of a period.
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
