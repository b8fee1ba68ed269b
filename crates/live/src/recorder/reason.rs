// SPDX-License-Identifier: GPL-2.0-only
//! Why a task sleeps, from the system call that it sleeps in.

use std::collections::BTreeMap;

use libc::c_long;
use recording::event::SleepsFor;

use super::object::{NO_SYSCALL, SYSCALLS, file, leaves, waker};

/// Sleeps for a time, or until one: where its flags say so, its file is a timer.
const TIMES: &[c_long] = &[libc::SYS_nanosleep, libc::SYS_clock_nanosleep];

const FUTEXES: &[c_long] = &[libc::SYS_futex, libc::SYS_futex_waitv, FUTEX_WAIT];
/// `futex_wait`, the same number on each architecture; 6.7.
const FUTEX_WAIT: c_long = 455;

/// Waits for a child; `vfork` and its kin wait until the child runs another program.
const CHILDREN: &[c_long] = &[
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_clone,
    libc::SYS_clone3,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
];

/// Waits for several things at once.
const ANY: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_pause,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_io_uring_enter,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
];

/// Messages and semaphores of System V and POSIX: between tasks of one machine, as pipes are.
const LOCAL: &[c_long] =
    &[libc::SYS_msgsnd, libc::SYS_msgrcv, libc::SYS_mq_timedsend, libc::SYS_mq_timedreceive];

/// Locks of user space that are no futexes.
const LOCKS: &[c_long] = &[libc::SYS_semop, libc::SYS_semtimedop, libc::SYS_flock, libc::SYS_fcntl];

/// System calls that wait for memory's lock or for other CPUs, never for a disk by themselves.
const MEMORY: &[c_long] = &[
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

const DISKS: &[c_long] = &[libc::SYS_sync, libc::SYS_io_getevents];

/// Their first argument is a file that can make them wait.
const FILES: &[c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_preadv2,
    libc::SYS_pwritev2,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_connect,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_tee,
    libc::SYS_vmsplice,
    libc::SYS_copy_file_range,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sync_file_range,
    libc::SYS_syncfs,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_getdents64,
    libc::SYS_close,
];

/// Their first argument is a file that has no room for what they write.
const WRITES: &[c_long] = &[
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwritev2,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_sendfile,
    libc::SYS_vmsplice,
];

/// The table that the programs need: 1 where the first argument is a file, 2 where the second one
/// tells a time's kind.
pub fn takes_file() -> [u8; SYSCALLS] {
    let mut table = [0; SYSCALLS];
    for call in FILES {
        if let Some(place) = table.get_mut(*call as usize) {
            *place = 1;
        }
    }
    table[libc::SYS_clock_nanosleep as usize] = 2;
    table
}

/// Decodes the reason of a sleep from the switch; `Any`: the waker decides.
pub fn sleep(detail: u32) -> SleepsFor {
    let (how, call) = (detail & 0xff, detail >> 16);
    let what = of_file(detail >> 8 & 0xff);
    let call = (call != NO_SYSCALL).then_some(c_long::from(call));
    let is_in = |calls: &[c_long]| call.is_some_and(|call| calls.contains(&call));
    match how {
        leaves::IO => SleepsFor::Disk,
        leaves::IDLING => SleepsFor::Other,
        _ if is_in(CHILDREN) => SleepsFor::Child,
        _ if is_in(TIMES) => what.unwrap_or(SleepsFor::Nap),
        _ if is_in(FUTEXES) || is_in(LOCKS) => SleepsFor::Futex,
        _ if is_in(LOCAL) => SleepsFor::Pipe,
        _ if is_in(DISKS) => SleepsFor::Disk,
        _ if is_in(ANY) => SleepsFor::Any,
        _ if is_in(WRITES) && is_stream(what) => SleepsFor::Room,
        leaves::STUCK => stuck(what, call, is_in(MEMORY)),
        _ => what.unwrap_or(SleepsFor::Other),
    }
}

fn is_stream(what: Option<SleepsFor>) -> bool {
    matches!(what, Some(SleepsFor::Pipe | SleepsFor::Network))
}

fn of_file(what: u32) -> Option<SleepsFor> {
    match what {
        file::NONE => None,
        file::PIPE | file::LOCAL_SOCKET => Some(SleepsFor::Pipe),
        file::NETWORK => Some(SleepsFor::Network),
        file::DISK => Some(SleepsFor::Disk),
        file::TIMER => Some(SleepsFor::Timer),
        // No message: who signals an event may go on.
        file::EVENT => Some(SleepsFor::Other),
        _ => Some(SleepsFor::Other),
    }
}

/// An uninterruptible sleep is for a disk, unless the system call has nothing to do with one. A
/// thread of the kernel is in none and has locks of its own; so has a page fault, but it waits for
/// a page more often.
fn stuck(what: Option<SleepsFor>, call: Option<c_long>, is_memory: bool) -> SleepsFor {
    match what {
        Some(reason) => reason,
        None if call.is_some() && !is_memory => SleepsFor::Disk,
        None => SleepsFor::Other,
    }
}

/// What tasks slept for that anything could have ended: their wake-ups say it.
#[derive(Default)]
pub struct Polls {
    /// The places of the switches of tasks that sleep so now.
    asleep: BTreeMap<u32, usize>,
    /// Wake-ups of tasks that run: the waker may be faster than the switch of the woken task.
    early: BTreeMap<u32, SleepsFor>,
    reasons: BTreeMap<usize, SleepsFor>,
}

impl Polls {
    /// The next event is a switch; it has this place. `detail` says why `out` leaves its CPU.
    pub fn switch(&mut self, place: usize, out: u32, detail: u32, next: u32) {
        let early = self.early.remove(&out);
        let leaves = detail & 0xff;
        let is_awake = [leaves::RUNNABLE, leaves::ENDED, leaves::YIELDING].contains(&leaves);
        if !is_awake && sleep(detail) == SleepsFor::Any {
            match early {
                Some(reason) => drop(self.reasons.insert(place, reason)),
                None => drop(self.asleep.insert(out, place)),
            }
        }
        self.asleep.remove(&next);
        self.early.remove(&next);
    }

    /// The next event is a wake-up by this kind of waker. `detail` is the waker's, as the event has
    /// it.
    pub fn wake(&mut self, task: u32, waker: u32, detail: u32) {
        let reason = decided(waker, detail);
        match self.asleep.remove(&task) {
            Some(place) => drop(self.reasons.insert(place, reason)),
            None => drop(self.early.insert(task, reason)),
        }
    }

    /// What the task slept for that left its CPU there.
    pub fn reason(&self, place: usize) -> SleepsFor {
        self.reasons.get(&place).copied().unwrap_or(SleepsFor::Other)
    }
}

/// An event (`eventfd`) and a signal are no messages.
fn decided(waker: u32, detail: u32) -> SleepsFor {
    let is_message = matches!(detail >> 8 & 0xff, file::PIPE | file::LOCAL_SOCKET | file::NETWORK);
    match waker {
        waker::TIMER => SleepsFor::Timer,
        waker::TASK if is_message => SleepsFor::Any,
        waker::TASK => SleepsFor::Signal,
        waker::UNKNOWN => SleepsFor::Other,
        _ => SleepsFor::Network,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slept(how: u32, what: u32, call: c_long) -> SleepsFor {
        sleep(how | what << 8 | (call as u32) << 16)
    }

    #[test]
    fn the_system_call_is_the_reason() {
        let cases = [
            (libc::SYS_clock_nanosleep, SleepsFor::Nap),
            (libc::SYS_futex, SleepsFor::Futex),
            (libc::SYS_wait4, SleepsFor::Child),
            (libc::SYS_msgrcv, SleepsFor::Pipe),
            (libc::SYS_semop, SleepsFor::Futex),
            (libc::SYS_sync, SleepsFor::Disk),
        ];
        for (call, reason) in cases {
            assert_eq!(slept(leaves::WAITING, 0, call), reason, "{call}");
        }
        assert_eq!(slept(leaves::WAITING, 0, libc::SYS_ppoll), SleepsFor::Any);
        let until = slept(leaves::WAITING, file::TIMER, libc::SYS_clock_nanosleep);
        assert_eq!(until, SleepsFor::Timer, "TIMER_ABSTIME");
        assert_eq!(slept(leaves::STUCK, 0, libc::SYS_clone), SleepsFor::Child, "vfork");
    }

    #[test]
    fn what_is_read_from_is_the_reason() {
        let cases = [
            (file::PIPE, SleepsFor::Pipe),
            (file::LOCAL_SOCKET, SleepsFor::Pipe),
            (file::EVENT, SleepsFor::Other),
            (file::NETWORK, SleepsFor::Network),
            (file::TIMER, SleepsFor::Timer),
            (file::DISK, SleepsFor::Disk),
            (7, SleepsFor::Other),
        ];
        for (what, reason) in cases {
            assert_eq!(slept(leaves::WAITING, what, libc::SYS_read), reason, "{what}");
        }
        for what in [file::PIPE, file::LOCAL_SOCKET, file::NETWORK] {
            assert_eq!(slept(leaves::WAITING, what, libc::SYS_write), SleepsFor::Room, "{what}");
        }
        assert_eq!(slept(leaves::IO, file::DISK, libc::SYS_write), SleepsFor::Disk);
    }

    #[test]
    fn an_event_is_no_message() {
        let by_task = |what: u32| decided(waker::TASK, what << 8);
        let messages = [file::PIPE, file::LOCAL_SOCKET, file::NETWORK].map(by_task);
        assert_eq!(messages, [SleepsFor::Any; 3]);
        assert_eq!([file::EVENT, file::NONE].map(by_task), [SleepsFor::Signal; 2]);
        assert_eq!(decided(waker::TIMER, file::EVENT << 8), SleepsFor::Timer);
    }

    #[test]
    fn uninterruptible_sleeps_are_disks_but_for_locks_of_memory_and_of_the_kernel() {
        let none = NO_SYSCALL as c_long;
        assert_eq!(slept(leaves::STUCK, 0, libc::SYS_openat), SleepsFor::Disk);
        assert_eq!(slept(leaves::STUCK, 0, libc::SYS_munmap), SleepsFor::Other);
        assert_eq!(slept(leaves::STUCK, 0, none), SleepsFor::Other);
        assert_eq!(slept(leaves::IO, 0, none), SleepsFor::Disk);
        assert_eq!(slept(leaves::IDLING, 0, none), SleepsFor::Other);
        assert_eq!(slept(leaves::WAITING, 0, none), SleepsFor::Other);
    }

    #[test]
    fn the_table_has_what_can_wait_for_a_file() {
        let table = takes_file();
        assert_eq!(table[libc::SYS_read as usize], 1);
        assert_eq!(table[libc::SYS_nanosleep as usize], 0);
        assert_eq!(table.iter().filter(|place| **place == 1).count(), FILES.len());
    }
}
