// SPDX-License-Identifier: GPL-2.0-only
//! The cost model of a lock that several CPUs take.

/// A lock that CPUs contend for, in order of arrival.
#[derive(Clone, Copy, Debug, Default)]
pub struct SharedLock {
    free_at: u64,
    last_cpu: Option<u32>,
}

impl SharedLock {
    /// The CPU whose cache has the lock; `None` before the first CPU takes it.
    pub(super) fn last_cpu(&self) -> Option<u32> {
        self.last_cpu
    }

    /// A CPU waits for earlier ones, holds the lock and releases it. Returns the time of the
    /// release.
    pub(super) fn pass(&mut self, cpu: u32, now_ns: u64, hold_ns: u64) -> u64 {
        self.free_at = self.free_at.max(now_ns) + hold_ns;
        self.last_cpu = Some(cpu);
        self.free_at
    }
}
