// SPDX-License-Identifier: GPL-2.0-only
//! The contract between a worker process and its supervisor: the worker stops on SIGTERM, and names
//! the process groups that must not outlive it.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering::SeqCst};

use model::play::sessions::SESSIONS_MAX;

use crate::player::shared_memory::Shared;

/// Places in the list: of forked tasks, of a real program, and of each session.
const GROUPS: usize = 8 + SESSIONS_MAX;

static ALARM: AtomicI32 = AtomicI32::new(-1);
static PROCESS_GROUPS: OnceLock<Shared<AtomicI32>> = OnceLock::new();

/// Makes the shared list. Call it before the fork, so that worker and supervisor share it.
pub fn open() {
    if PROCESS_GROUPS.get().is_none()
        && let Ok(groups) = Shared::new(GROUPS)
    {
        let _ = PROCESS_GROUPS.set(groups);
    }
}

/// Adds a process group that must not outlive the worker.
pub fn enter(group: libc::pid_t) {
    exchange(0, group);
}

/// Removes a process group that has ended.
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

/// The process groups that must not outlive the worker.
pub fn groups() -> impl Iterator<Item = libc::pid_t> {
    let places = PROCESS_GROUPS.get().into_iter().flat_map(|groups| groups.iter());
    places.map(|place| place.load(SeqCst)).filter(|group| *group > 1)
}

/// Kills the process groups that a dead worker left behind.
pub fn kill_leftovers() {
    for place in PROCESS_GROUPS.get().iter().flat_map(|groups| groups.iter()) {
        let group = place.swap(0, SeqCst);
        if group > 1 {
            // SAFETY: no pointers; the group was made by our worker.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
    }
}

/// In the worker: from now on SIGTERM and SIGINT make the returned eventfd readable.
pub fn stop_on_signals() -> Option<OwnedFd> {
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

/// The descriptor that becomes readable when the worker has to stop; -1 if there is none.
pub fn alarm() -> i32 {
    ALARM.load(SeqCst)
}

pub fn is_interrupted() -> bool {
    let mut entry = libc::pollfd { fd: alarm(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid entry.
    entry.fd >= 0 && unsafe { libc::poll(&mut entry, 1, 0) } == 1
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
