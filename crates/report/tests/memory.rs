// SPDX-License-Identifier: GPL-2.0-only
//! What a record needs in memory, and what it adds to a comparison, so that 100,000 records of one
//! cell need less than 1 GiB: counted for a few of them, because each needs the same.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use model::{Measured, Record};
use stats::{Options, compare};
use testing::one_cell::one_cell;

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller keeps the promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// What the parts of a record may need, in bytes.
fn allowed_bytes(record: &Record) -> usize {
    let Measured { metrics, histograms, series } = &record.measured;
    let buckets: usize = histograms.iter().map(|histogram| histogram.buckets.iter().count()).sum();
    let points: usize = series.iter().map(|series| series.values.len()).sum();
    2_000 + 48 * metrics.len() + 100 * (histograms.len() + series.len()) + 6 * buckets + 8 * points
}

/// How many bytes records need, and how many more a comparison of them needs at most.
fn needed_bytes(trials: usize) -> (usize, usize) {
    let before = LIVE.load(Ordering::Relaxed);
    let records = one_cell(trials);
    let live = LIVE.load(Ordering::Relaxed);
    PEAK.store(live, Ordering::Relaxed);
    let options = Options { resamples: 20, ..Options::against("eevdf-7") };
    assert_eq!(compare(&records, &options).cells.len(), 1);
    let allowed: usize = records.iter().map(allowed_bytes).sum();
    assert!(live - before <= allowed, "{} bytes, and {allowed} are allowed", live - before);
    (live - before, PEAK.load(Ordering::Relaxed) - live)
}

/// A record of the simulator has some 50 numbers and 10 distributions of 30 buckets: 7 KiB. With 1
/// KiB for the comparison, 100,000 of them need 800 MiB. There are more trials than are resampled,
/// because a resample needs all differences.
#[test]
fn each_record_of_a_cell_adds_what_its_parts_need() {
    const FEW: usize = 2_400;
    let ((_, few), (_, more)) = (needed_bytes(FEW), needed_bytes(2 * FEW));
    let each = more.saturating_sub(few) / FEW;
    assert!(each <= 1 << 10, "a comparison needs {each} bytes for each record");
}
