// SPDX-License-Identifier: GPL-2.0-only
//! What tasks share: locks, conditions, barriers, semaphores, pipes, the disk.

use std::collections::VecDeque;

use model::Protocol;
use model::play::Script;

use super::sockets::Socket;
use crate::core::task::TaskId;

/// Waiting tasks in order of arrival. Which one is woken first also depends on real-time
/// priorities, as with a futex: see `Core::pop_waiter`.
pub type Waiters = VecDeque<TaskId>;

/// A mutex as C libraries build it: another task may take a released lock before the woken waiter
/// runs.
#[derive(Default)]
pub struct Lock {
    /// Whether a task holds it.
    pub taken: bool,
    /// Whether a task has slept for it or may sleep: its release is a system call.
    pub wanted: bool,
    /// The tasks that sleep for it.
    pub waiters: Waiters,
    /// Whether its holder inherits priorities: then it is one of the kernel's, see
    /// [`inheritance`](super::inheritance).
    pub inherits: bool,
    /// The task that holds a mutex of the kernel's.
    pub holder: Option<TaskId>,
}

#[derive(Default)]
pub struct Barrier {
    /// How many tasks have reached it.
    pub arrived: u32,
    /// The tasks that wait for the others.
    pub waiters: Waiters,
}

#[derive(Default)]
pub struct Semaphore {
    pub value: u64,
    /// How many tasks have gone to sleep on a futex and have not run since: while there are some,
    /// every post is a system call, also after they have been woken.
    pub announced: u32,
    /// Whether its waiter sleeps in a pipe.
    pub receives: bool,
    /// The tasks that wait until it is above zero.
    pub waiters: Waiters,
}

/// A pipe: a ring of pages, as the kernel has it. A message that fits behind the last one goes into
/// the same page, and a page is free again when all of it has been read.
#[derive(Default)]
pub struct Pipe {
    pages: VecDeque<Page>,
    /// The tasks that wait for bytes.
    pub readers: Waiters,
    /// The tasks that wait for room.
    pub writers: Waiters,
    pub mutex: PipeMutex,
}

/// `pipe->mutex`. It is free while all tasks that use the pipe go through their calls without
/// losing the CPU.
#[derive(Default)]
pub struct PipeMutex {
    pub holder: Option<TaskId>,
    /// The tasks that wait for it; the first may have been woken.
    pub waiters: Waiters,
    /// Whether the first of them gets it from its holder.
    pub handoff: bool,
}

/// A page's written bytes, and how many of them have been read.
#[derive(Clone, Copy)]
struct Page {
    written: u64,
    read: u64,
}

const PAGE_BYTES: u64 = 4096;
/// Pages of a pipe with the default size.
const PIPE_PAGES: usize = 16;

impl Pipe {
    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Whether no page is free; a small message may still fit behind the last one.
    pub fn is_full(&self) -> bool {
        self.pages.len() >= PIPE_PAGES
    }

    /// How many of these bytes it takes, and how many new pages they need.
    pub fn room_for(&self, bytes: u64) -> (u64, u64) {
        let merged = self.merged(bytes);
        let left = bytes - merged;
        let free = PIPE_PAGES.saturating_sub(self.pages.len()) as u64;
        (merged + left.min(free * PAGE_BYTES), free.min(left.div_ceil(PAGE_BYTES)))
    }

    /// The part of a message that fits behind the last one.
    fn merged(&self, bytes: u64) -> u64 {
        let tail = bytes % PAGE_BYTES;
        let fits = self.pages.back().is_some_and(|page| page.written + tail <= PAGE_BYTES);
        if fits { tail } else { 0 }
    }

    /// Takes as many bytes as there is room for; returns how many.
    pub fn write(&mut self, bytes: u64) -> u64 {
        let (moved, merged) = (self.room_for(bytes).0, self.merged(bytes));
        if let Some(page) = self.pages.back_mut() {
            page.written += merged;
        }
        let mut left = moved - merged;
        while left > 0 {
            let piece = left.min(PAGE_BYTES);
            self.pages.push_back(Page { written: piece, read: 0 });
            left -= piece;
        }
        moved
    }

    /// How many of these bytes are there to be read.
    pub fn holds(&self, bytes: u64) -> u64 {
        let mut there = 0;
        for page in &self.pages {
            if there >= bytes {
                break;
            }
            there += page.written - page.read;
        }
        there.min(bytes)
    }

    /// Gives up to `bytes` bytes; returns how many, and whether the pipe was full before a page
    /// became free.
    pub fn read(&mut self, bytes: u64) -> (u64, bool) {
        let (mut left, mut was_full) = (bytes, false);
        while left > 0
            && let Some(page) = self.pages.front_mut()
        {
            let piece = left.min(page.written - page.read);
            page.read += piece;
            left -= piece;
            if page.read == page.written {
                was_full |= self.is_full();
                self.pages.pop_front();
            }
        }
        (bytes - left, was_full)
    }
}

/// Everything that tasks share.
#[derive(Default)]
pub struct Objects {
    /// The workload's, and then that of `fork`: threads of one process fork one at a time. The C
    /// library holds its locks meanwhile, so that the child gets them in a known state.
    pub locks: Vec<Lock>,
    pub conditions: Vec<Waiters>,
    pub barriers: Vec<Barrier>,
    pub semaphores: Vec<Semaphore>,
    /// A channel has either pipes or sockets at its numbers.
    pub pipes: Vec<Pipe>,
    pub sockets: Vec<Socket>,
    /// Free buffers of sockets that the kernel's allocator has at hand.
    pub buffers_at_hand: u64,
    /// The last release of each timer that tasks share.
    pub releases: Vec<Option<u64>>,
    /// When the disk has served all requests so far.
    pub disk_free_at: u64,
    /// Forked tasks of each group so far: the next one's number.
    pub forked: Vec<u32>,
}

impl Objects {
    /// What a script names, in its state at the common start.
    pub fn new(script: &Script) -> Objects {
        Objects {
            locks: locks(&script.locks),
            conditions: fresh(script.conditions),
            barriers: fresh(script.barriers.len()),
            semaphores: fresh(script.semaphores),
            pipes: fresh(script.pipes()),
            sockets: fresh(script.pipes()),
            buffers_at_hand: 0,
            releases: fresh(script.timers),
            disk_free_at: 0,
            forked: vec![0; script.groups.len()],
        }
    }
}

fn locks(protocols: &[Protocol]) -> Vec<Lock> {
    let of_fork = Protocol::None;
    let lock =
        |&protocol: &Protocol| Lock { inherits: protocol == Protocol::Inherit, ..Lock::default() };
    protocols.iter().chain([&of_fork]).map(lock).collect()
}

fn fresh<T: Default>(count: usize) -> Vec<T> {
    (0..count).map(|_| T::default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_messages_share_pages_and_never_span_two() {
        let mut pipe = Pipe::default();
        let messages = (0..).take_while(|_| pipe.write(100) == 100).count();
        assert_eq!(messages, 16 * 40);
        assert!(pipe.is_full());
        // A page is free when its 40 messages have been read.
        let freed = (0..40).filter(|_| pipe.read(100) == (100, true)).count();
        assert_eq!((freed, pipe.room_for(100), pipe.holds(5_000)), (1, (100, 1), 5_000));
        assert_eq!((pipe.write(100), pipe.read(5_000)), (100, (5_000, true)));
    }

    #[test]
    fn a_large_message_goes_as_far_as_there_is_room() {
        let mut pipe = Pipe::default();
        assert_eq!(pipe.room_for(70_000), (65_536, 16));
        assert_eq!((pipe.write(70_000), pipe.holds(70_000)), (65_536, 65_536));
        assert_eq!(pipe.read(70_000), (65_536, true));
        assert!(pipe.is_empty());
    }
}
