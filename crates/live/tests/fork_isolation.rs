// SPDX-License-Identifier: GPL-2.0-only
//! Forks leave the main thread's stack alone. A program of its own: processes that other tests fork
//! meanwhile would lack this stack, too.

use std::{fs, ptr};

use live::player::fork_isolation::{self, ForkIsolation};

/// Whether a process that another thread forks has this address.
fn is_inherited(address: usize) -> bool {
    let forks = std::thread::spawn(move || {
        // SAFETY: the child only waits for its end.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: no pointers.
            unsafe { libc::pause() };
        }
        let maps = fs::read_to_string(format!("/proc/{child}/maps")).expect("its mappings");
        // SAFETY: the child is ours, and no status is asked for.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, ptr::null_mut(), 0);
        }
        maps.lines().any(|line| contains(line, address))
    });
    forks.join().expect("a thread that forks")
}

fn contains(line: &str, address: usize) -> bool {
    let hexadecimal = |text| usize::from_str_radix(text, 16).expect("an address");
    let (start, end) = line.split_once('-').expect("a range");
    let end = end.split_once(' ').expect("its end").0;
    (hexadecimal(start)..hexadecimal(end)).contains(&address)
}

/// Whether the kernel registers restartable sequences for this thread, which it refuses if the
/// thread has some. They are removed again.
fn registers_sequences() -> bool {
    #[repr(align(32))]
    struct Area([u8; 32]);
    const MARK: u32 = 0x5305_3053;
    let mut area = Area([0; 32]);
    let mut call = |flags: i32| {
        // SAFETY: the area outlives its registration.
        unsafe { libc::syscall(libc::SYS_rseq, area.0.as_mut_ptr(), 32, flags, MARK) == 0 }
    };
    call(0) && call(1)
}

#[test]
fn a_fork_leaves_the_stack_alone_for_as_long_as_that_is_wanted() {
    let local = std::hint::black_box([0_u8; 1 << 15]);
    let address = ptr::from_ref(&local[0]) as usize;
    let has_sequences = cfg!(target_arch = "x86_64") && fork_isolation::offset().is_some();
    for _ in 0..2 {
        let isolation = ForkIsolation::begin();
        assert!(!is_inherited(address));
        assert!(registers_sequences() || !has_sequences);
        drop(isolation);
        assert!(is_inherited(address));
        assert!(!registers_sequences() || !has_sequences);
    }
}
