// SPDX-License-Identifier: GPL-2.0-only
//! What tasks share: locks, conditions, barriers, semaphores, pipes, the disk.

use std::collections::VecDeque;

use super::score::Score;
use crate::core::TaskId;

/// Waiting tasks in order of arrival. Who is woken first also depends on real-time priorities, as
/// with a futex: see `Core::pop_waiter`.
pub type Waiters = VecDeque<TaskId>;

/// A mutex as C libraries build it: a released lock may be taken by anybody before the woken waiter
/// gets to run.
#[derive(Default)]
pub struct Lock {
    /// Somebody has it.
    pub taken: bool,
    /// Who sleeps for it.
    pub waiters: Waiters,
}

/// A barrier.
#[derive(Default)]
pub struct Barrier {
    /// How many are here.
    pub arrived: u32,
    /// Who waits for the others.
    pub waiters: Waiters,
}

/// A semaphore.
#[derive(Default)]
pub struct Semaphore {
    /// Its value.
    pub value: u64,
    /// Who waits for it to be above zero.
    pub waiters: Waiters,
}

/// A pipe.
///
/// DIVERGES: its capacity is counted in bytes; the kernel counts pages, and small messages may
/// leave parts of pages unused.
#[derive(Default)]
pub struct Pipe {
    /// Bytes in it.
    pub bytes: u64,
    /// Who waits for bytes.
    pub readers: Waiters,
    /// Who waits for room.
    pub writers: Waiters,
}

/// What a pipe holds.
pub const PIPE_BYTES: u64 = 65_536;

/// Everything shared.
#[derive(Default)]
#[allow(missing_docs)]
pub struct Things {
    pub locks: Vec<Lock>,
    pub conditions: Vec<Waiters>,
    pub barriers: Vec<Barrier>,
    pub semaphores: Vec<Semaphore>,
    pub pipes: Vec<Pipe>,
    /// When the disk has served all requests so far.
    pub disk_free_at: u64,
    /// Forked tasks of each group so far: the next one's number.
    pub forked: Vec<u32>,
}

impl Things {
    /// What the score names.
    pub fn new(score: &Score) -> Things {
        let [locks, conditions, semaphores] = score.counts;
        let pipes = score.channels.iter().map(|&(_, count)| count as usize).sum();
        Things {
            locks: fresh(locks),
            conditions: fresh(conditions),
            barriers: fresh(score.barriers.len()),
            semaphores: fresh(semaphores),
            pipes: fresh(pipes),
            disk_free_at: 0,
            forked: vec![0; score.groups.len()],
        }
    }
}

fn fresh<T: Default>(count: usize) -> Vec<T> {
    (0..count).map(|_| T::default()).collect()
}
