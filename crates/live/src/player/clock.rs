// SPDX-License-Identifier: GPL-2.0-only
//! The clocks, in nanoseconds, and the kernel's own accounting of threads and processes.

use std::{mem, ptr};

/// The time of `CLOCK_MONOTONIC`.
pub fn now_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// The CPU time that the calling thread has used.
pub fn own_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// The CPU time that a thread of this process has used; `None` when it has ended.
pub fn thread_cpu_ns(tid: u32) -> Option<u64> {
    // The kernel's encoding of a thread's clock: the complement of its number, then the bits
    // "per thread" (4) and "as the scheduler counts it" (2).
    read((!(tid as libc::clockid_t) << 3) | 6)
}

/// Sleeps until `CLOCK_MONOTONIC` shows `until_ns`; false when a signal came first.
pub fn sleep_until(until_ns: u64) -> bool {
    let until = timespec(until_ns);
    // SAFETY: both pointers are valid or null as clock_nanosleep(2) allows.
    let error = unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &until, ptr::null_mut())
    };
    error == 0
}

/// Nanoseconds as the kernel writes them.
pub fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}

fn read(clock: libc::clockid_t) -> Option<u64> {
    let mut time = timespec(0);
    // SAFETY: `time` is ours.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) } != 0;
    (!failed).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// User time and system time in nanoseconds, voluntary and involuntary switches.
///
/// Most kernels split user from system time by what they find at each tick: the sum is exact, the
/// split of a short time is rough.
pub type Usage = [u64; 4];

/// The usage of the calling thread, up to the last tick or switch. Async-signal-safe.
pub fn usage() -> Usage {
    // SAFETY: zeros are a valid rusage, and it is ours to fill.
    let usage = unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage
    };
    usage_of(&usage)
}

/// The same from the kernel's form.
pub fn usage_of(usage: &libc::rusage) -> Usage {
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    [ns(usage.ru_utime), ns(usage.ru_stime), usage.ru_nvcsw as u64, usage.ru_nivcsw as u64]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_reads_anothers_cpu_time() {
        // SAFETY: gettid(2) has no arguments.
        let tid = unsafe { libc::gettid() } as u32;
        let before = own_cpu_ns();
        let seen = std::thread::spawn(move || thread_cpu_ns(tid)).join().unwrap();
        assert!(seen.unwrap() >= before);
        assert_eq!(thread_cpu_ns(u32::MAX / 16), None);
    }

    #[test]
    fn sleeping_ends_after_its_time() {
        let until = now_ns() + 2_000_000;
        while !sleep_until(until) {}
        assert!(now_ns() >= until);
    }
}
