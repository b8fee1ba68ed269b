// SPDX-License-Identifier: GPL-2.0-only
//! Locks, conditions, barriers and semaphores in shared memory.
//!
//! The C library's own would suffice for threads, but a trial must end whatever its tasks wait for:
//! every wait here is ended by a signal once the stop flag is up. All of it is safe after `fork`.

use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering::SeqCst};

use process::Pipe;

use crate::player::attributes::{Errno, check};
use crate::player::clock::timespec;
use crate::player::shared_memory::Shareable;

const ANY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Sleeps while the word has this value; returns early after a signal.
pub fn wait(word: &AtomicU32, value: u32) {
    wait_bits(word, value, ANY, ptr::null());
}

/// As [`wait`], but not longer than until `CLOCK_MONOTONIC` shows `until_ns`.
pub fn wait_until(word: &AtomicU32, value: u32, until_ns: u64) {
    wait_bits(word, value, ANY, &timespec(until_ns));
}

/// Wakes up to `count` sleepers; whether there was one.
pub fn wake(word: &AtomicU32, count: i32) -> bool {
    wake_bits(word, count, ANY)
}

fn wait_bits(word: &AtomicU32, value: u32, bits: u32, until: *const libc::timespec) {
    let none: *const u32 = ptr::null();
    // SAFETY: the word lives in our address space; the time is valid or null.
    unsafe {
        let operation = libc::FUTEX_WAIT_BITSET;
        libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, until, none, bits)
    };
}

fn wake_bits(word: &AtomicU32, count: i32, bits: u32) -> bool {
    let none: *const u32 = ptr::null();
    // SAFETY: as above.
    let woken = unsafe {
        let operation = libc::FUTEX_WAKE_BITSET;
        libc::syscall(libc::SYS_futex, word.as_ptr(), operation, count, none, none, bits)
    };
    woken > 0
}

fn over(stop: &AtomicU32) -> Result<(), Stopped> {
    if stop.load(SeqCst) == 0 { Ok(()) } else { Err(Stopped) }
}

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const WANTED: u32 = 2;

/// A mutex with three states (Drepper, "Futexes Are Tricky", 2011): without contention, taking and
/// releasing it costs no system call.
#[repr(C)]
pub struct Lock {
    state: AtomicU32,
}

impl Lock {
    /// Takes it, waiting as long as necessary.
    pub fn take(&self, stop: &AtomicU32) -> Result<(), Stopped> {
        if self.state.compare_exchange(FREE, TAKEN, SeqCst, SeqCst).is_ok() {
            return Ok(());
        }
        while self.state.swap(WANTED, SeqCst) != FREE {
            over(stop)?;
            wait(&self.state, WANTED);
        }
        Ok(())
    }

    pub fn release(&self) {
        if self.state.swap(FREE, SeqCst) == WANTED {
            wake(&self.state, 1);
        }
    }
}

/// The end of waits for mutexes that inherit, on `CLOCK_REALTIME`. A signal does not end such a
/// wait, but makes the kernel read this time again.
#[repr(C)]
pub struct Patience {
    seconds: AtomicI64,
    nanoseconds: AtomicI64,
}

impl Patience {
    /// Waits last as long as necessary.
    pub fn begin(&self) {
        self.seconds.store(i64::from(u32::MAX), SeqCst);
    }

    /// Waits end at the next signal.
    pub fn end(&self) {
        self.seconds.store(0, SeqCst);
    }
}

/// The same words as mutexes of the kernel's, whose holder inherits priorities: the state is the
/// holder's thread number, and a bit if there are waiters.
impl Lock {
    /// Takes it for this thread. Once patience has ended, the error is `ETIMEDOUT`.
    pub fn take_inheriting(&self, thread: u32, patience: &Patience) -> Result<(), Errno> {
        if self.state.compare_exchange(FREE, thread, SeqCst, SeqCst).is_ok() {
            return Ok(());
        }
        let until: *const Patience = patience;
        // SAFETY: the word lives in our address space; the time has the form of a `timespec`.
        let result = unsafe {
            libc::syscall(libc::SYS_futex, self.state.as_ptr(), libc::FUTEX_LOCK_PI, 0, until)
        };
        check(result)
    }

    pub fn release_inheriting(&self, thread: u32) {
        if self.state.compare_exchange(thread, FREE, SeqCst, SeqCst).is_err() {
            // SAFETY: as above.
            unsafe { libc::syscall(libc::SYS_futex, self.state.as_ptr(), libc::FUTEX_UNLOCK_PI) };
        }
    }
}

/// A condition that wakes in order of arrival: each waiter draws a ticket, and a signal serves the
/// next. So a task that signals and then waits cannot take its own signal.
#[repr(C)]
pub struct Condition {
    drawn: AtomicU32,
    served: AtomicU32,
}

impl Condition {
    /// Waits for a signal after the release of what must not be held meanwhile.
    pub fn wait(&self, release: impl FnOnce(), stop: &AtomicU32) -> Result<(), Stopped> {
        let ticket = self.draw();
        release();
        self.await_turn(ticket, stop)
    }

    /// Comes to the waiters.
    pub fn draw(&self) -> u32 {
        self.drawn.fetch_add(1, SeqCst)
    }

    /// Waits until a signal serves the ticket.
    pub fn await_turn(&self, ticket: u32, stop: &AtomicU32) -> Result<(), Stopped> {
        loop {
            let served = self.served.load(SeqCst);
            if served.wrapping_sub(ticket) as i32 > 0 {
                break;
            }
            over(stop)?;
            wait_bits(&self.served, served, bit(ticket), ptr::null());
        }
        Ok(())
    }

    /// Wakes the first waiter; does nothing without one.
    pub fn signal(&self) {
        let next =
            |served: u32| (served != self.drawn.load(SeqCst)).then(|| served.wrapping_add(1));
        if let Ok(ticket) = self.served.fetch_update(SeqCst, SeqCst, next) {
            // Only every 32nd waiter shares its bit with this one.
            wake_bits(&self.served, i32::MAX, bit(ticket));
        }
    }

    pub fn broadcast(&self) {
        let drawn = self.drawn.load(SeqCst);
        if self.served.swap(drawn, SeqCst) != drawn {
            wake(&self.served, i32::MAX);
        }
    }
}

fn bit(ticket: u32) -> u32 {
    1 << (ticket % 32)
}

/// A barrier that can be used again at once.
#[repr(C)]
pub struct Barrier {
    arrived: AtomicU32,
    opened: AtomicU32,
}

impl Barrier {
    /// Waits until `all` tasks are here.
    pub fn wait(&self, all: u32, stop: &AtomicU32) -> Result<(), Stopped> {
        let opened = self.opened.load(SeqCst);
        if self.arrived.fetch_add(1, SeqCst) + 1 >= all {
            self.arrived.store(0, SeqCst);
            self.opened.fetch_add(1, SeqCst);
            wake(&self.opened, i32::MAX);
            return Ok(());
        }
        while self.opened.load(SeqCst) == opened {
            over(stop)?;
            wait(&self.opened, opened);
        }
        Ok(())
    }
}

#[repr(C)]
#[derive(Default)]
pub struct Semaphore {
    value: AtomicU32,
    waiting: AtomicU32,
    /// How many sleep in their mailbox.
    receiving: AtomicU32,
}

impl Semaphore {
    pub fn post(&self) {
        self.post_to(None);
    }

    /// Increments it; its waiter may sleep in this mailbox. The post that made it more than zero
    /// has woken it there. Whether it woke somebody.
    pub fn post_to(&self, mailbox: Option<&Pipe>) -> bool {
        let before = self.value.fetch_add(1, SeqCst);
        // A sleeper that has been woken counts as waiting until it runs.
        let woke = self.waiting.load(SeqCst) > 0 && wake(&self.value, 1);
        let sleeper = mailbox.filter(|_| before == 0 && self.receiving.load(SeqCst) > 0);
        if let Some(mailbox) = sleeper {
            // SAFETY: one byte. A pipe that is full wakes its reader anyway.
            unsafe { libc::write(mailbox.write.as_raw_fd(), [0_u8].as_ptr().cast(), 1) };
        }
        woke || sleeper.is_some()
    }

    /// As [`Semaphore::wait`], but asleep in a mailbox. A byte there may be one of an earlier
    /// sleep, so it is only a reason to look.
    pub fn receive(&self, mailbox: Option<&Pipe>, stop: &AtomicU32) -> Result<bool, Stopped> {
        let Some(mailbox) = mailbox else { return self.wait(stop) };
        let mut slept = false;
        while !self.take() {
            over(stop)?;
            self.receiving.fetch_add(1, SeqCst);
            if self.value.load(SeqCst) == 0 {
                // SAFETY: one byte.
                unsafe { libc::read(mailbox.read.as_raw_fd(), [0_u8].as_mut_ptr().cast(), 1) };
            }
            self.receiving.fetch_sub(1, SeqCst);
            slept = true;
        }
        Ok(slept)
    }

    /// Decrements it unless it is zero; whether it was not.
    pub fn take(&self) -> bool {
        self.value.fetch_update(SeqCst, SeqCst, |value| value.checked_sub(1)).is_ok()
    }

    /// Decrements it, waiting while it is zero; whether it was.
    pub fn wait(&self, stop: &AtomicU32) -> Result<bool, Stopped> {
        let mut slept = false;
        while !self.take() {
            over(stop)?;
            self.waiting.fetch_add(1, SeqCst);
            wait(&self.value, 0);
            self.waiting.fetch_sub(1, SeqCst);
            slept = true;
        }
        Ok(slept)
    }
}

// SAFETY: they consist of atomics.
unsafe impl Shareable for Lock {}
// SAFETY: as above.
unsafe impl Shareable for Condition {}
// SAFETY: as above.
unsafe impl Shareable for Barrier {}
// SAFETY: as above.
unsafe impl Shareable for Semaphore {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn a_signal_is_not_for_the_one_who_gives_it() {
        let condition = Arc::new(Condition { drawn: AtomicU32::new(0), served: AtomicU32::new(0) });
        let other = condition.clone();
        let waiter = thread::spawn(move || other.wait(|| (), &AtomicU32::new(0)));
        while condition.drawn.load(SeqCst) == 0 {
            thread::yield_now();
        }
        condition.signal();
        let stop = AtomicU32::new(1);
        assert_eq!(condition.wait(|| (), &stop), Err(Stopped));
        assert_eq!(waiter.join().unwrap(), Ok(()));
    }

    #[test]
    fn a_lock_lets_one_in_at_a_time() {
        let lock = Arc::new(Lock { state: AtomicU32::new(FREE) });
        let counter = Arc::new(AtomicU32::new(0));
        let count = |lock: Arc<Lock>, counter: Arc<AtomicU32>| {
            thread::spawn(move || {
                for _ in 0..2_000 {
                    lock.take(&AtomicU32::new(0)).unwrap();
                    // Not one atomic step, so that a second task inside would be noticed.
                    let value = counter.load(SeqCst);
                    std::hint::spin_loop();
                    counter.store(value + 1, SeqCst);
                    lock.release();
                }
            })
        };
        let threads: Vec<_> = (0..4).map(|_| count(lock.clone(), counter.clone())).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(counter.load(SeqCst), 8_000);
    }

    #[test]
    fn who_receives_sleeps_in_a_pipe_and_a_stray_byte_does_no_harm() {
        let mailbox = Arc::new(process::pipe().expect("a pipe"));
        let semaphore = Arc::new(Semaphore::default());
        let other = (semaphore.clone(), mailbox.clone());
        let receiver = thread::spawn(move || {
            let stop = AtomicU32::new(0);
            (0..3).map(|_| other.0.receive(Some(&other.1), &stop)).collect::<Vec<_>>()
        });
        // SAFETY: one byte.
        unsafe { libc::write(mailbox.write.as_raw_fd(), [0_u8].as_ptr().cast(), 1) };
        for _ in 0..3 {
            while semaphore.receiving.load(SeqCst) == 0 && semaphore.value.load(SeqCst) == 0 {
                thread::yield_now();
            }
            semaphore.post_to(Some(&mailbox));
        }
        assert!(receiver.join().unwrap().iter().all(Result::is_ok));
        let stop = AtomicU32::new(1);
        assert_eq!(semaphore.receive(Some(&mailbox), &stop), Err(Stopped));
    }

    #[test]
    fn signals_without_waiters_are_lost_and_posts_are_not() {
        let condition = Condition { drawn: AtomicU32::new(0), served: AtomicU32::new(0) };
        let stop = AtomicU32::new(1);
        condition.signal();
        condition.broadcast();
        assert_eq!(condition.wait(|| (), &stop), Err(Stopped));
        let semaphore = Semaphore::default();
        semaphore.post();
        assert_eq!(semaphore.wait(&stop), Ok(false), "the post was there");
        assert_eq!(semaphore.wait(&stop), Err(Stopped));
    }
}
