// SPDX-License-Identifier: GPL-2.0-only
//! A process for each trial, so that a scheduler that crashes, spins or corrupts memory costs its
//! own trial only.

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::fault::{self, Fault};

/// How the work in the other process ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    /// The work's answer.
    Answer(Vec<u8>),
    /// The scheduler's code went wrong.
    Fault(Fault),
    /// Our own code did.
    Panic(String),
    /// The process ended without a word, by this signal (0: none).
    Killed(i32),
    /// It did not end in time and was killed.
    TimedOut,
}

/// What the first byte of the answer says.
const ANSWER: u8 = 1;
const PANIC: u8 = 2;

/// Does work in a process of its own, which ends with it.
///
/// # Errors
/// When there can be no further process.
pub fn isolated(timeout: Duration, work: impl FnOnce() -> Vec<u8>) -> std::io::Result<Ending> {
    let (answer_from, answer_to) = pipe()?;
    let (fault_from, fault_to) = pipe()?;
    // SAFETY: the child uses what it has a copy of, and never returns from here.
    let child = unsafe { libc::fork() };
    match child {
        -1 => Err(std::io::Error::last_os_error()),
        0 => {
            drop((answer_from, fault_from));
            child_main(answer_to, &fault_to, work)
        }
        _ => {
            drop((answer_to, fault_to));
            Ok(wait(child, answer_from, fault_from, timeout))
        }
    }
}

fn child_main(answer_to: OwnedFd, fault_to: &OwnedFd, work: impl FnOnce() -> Vec<u8>) -> ! {
    // SAFETY: plain system calls. Without a parent there is nobody to answer.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
    }
    let watched = fault::watch(fault_to.as_raw_fd());
    let answer = catch_unwind(AssertUnwindSafe(|| match watched {
        Ok(()) => work(),
        Err(error) => panic!("the worker cannot watch itself: {error}"),
    }));
    let (kind, bytes) = match answer {
        Ok(bytes) => (ANSWER, bytes),
        Err(panic) => (PANIC, words_of(&*panic).into_bytes()),
    };
    let mut pipe = std::fs::File::from(answer_to);
    let written = pipe.write_all(&[kind]).and_then(|()| pipe.write_all(&bytes));
    // SAFETY: ends without running the parent's exit handlers.
    unsafe { libc::_exit(i32::from(written.is_err())) }
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let literal = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    literal.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

fn wait(child: libc::pid_t, answer: OwnedFd, fault: OwnedFd, timeout: Duration) -> Ending {
    let (bytes, in_time) = read_all(&answer, timeout);
    if !in_time {
        // SAFETY: the child is ours and was not waited for.
        unsafe { libc::kill(child, libc::SIGKILL) };
    }
    let mut status = 0;
    // SAFETY: as above.
    unsafe { libc::waitpid(child, &mut status, 0) };
    let mut report = [0; Fault::SIZE];
    if std::fs::File::from(fault).read_exact(&mut report).is_ok() {
        return Ending::Fault(Fault::from_bytes(&report));
    }
    match bytes.split_first() {
        _ if !in_time => Ending::TimedOut,
        Some((&ANSWER, rest)) if libc::WIFEXITED(status) => Ending::Answer(rest.to_vec()),
        Some((&PANIC, rest)) => Ending::Panic(String::from_utf8_lossy(rest).into_owned()),
        _ if libc::WIFSIGNALED(status) => Ending::Killed(libc::WTERMSIG(status)),
        _ => Ending::Killed(0),
    }
}

/// Everything until the other end is closed; false if that takes too long.
fn read_all(from: &OwnedFd, timeout: Duration) -> (Vec<u8>, bool) {
    let end = Instant::now() + timeout;
    let mut bytes = Vec::new();
    let mut piece = [0; 1 << 16];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let wait_ms = left.as_millis().min(i32::MAX as u128) as i32;
        let mut poll = libc::pollfd { fd: from.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure, as said.
        let ready = unsafe { libc::poll(&mut poll, 1, wait_ms) };
        if ready == 0 {
            return (bytes, false);
        }
        // SAFETY: the buffer has this size.
        let count = unsafe { libc::read(from.as_raw_fd(), piece.as_mut_ptr().cast(), piece.len()) };
        match count {
            1.. => bytes.extend_from_slice(&piece[..count as usize]),
            0 => return (bytes, true),
            _ if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            _ => return (bytes, true),
        }
    }
}

fn pipe() -> std::io::Result<(OwnedFd, OwnedFd)> {
    let mut ends: [RawFd; 2] = [-1; 2];
    // SAFETY: the array has room for two.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: both are new and ours.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    fn check(work: impl FnOnce() -> Vec<u8>) -> Ending {
        isolated(LONG, work).expect("a process can be made")
    }

    #[test]
    fn an_answer_comes_back_whole() {
        let long: Vec<u8> = (0..300_000u32).map(|index| index as u8).collect();
        assert_eq!(check(|| long.clone()), Ending::Answer(long.clone()));
        assert_eq!(check(Vec::new), Ending::Answer(Vec::new()));
    }

    #[test]
    fn a_panic_is_told() {
        assert_eq!(check(|| panic!("lost {}", 7)), Ending::Panic("lost 7".into()));
    }

    #[test]
    fn a_killed_worker_is_noticed() {
        // SAFETY: the worker ends itself.
        let ending = check(|| unsafe {
            libc::raise(libc::SIGKILL);
            Vec::new()
        });
        assert_eq!(ending, Ending::Killed(libc::SIGKILL));
    }

    #[test]
    fn a_worker_that_waits_for_ever_is_ended() {
        let sleep = || {
            std::thread::sleep(LONG);
            Vec::new()
        };
        let ending = isolated(Duration::from_millis(50), sleep).expect("a process can be made");
        assert_eq!(ending, Ending::TimedOut);
    }
}
