// SPDX-License-Identifier: GPL-2.0-only
//! The deadline server that protects sched_ext tasks from starvation by real-time tasks
//! (`ext_server`): 50 ms per second on each CPU, deferred until tasks have starved.
//!
//! DIVERGES: every deadline task has precedence over the server. In the kernel the server takes
//! part in EDF with a deadline of one second, which makes a difference only for deadline tasks with
//! longer deadlines.

const PERIOD_NS: u64 = 1_000_000_000;
const RUNTIME_NS: u64 = 50_000_000;

/// How long tasks must have starved before the server becomes active, ns.
pub const DEFERRED_NS: u64 = PERIOD_NS - RUNTIME_NS;

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
