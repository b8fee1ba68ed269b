// SPDX-License-Identifier: GPL-2.0-only
//! Processes whose scheduling is known. They are forked, so they make system calls and nothing
//! else, and end without a destructor.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, pipe};

/// Processes that wait until all may begin.
pub struct Children {
    gate: (OwnedFd, OwnedFd),
    started: Vec<Pid>,
    _turn: MutexGuard<'static, ()>,
}

impl Children {
    /// One set at a time: the processes of two tests would keep each other's gates open.
    pub fn new() -> Children {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        Children { gate: pipe().expect("a pipe"), started: Vec::new(), _turn: turn }
    }

    /// A process that does this as soon as all may begin. Its number.
    pub fn add(&mut self, work: impl FnOnce()) -> u32 {
        let [read, write] = [self.gate.0.as_raw_fd(), self.gate.1.as_raw_fd()];
        // SAFETY: the child makes system calls only.
        match unsafe { fork() }.expect("a process") {
            ForkResult::Parent { child } => {
                self.started.push(child);
                child.as_raw() as u32
            }
            ForkResult::Child => {
                // SAFETY: as above; the gate's end of this process is its own.
                unsafe { libc::close(write) };
                take(read);
                work();
                // SAFETY: no destructor of the parent's runs.
                unsafe { libc::_exit(0) }
            }
        }
    }

    /// Lets all begin, and waits for their ends.
    pub fn run(self) {
        drop(self.gate);
        for child in self.started {
            waitpid(child, None).expect("an end");
        }
    }
}

/// Reads a byte.
pub fn take(fd: RawFd) {
    let mut byte = 0_u8;
    // SAFETY: one byte for one byte.
    unsafe { libc::read(fd, (&raw mut byte).cast(), 1) };
}

/// Writes a byte.
pub fn give(fd: RawFd) {
    // SAFETY: one byte of one byte.
    unsafe { libc::write(fd, [1_u8].as_ptr().cast(), 1) };
}

pub fn nap(micros: i64) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: micros * 1_000 };
    // SAFETY: it reads the time.
    unsafe { libc::nanosleep(&time, ptr::null_mut()) };
}

/// A number that processes share.
pub fn shared() -> &'static AtomicU32 {
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: fresh memory, zeros, never unmapped; a page starts where a number may.
    unsafe {
        let page = libc::mmap(ptr::null_mut(), 4096, protection, flags, -1, 0);
        assert_ne!(page, libc::MAP_FAILED, "shared memory");
        &*page.cast::<AtomicU32>()
    }
}

/// Sleeps until the number is another one.
pub fn wait_for_change(word: &AtomicU32, from: u32) {
    while word.load(Ordering::SeqCst) == from {
        // SAFETY: the number lives as long as the process.
        unsafe {
            let none = ptr::null::<libc::timespec>();
            libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, from, none);
        }
    }
}

/// Changes the number, and wakes up who waits.
pub fn change(word: &AtomicU32) {
    word.fetch_add(1, Ordering::SeqCst);
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
}

/// Waits for this file or this time.
pub fn poll(fd: RawFd, timeout_ms: i32) {
    let mut what = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one structure.
    unsafe { libc::poll(&mut what, 1, timeout_ms) };
}

/// A child that naps and ends, and its end is waited for.
pub fn one_child() {
    // SAFETY: the child makes system calls only.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            nap(3_000);
            libc::_exit(0);
        }
        libc::waitpid(child, ptr::null_mut(), 0);
    }
}

/// Reads a timer that expires after these microseconds.
pub fn read_timer(micros: i64) {
    let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let time = libc::timespec { tv_sec: 0, tv_nsec: micros * 1_000 };
    let setting = libc::itimerspec { it_interval: zero, it_value: time };
    let mut expired = 0_u64;
    // SAFETY: a descriptor of its own, closed again; eight bytes for a count.
    unsafe {
        let fd = libc::timerfd_create(libc::CLOCK_MONOTONIC, 0);
        libc::timerfd_settime(fd, 0, &setting, ptr::null_mut());
        libc::read(fd, (&raw mut expired).cast(), 8);
        libc::close(fd);
    }
}

/// Becomes less important, then a batch task, then one of the first CPU only; and naps after each,
/// because a change is noted when a task leaves its CPU.
pub fn change_oneself() {
    // SAFETY: structures of the right size, filled before.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, 3);
        nap(1_000);
        let parameters: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_BATCH, &parameters);
        nap(1_000);
        let mut cpus: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(0, &mut cpus);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &cpus);
        nap(1_000);
    }
}

/// Switches the loopback device on, which is off in a new machine.
pub fn loopback_up() {
    // SAFETY: a descriptor of its own, closed again; the structure is filled before it is read.
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0);
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as _;
        request.ifr_name[1] = b'o' as _;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as _;
        libc::ioctl(fd, libc::SIOCSIFFLAGS, &request);
        libc::close(fd);
    }
}
