// SPDX-License-Identifier: GPL-2.0-only
//! What the deadline server for sched_ext tasks does to its CPU.

use model::trace::Preemption;

use super::Core;
use super::events::EventKind;
use super::machine_state::MachineState;
use super::server::DEFERRED_NS;
use super::task::Class;

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
