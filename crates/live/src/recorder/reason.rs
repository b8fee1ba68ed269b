// SPDX-License-Identifier: GPL-2.0-only
//! Why a task sleeps, from the system call that it sleeps in.

use libc::c_long;
use recording::event::{Reason, Waker};

use super::object::{NO_SYSCALL, SYSCALLS, file, leaves};

/// What is known of a sleep when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    For(Reason),
    /// One of several files, a signal, or a time: who wakes the task decides.
    ForAny,
}

/// Sleeps until a time.
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

/// The table that the programs need: 1 where the first argument is a file.
pub fn takes_file() -> [u8; SYSCALLS] {
    let mut table = [0; SYSCALLS];
    for call in FILES {
        if let Some(place) = table.get_mut(*call as usize) {
            *place = 1;
        }
    }
    table
}

/// Reads what a switch says of a sleep.
pub fn sleep(detail: u32) -> Sleep {
    let (how, call) = (detail & 0xff, detail >> 16);
    let what = of_file(detail >> 8 & 0xff);
    let call = (call != NO_SYSCALL).then_some(c_long::from(call));
    let is_in = |calls: &[c_long]| call.is_some_and(|call| calls.contains(&call));
    match how {
        leaves::IO => Sleep::For(Reason::Disk),
        leaves::IDLING => Sleep::For(Reason::Other),
        _ if is_in(CHILDREN) => Sleep::For(Reason::Child),
        _ if is_in(TIMES) => Sleep::For(Reason::Timer),
        _ if is_in(FUTEXES) || is_in(LOCKS) => Sleep::For(Reason::Futex),
        _ if is_in(LOCAL) => Sleep::For(Reason::Pipe),
        _ if is_in(DISKS) => Sleep::For(Reason::Disk),
        _ if is_in(ANY) => Sleep::ForAny,
        leaves::STUCK => Sleep::For(stuck(what, call, is_in(MEMORY))),
        _ => Sleep::For(what.unwrap_or(Reason::Other)),
    }
}

fn of_file(what: u32) -> Option<Reason> {
    match what {
        file::NONE => None,
        file::PIPE | file::LOCAL_SOCKET => Some(Reason::Pipe),
        file::NETWORK => Some(Reason::Network),
        file::DISK => Some(Reason::Disk),
        file::TIMER => Some(Reason::Timer),
        // No message: who signals an event may go on.
        file::EVENT => Some(Reason::Other),
        _ => Some(Reason::Other),
    }
}

/// An uninterruptible sleep is for a disk, unless the system call has nothing to do with one. A
/// thread of the kernel is in none and has locks of its own; so has a page fault, but it waits for
/// a page more often.
fn stuck(what: Option<Reason>, call: Option<c_long>, is_memory: bool) -> Reason {
    match what {
        Some(reason) => reason,
        None if call.is_some() && !is_memory => Reason::Disk,
        None => Reason::Other,
    }
}

/// What a sleep was for that anything could have ended. `detail` is the waker's, as the event has
/// it: an event (`eventfd`) and a signal are no messages.
pub fn decided(waker: Waker, detail: u32) -> Reason {
    let is_message = matches!(detail >> 8 & 0xff, file::PIPE | file::LOCAL_SOCKET | file::NETWORK);
    match waker {
        Waker::Timer => Reason::Timer,
        Waker::Task(_) if is_message => Reason::Message,
        Waker::Task(_) => Reason::Signal,
        Waker::Interrupt => Reason::Network,
        Waker::Unknown => Reason::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slept(how: u32, what: u32, call: c_long) -> Sleep {
        sleep(how | what << 8 | (call as u32) << 16)
    }

    #[test]
    fn the_system_call_is_the_reason() {
        let cases = [
            (libc::SYS_clock_nanosleep, Reason::Timer),
            (libc::SYS_futex, Reason::Futex),
            (libc::SYS_wait4, Reason::Child),
            (libc::SYS_msgrcv, Reason::Pipe),
            (libc::SYS_semop, Reason::Futex),
            (libc::SYS_sync, Reason::Disk),
        ];
        for (call, reason) in cases {
            assert_eq!(slept(leaves::WAITING, 0, call), Sleep::For(reason), "{call}");
        }
        assert_eq!(slept(leaves::WAITING, 0, libc::SYS_ppoll), Sleep::ForAny);
        assert_eq!(slept(leaves::STUCK, 0, libc::SYS_clone), Sleep::For(Reason::Child), "vfork");
    }

    #[test]
    fn what_is_read_from_is_the_reason() {
        let cases = [
            (file::PIPE, Reason::Pipe),
            (file::LOCAL_SOCKET, Reason::Pipe),
            (file::EVENT, Reason::Other),
            (file::NETWORK, Reason::Network),
            (file::TIMER, Reason::Timer),
            (file::DISK, Reason::Disk),
            (7, Reason::Other),
        ];
        for (what, reason) in cases {
            assert_eq!(slept(leaves::WAITING, what, libc::SYS_read), Sleep::For(reason), "{what}");
        }
    }

    #[test]
    fn an_event_is_no_message() {
        let by_task = |what: u32| decided(Waker::Task(recording::event::TaskIndex(1)), what << 8);
        let messages = [file::PIPE, file::LOCAL_SOCKET, file::NETWORK].map(by_task);
        assert_eq!(messages, [Reason::Message; 3]);
        assert_eq!([file::EVENT, file::NONE].map(by_task), [Reason::Signal; 2]);
        assert_eq!(decided(Waker::Timer, file::EVENT << 8), Reason::Timer);
    }

    #[test]
    fn uninterruptible_sleeps_are_disks_but_for_locks_of_memory_and_of_the_kernel() {
        let none = NO_SYSCALL as c_long;
        assert_eq!(slept(leaves::STUCK, 0, libc::SYS_openat), Sleep::For(Reason::Disk));
        assert_eq!(slept(leaves::STUCK, 0, libc::SYS_munmap), Sleep::For(Reason::Other));
        assert_eq!(slept(leaves::STUCK, 0, none), Sleep::For(Reason::Other));
        assert_eq!(slept(leaves::IO, 0, none), Sleep::For(Reason::Disk));
        assert_eq!(slept(leaves::IDLING, 0, none), Sleep::For(Reason::Other));
        assert_eq!(slept(leaves::WAITING, 0, none), Sleep::For(Reason::Other));
    }

    #[test]
    fn the_table_has_what_can_wait_for_a_file() {
        let table = takes_file();
        assert_eq!(table[libc::SYS_read as usize], 1);
        assert_eq!(table[libc::SYS_nanosleep as usize], 0);
        assert_eq!(table.iter().filter(|place| **place == 1).count(), FILES.len());
    }
}
