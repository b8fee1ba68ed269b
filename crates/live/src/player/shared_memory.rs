// SPDX-License-Identifier: GPL-2.0-only
//! Memory that threads and forked processes share.

use std::io;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

use model::histogram::{bucket, filled_buckets};
use model::{Buckets, Histogram};

/// Types for which all-zero bytes are a valid, empty value and that may be changed by many at once.
///
/// # Safety
/// Every field must be an atomic (or padding), and have no destructor.
pub unsafe trait Shareable: Sync {}

// SAFETY: they are atomics.
unsafe impl Shareable for AtomicU64 {}
// SAFETY: as above.
unsafe impl Shareable for std::sync::atomic::AtomicU32 {}
// SAFETY: as above.
unsafe impl Shareable for std::sync::atomic::AtomicI32 {}

/// A fixed array of zeros in anonymous shared memory: `fork` does not copy it. Pages that nobody
/// touches cost nothing.
pub struct Shared<T: Shareable> {
    start: *mut T,
    len: usize,
    owner: PhantomData<T>,
}

// SAFETY: `T` consists of atomics, and the mapping lives as long as the value.
unsafe impl<T: Shareable> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Shareable> Sync for Shared<T> {}

impl<T: Shareable> Shared<T> {
    /// `len` zeros. Fails when the kernel gives no memory.
    pub fn new(len: usize) -> io::Result<Shared<T>> {
        let bytes = (len * size_of::<T>()).max(1);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping; nothing else knows it.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Shared { start: start.cast(), len, owner: PhantomData })
    }

    /// Brings all of its pages, which come one by one otherwise, each when it is first touched.
    pub fn populate(&self) {
        populate(self.start.cast(), self.len * size_of::<T>());
    }
}

/// Brings the pages of a mapping. A kernel that does not know how (before 5.14) refuses, and they
/// come one by one.
pub fn populate(start: *mut u8, bytes: usize) {
    // SAFETY: the advice changes nothing in the pages.
    unsafe { libc::madvise(start.cast(), bytes, libc::MADV_POPULATE_WRITE) };
}

impl<T: Shareable> Deref for Shared<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the mapping holds `len` values and zeros are valid ones.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl<T: Shareable> Drop for Shared<T> {
    fn drop(&mut self) {
        let bytes = (self.len * size_of::<T>()).max(1);
        // SAFETY: the mapping is ours, and the borrow checker says that nobody looks at it any
        // more.
        unsafe { libc::munmap(self.start.cast(), bytes) };
    }
}

/// Samples above this are counted in the last bucket; `max` stays exact. 2^44 ns are about five
/// hours.
const LARGEST: u64 = (1 << 44) - 1;
const COUNT: usize = 0;
const MIN_COMPLEMENT: usize = 1;
const MAX: usize = 2;
const BUCKETS: usize = 3;

/// A [`model::Histogram`] that threads and forked processes fill together without allocation: the
/// same layout, dense. Recording is three to five atomic operations, and needs no merging
/// afterwards.
pub struct SharedHistogram {
    words: Shared<AtomicU64>,
}

impl SharedHistogram {
    /// Fails when the kernel gives no memory.
    pub fn new() -> io::Result<SharedHistogram> {
        Ok(SharedHistogram { words: Shared::new(BUCKETS + bucket(LARGEST) + 1)? })
    }

    /// See [`Shared::populate`].
    pub fn populate(&self) {
        self.words.populate();
    }

    /// Counts one sample. Async-signal-safe.
    pub fn record(&self, sample: u64) {
        self.words[BUCKETS + bucket(sample.min(LARGEST))].fetch_add(1, Relaxed);
        self.words[COUNT].fetch_add(1, Relaxed);
        // The complement makes zeroed memory the right start for a minimum.
        self.words[MIN_COMPLEMENT].fetch_max(!sample, Relaxed);
        self.words[MAX].fetch_max(sample, Relaxed);
    }

    pub fn histogram(&self, name: &str, group: &str) -> Histogram {
        let count = self.words[COUNT].load(Relaxed);
        let samples = self.words[BUCKETS..].iter().map(|word| word.load(Relaxed));
        Histogram {
            name: name.into(),
            group: group.into(),
            count,
            min: if count == 0 { 0 } else { !self.words[MIN_COMPLEMENT].load(Relaxed) },
            max: self.words[MAX].load(Relaxed),
            buckets: if count == 0 { Buckets::default() } else { filled_buckets(samples) },
        }
    }
}

/// What the main thread and the process of a session tell each other. One exists per session.
#[repr(C)]
pub struct SessionState {
    pub process: AtomicI32,
    /// The last of the steps that the process has been told to take, and that it has taken.
    pub order: AtomicU32,
    pub done: AtomicU32,
    /// `errno` of what failed; 0: nothing.
    pub failed: AtomicI32,
    /// The process of the program, if that is in this session.
    pub program: AtomicI32,
}

// SAFETY: it consists of atomics.
unsafe impl Shareable for SessionState {}

#[cfg(test)]
mod tests {
    use super::*;
    use model::histogram::lowest_equivalent;

    #[test]
    fn the_layout_is_hdr_histograms() {
        let ours = SharedHistogram::new().unwrap();
        let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, LARGEST, 3).unwrap();
        let mut seed = model::Seed(5);
        let all = (0..5_000).map(|i| seed.next_u64() >> (20 + i % 44)).chain([0, 2047, 2048, 2049]);
        for sample in all {
            ours.record(sample);
            theirs.record(sample).unwrap();
        }
        let ours = ours.histogram("turnaround_ns", "all");
        let expected: Vec<(u64, u64)> = theirs
            .iter_recorded()
            .map(|v| (theirs.lowest_equivalent(v.value_iterated_to()), v.count_at_value()))
            .collect();
        assert_eq!(ours.buckets, expected);
        assert!(ours.is_complete());
        assert_eq!((ours.count, lowest_equivalent(ours.max)), (5_004, expected.last().unwrap().0));
    }

    #[test]
    fn extremes_stay_exact() {
        let recorder = SharedHistogram::new().unwrap();
        assert_eq!(recorder.histogram("x", "y").count, 0);
        recorder.record(u64::MAX);
        recorder.record(7);
        let histogram = recorder.histogram("x", "y");
        assert_eq!((histogram.min, histogram.max, histogram.count), (7, u64::MAX, 2));
        assert!(histogram.is_complete());
    }

    #[test]
    fn forked_processes_record_too() {
        let recorder = SharedHistogram::new().unwrap();
        // SAFETY: the child only touches shared memory and exits.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            recorder.record(42);
            // SAFETY: leaves without running anything of the parent's.
            unsafe { libc::_exit(0) };
        }
        // SAFETY: waits for our own child.
        unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
        assert_eq!(recorder.histogram("x", "y").buckets, vec![(42, 1)]);
    }
}
