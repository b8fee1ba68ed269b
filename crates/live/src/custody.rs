// SPDX-License-Identifier: GPL-2.0-only
//! What a worker process owes its supervisor: to stop when it is told to, and to say which process
//! groups must not outlive it.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering::SeqCst};

use crate::player::shared_memory::Shared;

/// Forked tasks and a real program: two groups are in use at a time.
const GROUPS: usize = 8;

static ALARM: AtomicI32 = AtomicI32::new(-1);
static PROCESS_GROUPS: OnceLock<Shared<AtomicI32>> = OnceLock::new();

/// Prepares the list; before the worker is forked, so that both see it.
pub fn open() {
    if PROCESS_GROUPS.get().is_none()
        && let Ok(groups) = Shared::new(GROUPS)
    {
        let _ = PROCESS_GROUPS.set(groups);
    }
}

/// The process group must not outlive the worker.
pub fn enter(group: libc::pid_t) {
    exchange(0, group);
}

/// It has ended.
pub fn leave(group: libc::pid_t) {
    exchange(group, 0);
}

fn exchange(old: i32, new: i32) {
    for place in PROCESS_GROUPS.get().iter().flat_map(|groups| groups.iter()) {
        if place.compare_exchange(old, new, SeqCst, SeqCst).is_ok() {
            return;
        }
    }
}

/// Kills the process groups that a dead worker has left.
pub fn kill_leftovers() {
    for place in PROCESS_GROUPS.get().iter().flat_map(|groups| groups.iter()) {
        let group = place.swap(0, SeqCst);
        if group > 1 {
            // SAFETY: no pointers; the group was made by our worker.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
    }
}

/// In the worker: SIGTERM and SIGINT ring the returned alarm from now on.
pub fn obey() -> Option<OwnedFd> {
    // SAFETY: no pointers; the descriptor is new and ours.
    let alarm = unsafe {
        let fd = libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK);
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
    }?;
    ALARM.store(alarm.as_raw_fd(), SeqCst);
    for signal in [libc::SIGTERM, libc::SIGINT] {
        // SAFETY: the handler does only what is async-signal-safe.
        unsafe { libc::signal(signal, ring as *const () as libc::sighandler_t) };
    }
    Some(alarm)
}

/// The descriptor that becomes readable when the worker shall stop; −1: there is none.
pub fn alarm() -> i32 {
    ALARM.load(SeqCst)
}

extern "C" fn ring(_signal: i32) {
    let one = 1u64.to_ne_bytes();
    // SAFETY: eight bytes for an eventfd; errno of the interrupted code is kept.
    unsafe {
        let errno = *libc::__errno_location();
        libc::write(ALARM.load(SeqCst), one.as_ptr().cast(), one.len());
        *libc::__errno_location() = errno;
    }
}
