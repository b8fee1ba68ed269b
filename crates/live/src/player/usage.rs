// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own accounting of threads and processes.
//!
//! Most kernels split user from system time by what they find at each tick: the sum is exact, the
//! split of a short time is rough.

use std::mem;

/// User time and system time in nanoseconds, voluntary and involuntary switches.
pub type Usage = [u64; 4];

/// The usage of the calling thread, up to the last tick or switch. Async-signal-safe.
pub fn read() -> Usage {
    // SAFETY: zeros are a valid rusage, and it is ours to fill.
    let usage = unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage
    };
    from(&usage)
}

/// The same from the kernel's form.
pub fn from(usage: &libc::rusage) -> Usage {
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    [ns(usage.ru_utime), ns(usage.ru_stime), usage.ru_nvcsw as u64, usage.ru_nivcsw as u64]
}
