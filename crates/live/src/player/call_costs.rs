// SPDX-License-Identifier: GPL-2.0-only
//! What the player's own calls cost where the machine's own scheduler is at work.
//!
//! A recorded time on a CPU contains the calls with which the task slept and woke others. The
//! player makes such calls itself, so it computes that much less. What they cost is measured before
//! the scheduler under test is loaded: whatever that one costs more comes on top, as it does for
//! the program.

use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::thread;

use model::tape::Reader;
use process::Pipe;

use crate::player::clock::{now_ns, own_cpu_ns, sleep_until};
use crate::player::futex::Semaphore;

/// CPU time of one call each, with what the kernel's scheduler does in it, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCosts {
    /// A post that wakes a sleeper, or a wait that sleeps.
    pub futex_ns: u64,
    /// The same with a sleeper in a pipe.
    pub pipe_ns: u64,
    /// A write to a pipe, or a read, while nobody sleeps there.
    pub awake_pipe_ns: u64,
    /// A sleep that a timer ends.
    pub sleep_ns: u64,
    /// A yield to another task.
    pub yield_ns: u64,
    /// What the player itself computes for an operation without a call and the work behind it, see
    /// [`crate::player::tapes::call_costs`].
    pub operation_ns: u64,
}

const ROUNDS: u64 = 100;
/// The number of tries. The fastest counts, because disturbances only make a try slower.
const TRIES: usize = 5;

impl CallCosts {
    /// Those of this machine, measured once per process; `operation` measures the last one.
    pub fn measured(operation: fn() -> u64) -> CallCosts {
        static COSTS: OnceLock<CallCosts> = OnceLock::new();
        let best = |cost: &dyn Fn() -> u64| (0..TRIES).map(|_| cost()).min().unwrap_or(0);
        *COSTS.get_or_init(|| CallCosts {
            futex_ns: best(&|| to_and_fro(false)),
            pipe_ns: best(&|| to_and_fro(true)),
            awake_pipe_ns: best(&write_and_read),
            sleep_ns: best(&short_sleep),
            yield_ns: best(&yields),
            operation_ns: best(&operation),
        })
    }

    /// A wake-up or a sleep, without the message: about what a preemption takes, too.
    pub fn switch_ns(&self) -> u64 {
        self.pipe_ns.saturating_sub(self.awake_pipe_ns)
    }

    /// What a message has cost the player and would have cost the program: `reader` says whether
    /// its reader slept in the recording, `slept` whether it did now. Where nobody sleeps, the
    /// player makes no call.
    pub fn message_ns(&self, reader: Reader, slept: bool) -> u64 {
        match (reader, slept) {
            (Reader::Asleep, true) => self.pipe_ns,
            (Reader::Asleep, false) => self.switch_ns(),
            (Reader::Awake, true) => self.awake_pipe_ns,
            (Reader::Awake, false) => 0,
        }
    }
}

/// One thread writes a byte and reads it.
fn write_and_read() -> u64 {
    let Ok(pipe) = process::pipe() else { return 0 };
    let mut byte = [0_u8];
    let before_ns = own_cpu_ns();
    for _ in 0..ROUNDS {
        // SAFETY: one byte each.
        unsafe {
            libc::write(pipe.write.as_raw_fd(), byte.as_ptr().cast(), 1);
            libc::read(pipe.read.as_raw_fd(), byte.as_mut_ptr().cast(), 1);
        }
    }
    (own_cpu_ns() - before_ns) / ROUNDS / 2
}

/// Two threads on one CPU wake each other in turn.
fn to_and_fro(by_pipes: bool) -> u64 {
    let half = || (Semaphore::default(), process::pipe().ok().filter(|_| by_pipes));
    let play = |halves: &[(Semaphore, Option<Pipe>); 2], own: usize| {
        let never = AtomicU32::new(0);
        let [(mine, my_mailbox), (other, mailbox)] = [&halves[own], &halves[1 - own]];
        let before_ns = own_cpu_ns();
        for _ in 0..ROUNDS {
            // One begins, the other one answers: both sleep in each round.
            if own == 0 {
                other.post_to(mailbox.as_ref());
            }
            let _ = mine.receive(my_mailbox.as_ref(), &never);
            if own == 1 {
                other.post_to(mailbox.as_ref());
            }
        }
        own_cpu_ns() - before_ns
    };
    // Both threads have posted and waited.
    on_one_cpu([half(), half()], play) / ROUNDS / 4
}

fn short_sleep() -> u64 {
    const SHORT_NS: u64 = 20_000;
    let before_ns = own_cpu_ns();
    for _ in 0..ROUNDS {
        sleep_until(now_ns() + SHORT_NS);
    }
    (own_cpu_ns() - before_ns) / ROUNDS
}

/// Two threads on one CPU yield to each other.
fn yields() -> u64 {
    let play = |here: &AtomicU32, _: usize| {
        here.fetch_add(1, SeqCst);
        while here.load(SeqCst) < 2 {
            thread::yield_now();
        }
        let before_ns = own_cpu_ns();
        (0..ROUNDS).for_each(|_| thread::yield_now());
        own_cpu_ns() - before_ns
    };
    on_one_cpu(AtomicU32::new(0), play) / ROUNDS / 2
}

/// The sum of what two threads, 0 and 1, return that run on one CPU at once.
fn on_one_cpu<S: Send + Sync + 'static>(shared: S, play: fn(&S, usize) -> u64) -> u64 {
    let shared = Arc::new(shared);
    let threads = [0, 1].map(|own| {
        let shared = shared.clone();
        thread::spawn(move || {
            stay_here();
            play(&shared, own)
        })
    });
    threads.into_iter().map(|thread| thread.join().unwrap_or(0)).sum()
}

/// The calling thread uses only the first CPU that it may use.
fn stay_here() {
    // SAFETY: zeros are a valid set, and both calls get its size.
    unsafe {
        let mut all: libc::cpu_set_t = std::mem::zeroed();
        let size = size_of::<libc::cpu_set_t>();
        libc::sched_getaffinity(0, size, &mut all);
        let places = 0..libc::CPU_SETSIZE as usize;
        if let Some(first) = places.into_iter().find(|&cpu| libc::CPU_ISSET(cpu, &all)) {
            let mut one: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(first, &mut one);
            libc::sched_setaffinity(0, size, &one);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_costs_something_and_all_of_them_end() {
        let costs = CallCosts::measured(|| 7);
        assert_eq!(costs.operation_ns, 7);
        let all =
            [costs.futex_ns, costs.pipe_ns, costs.sleep_ns, costs.awake_pipe_ns, costs.yield_ns];
        assert!(all.iter().all(|ns| *ns > 50), "{costs:?}");
        assert!(costs.awake_pipe_ns < costs.pipe_ns, "{costs:?}");
        assert_eq!(CallCosts::measured(|| 8), costs, "they are measured once");
    }
}
