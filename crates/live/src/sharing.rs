// SPDX-License-Identifier: GPL-2.0-only
//! What a thread of a core has while its sibling works, measured on this machine.
//!
//! Both threads do the same work, whole-number arithmetic in several chains and reads from 16 KiB
//! of memory, pinned to their CPUs. The share is what one does beside the other, per cent of what
//! it does alone. Other programs share better or worse: what waits for memory leaves its sibling
//! more.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::facts::{cpu_list, cpus_online};

/// How long one measurement lasts.
const LENGTH: Duration = Duration::from_millis(100);
/// Number of pairs of measurements, alone and beside the sibling.
const PAIRS: usize = 15;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    pub cpus: [u32; 2],
    /// The median of the shares, per cent.
    pub percent: u32,
    /// The smallest and the largest, per cent.
    pub range: [u32; 2],
}

/// Measures the first core with two usable CPUs; `None` where no core has them.
pub fn measure() -> Option<Sharing> {
    let cpus = siblings(Path::new("/sys/devices/system/cpu"), &cpus_online())?;
    let share = |_| {
        let alone = work(cpus[0], None)?;
        let beside = work(cpus[0], Some(cpus[1]))?;
        Some((beside * 100 / alone.max(1)).clamp(1, 100) as u32)
    };
    let mut shares = (0..PAIRS).map(share).collect::<Option<Vec<u32>>>()?;
    shares.sort_unstable();
    Some(Sharing { cpus, percent: shares[PAIRS / 2], range: [shares[0], shares[PAIRS - 1]] })
}

/// The first two of these CPUs that the kernel says are threads of one core.
fn siblings(folder: &Path, cpus: &[u32]) -> Option<[u32; 2]> {
    cpus.iter().find_map(|cpu| {
        let file = folder.join(format!("cpu{cpu}/topology/thread_siblings_list"));
        let all = cpu_list(std::fs::read_to_string(file).ok()?.trim())?;
        let other = all.into_iter().find(|sibling| sibling != cpu && cpus.contains(sibling))?;
        Some([*cpu, other])
    })
}

/// Rounds of work that a CPU does, while its sibling works too or is left alone; `None` if a thread
/// may not use its CPU.
fn work(cpu: u32, sibling: Option<u32>) -> Option<u64> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let until_over = || over.load(Ordering::Relaxed);
        let neighbour = sibling.map(|sibling| scope.spawn(move || rounds(sibling, until_over)));
        let began = Instant::now();
        let done = scope.spawn(move || rounds(cpu, || began.elapsed() >= LENGTH)).join().ok()?;
        over.store(true, Ordering::Relaxed);
        match neighbour {
            Some(neighbour) => neighbour.join().ok()?.and(done),
            None => done,
        }
    })
}

/// Rounds of work on a CPU until it is over.
fn rounds(cpu: u32, is_over: impl Fn() -> bool) -> Option<u64> {
    pin(cpu)?;
    let mut memory = [0u64; 2048];
    let mut chains = [1u64, 2, 3, 4];
    let mut rounds = 0;
    while !is_over() {
        for index in 0..memory.len() {
            let chain = &mut chains[index % 4];
            *chain = chain.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(memory[index]);
            memory[(index * 7) % 2048] ^= *chain;
        }
        rounds += 1;
    }
    std::hint::black_box((memory, chains));
    Some(rounds)
}

fn pin(cpu: u32) -> Option<()> {
    // SAFETY: the set is plain memory; the CPU is within it, and the call reads its size only.
    let refused = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if cpu as usize >= libc::CPU_SETSIZE as usize {
            return None;
        }
        libc::CPU_SET(cpu as usize, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    (refused == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_core_with_two_usable_threads_is_measured() {
        let root = tempfile::tempdir().expect("a temporary folder");
        for (cpu, list) in [(0, "0,4"), (1, "1,5"), (4, "0,4"), (5, "1,5")] {
            let folder = root.path().join(format!("cpu{cpu}/topology"));
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(folder.join("thread_siblings_list"), list).expect("a file");
        }
        assert_eq!(siblings(root.path(), &[0, 1, 4, 5]), Some([0, 4]));
        assert_eq!(siblings(root.path(), &[0, 1, 5]), Some([1, 5]));
        assert_eq!(siblings(root.path(), &[0, 1]), None);
    }

    #[test]
    fn work_is_counted_where_it_is_allowed() {
        let cpu = cpus_online()[0];
        assert!(work(cpu, None).is_some_and(|rounds| rounds > 0));
        assert_eq!(work(100_000, None), None);
    }
}
