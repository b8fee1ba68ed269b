// SPDX-License-Identifier: GPL-2.0-only
//! The end of the counting needs no memory: see [`Probes::stop`].

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use live::probes::Probes;

/// Counts what is allocated.
struct Counted;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is the system's.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, SeqCst);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTED: Counted = Counted;

#[test]
fn stopping_allocates_nothing_and_keeps_the_counts() {
    let probes = match Probes::attach(&["own".into()], false) {
        Ok(probes) => probes,
        Err(why) => return println!("skipped: {why}"),
    };
    // SAFETY: no arguments.
    let own = unsafe { libc::gettid() as u32 };
    probes.track(own, 0).expect("a slot");
    probes.start();
    let busy: u64 = std::hint::black_box((0..1_000_000_u64).map(std::hint::black_box).sum());
    let before = ALLOCATIONS.load(SeqCst);
    let window = probes.stop();
    assert_eq!((ALLOCATIONS.load(SeqCst) - before, busy > 0), (0, true));
    let first = probes.readings(window);
    std::thread::sleep(std::time::Duration::from_millis(1));
    let second = probes.readings(window);
    assert!(first.groups[0].cpu_time_ns > 0, "{:?}", first.groups[0]);
    assert_eq!(first.groups[0].cpu_times_ns, second.groups[0].cpu_times_ns);
    assert_eq!(first.groups[0].voluntary_switches, second.groups[0].voluntary_switches);
}
