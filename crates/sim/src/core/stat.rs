// SPDX-License-Identifier: GPL-2.0-only
//! What is counted for each task.

/// Counters of one task.
#[derive(Clone, Copy, Debug)]
pub struct Stat {
    /// CPU time of its own work, ns.
    pub user_ns: u64,
    /// CPU time between switches, ns. It includes kernel work before and after the task's own work,
    /// which the time that the scheduler sees ([`Task::cpu_ns`]) does not.
    pub ran_ns: u64,
    pub runs_since: u64,
    /// Time of its wake-up; `u64::MAX`: no wake-up is in progress.
    pub waking_at: u64,
    /// Time since which it waits for a CPU.
    pub runnable_at: u64,
    /// The longest wait for a CPU, ns.
    pub longest_wait: u64,
    /// The CPU on which it last ran.
    pub last_cpu: u32,
    /// Switches away because it blocked.
    pub voluntary: u32,
    /// Switches away while it was runnable.
    pub involuntary: u32,
    /// Number of times that it started to run on another CPU than before.
    pub migrations: u32,
}

impl Default for Stat {
    fn default() -> Stat {
        Stat {
            user_ns: 0,
            ran_ns: 0,
            runs_since: 0,
            waking_at: u64::MAX,
            runnable_at: 0,
            longest_wait: 0,
            last_cpu: u32::MAX,
            voluntary: 0,
            involuntary: 0,
            migrations: 0,
        }
    }
}

impl Stat {
    /// Begins to count at this time.
    pub fn restart(&mut self, now_ns: u64) {
        *self = Stat { last_cpu: self.last_cpu, runs_since: now_ns, ..Stat::default() };
    }
}
