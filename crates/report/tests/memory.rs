// SPDX-License-Identifier: GPL-2.0-only
//! 100,000 records of one cell need less than 1 GiB, from the records to the page: counted for a
//! few of them, because each takes the same.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use report::html::{About, page};
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

/// The most memory that is in use at a time, from records to the page.
fn peak_bytes(trials: usize) -> usize {
    let before = LIVE.load(Ordering::Relaxed);
    let records = one_cell(trials);
    PEAK.store(LIVE.load(Ordering::Relaxed), Ordering::Relaxed);
    let options = Options { resamples: 20, ..Options::against("eevdf-7") };
    let comparison = compare(&records, &options);
    assert_eq!(comparison.cells.len(), 1);
    drop(page(&comparison, &records, &About::default()));
    PEAK.load(Ordering::Relaxed) - before
}

#[test]
fn a_hundred_thousand_records_of_a_cell_need_less_than_a_gibibyte() {
    const FEW: usize = 500;
    peak_bytes(FEW); // What is made once: names, tables, packed scripts.
    let (few, more) = (peak_bytes(FEW), peak_bytes(3 * FEW));
    let each = more.saturating_sub(few) / (2 * FEW);
    println!("each record needs {each} bytes");
    assert!(each * 100_000 < 1 << 30, "{each} bytes a record");
}
