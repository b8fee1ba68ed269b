// SPDX-License-Identifier: GPL-2.0-only
//! Why a task sleeps, from the system call that it sleeps in.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use recording::event::SleepsFor;
use syscalls::Sysno;

use super::object::{NO_SYSCALL, SYSCALLS, file, leaves, waker};

/// What a system call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// A time: where its flags say until which, its file is a timer.
    Time,
    /// A lock of user space.
    Lock,
    /// A child; `vfork` and its kin wait until the child runs another program.
    Child,
    /// Whatever comes first.
    Any,
    /// A message or a semaphore between tasks of one machine, as in a pipe.
    Local,
    /// Memory's lock or other CPUs, never a disk by itself.
    Memory,
    Disk,
    /// The file that is its first argument.
    File,
    /// The same, where that may have no room for what it writes.
    Write,
    Other,
    /// The task is in no system call.
    No,
}

/// The names of system calls; processors lack some of them.
const CALLS: [(Call, &str); 9] = [
    (Call::Time, "nanosleep clock_nanosleep"),
    (Call::Lock, "futex futex_waitv futex_wait semop semtimedop flock fcntl"),
    (Call::Child, "wait4 waitid clone clone3 vfork"),
    (
        Call::Any,
        "poll select epoll_wait pause ppoll pselect6 epoll_pwait epoll_pwait2 io_uring_enter \
         rt_sigsuspend rt_sigtimedwait",
    ),
    (Call::Local, "msgsnd msgrcv mq_timedsend mq_timedreceive"),
    (Call::Memory, "mmap munmap mprotect brk madvise membarrier exit exit_group"),
    (Call::Disk, "sync io_getevents"),
    (
        Call::File,
        "read readv pread64 pwrite64 preadv pwritev preadv2 recvfrom recvmsg recvmmsg accept \
         accept4 connect splice tee copy_file_range fsync fdatasync sync_file_range syncfs \
         ftruncate fallocate getdents64 close",
    ),
    (Call::Write, "write writev pwritev2 sendto sendmsg sendmmsg sendfile vmsplice"),
];

/// By the numbers of this processor's system calls.
static BY_NUMBER: LazyLock<[Call; SYSCALLS]> = LazyLock::new(|| {
    let mut table = [Call::Other; SYSCALLS];
    for (call, names) in CALLS {
        for known in names.split(' ').filter_map(|name| name.parse::<Sysno>().ok()) {
            table[known.id() as usize] = call;
        }
    }
    table
});

/// The table that the programs need: 1 where the first argument is a file, 2 where the second one
/// tells a time's kind.
pub fn takes_file() -> [u8; SYSCALLS] {
    let mut table = BY_NUMBER.map(|call| u8::from(matches!(call, Call::File | Call::Write)));
    table[Sysno::clock_nanosleep.id() as usize] = 2;
    table
}

/// Decodes the reason of a sleep from the switch; `Any`: the waker decides.
pub fn sleep(detail: u32) -> SleepsFor {
    let what = of_file(detail >> 8 & 0xff);
    let call = match detail >> 16 {
        NO_SYSCALL => Call::No,
        number => BY_NUMBER.get(number as usize).copied().unwrap_or(Call::Other),
    };
    match (detail & 0xff, call) {
        (leaves::IO, _) => SleepsFor::Disk,
        (leaves::IDLING, _) => SleepsFor::Other,
        (_, Call::Child) => SleepsFor::Child,
        (_, Call::Time) => what.unwrap_or(SleepsFor::Nap),
        (_, Call::Lock) => SleepsFor::Futex,
        (_, Call::Local) => SleepsFor::Pipe,
        (_, Call::Disk) => SleepsFor::Disk,
        (_, Call::Any) => SleepsFor::Any,
        // Messages and room are waited for interruptibly; this is the lock of a pipe or a socket.
        (leaves::STUCK, _) if matches!(what, Some(SleepsFor::Pipe | SleepsFor::Network)) => {
            SleepsFor::Futex
        }
        (_, Call::Write) if matches!(what, Some(SleepsFor::Pipe | SleepsFor::Network)) => {
            SleepsFor::Room
        }
        // A thread of the kernel is in no system call and has locks of its own; so has a page
        // fault, but it waits for a page more often.
        (leaves::STUCK, call) if !matches!(call, Call::No | Call::Memory) => {
            what.unwrap_or(SleepsFor::Disk)
        }
        _ => what.unwrap_or(SleepsFor::Other),
    }
}

fn of_file(what: u32) -> Option<SleepsFor> {
    match what {
        file::NONE => None,
        file::PIPE | file::LOCAL_SOCKET => Some(SleepsFor::Pipe),
        file::NETWORK => Some(SleepsFor::Network),
        file::DISK => Some(SleepsFor::Disk),
        file::TIMER => Some(SleepsFor::Timer),
        // An event, too, is no message: who signals it may go on.
        _ => Some(SleepsFor::Other),
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
    use libc::c_long;

    use super::*;

    #[test]
    fn the_system_call_and_its_file_are_the_reason() {
        let none = NO_SYSCALL as c_long;
        for (how, what, call, reason) in [
            (leaves::WAITING, file::NONE, libc::SYS_clock_nanosleep, SleepsFor::Nap),
            // With TIMER_ABSTIME.
            (leaves::WAITING, file::TIMER, libc::SYS_clock_nanosleep, SleepsFor::Timer),
            (leaves::WAITING, file::NONE, libc::SYS_futex, SleepsFor::Futex),
            (leaves::WAITING, file::NONE, libc::SYS_wait4, SleepsFor::Child),
            // A `vfork`.
            (leaves::STUCK, file::NONE, libc::SYS_clone, SleepsFor::Child),
            (leaves::WAITING, file::NONE, libc::SYS_msgrcv, SleepsFor::Pipe),
            (leaves::WAITING, file::NONE, libc::SYS_semop, SleepsFor::Futex),
            (leaves::WAITING, file::NONE, libc::SYS_sync, SleepsFor::Disk),
            (leaves::WAITING, file::NONE, libc::SYS_ppoll, SleepsFor::Any),
            (leaves::WAITING, file::PIPE, libc::SYS_read, SleepsFor::Pipe),
            (leaves::WAITING, file::LOCAL_SOCKET, libc::SYS_read, SleepsFor::Pipe),
            (leaves::WAITING, file::EVENT, libc::SYS_read, SleepsFor::Other),
            (leaves::WAITING, file::NETWORK, libc::SYS_read, SleepsFor::Network),
            (leaves::WAITING, file::TIMER, libc::SYS_read, SleepsFor::Timer),
            (leaves::WAITING, file::DISK, libc::SYS_read, SleepsFor::Disk),
            (leaves::WAITING, file::OTHER, libc::SYS_read, SleepsFor::Other),
            (leaves::WAITING, file::PIPE, libc::SYS_write, SleepsFor::Room),
            (leaves::WAITING, file::LOCAL_SOCKET, libc::SYS_write, SleepsFor::Room),
            (leaves::WAITING, file::NETWORK, libc::SYS_write, SleepsFor::Room),
            (leaves::STUCK, file::PIPE, libc::SYS_write, SleepsFor::Futex),
            (leaves::STUCK, file::PIPE, libc::SYS_read, SleepsFor::Futex),
            (leaves::STUCK, file::NETWORK, libc::SYS_sendto, SleepsFor::Futex),
            (leaves::IO, file::DISK, libc::SYS_write, SleepsFor::Disk),
            // Uninterruptible sleeps are for disks, but for locks of memory and of the kernel.
            (leaves::STUCK, file::NONE, libc::SYS_openat, SleepsFor::Disk),
            (leaves::STUCK, file::NONE, libc::SYS_munmap, SleepsFor::Other),
            (leaves::STUCK, file::NONE, none, SleepsFor::Other),
            (leaves::IO, file::NONE, none, SleepsFor::Disk),
            (leaves::IDLING, file::NONE, none, SleepsFor::Other),
            (leaves::WAITING, file::NONE, none, SleepsFor::Other),
        ] {
            let found = sleep(how | what << 8 | (call as u32) << 16);
            assert_eq!(found, reason, "{how} {what} {call}");
        }
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
    fn every_name_is_a_system_call() {
        if cfg!(target_arch = "x86_64") {
            for name in CALLS.iter().flat_map(|(_, names)| names.split(' ')) {
                assert!(name.parse::<Sysno>().is_ok(), "{name}");
            }
        }
        let table = takes_file();
        let places = [libc::SYS_read, libc::SYS_nanosleep, libc::SYS_clock_nanosleep];
        assert_eq!(places.map(|call| table[call as usize]), [1, 0, 2]);
    }
}
