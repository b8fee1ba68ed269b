// SPDX-License-Identifier: GPL-2.0-only
//! A process for each trial, so that a scheduler that crashes, spins or corrupts memory costs its
//! own trial only.

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
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
    /// It was killed because nobody wants its answer any more.
    Stopped,
}

/// What the first byte of the answer says.
const ANSWER: u8 = 1;
const PANIC: u8 = 2;

/// How soon a request to stop is noticed.
const LOOK: Duration = Duration::from_millis(100);

/// One birth at a time. A child that is born while another's pipes are open for writing would keep
/// them open, and the end of the other's answer would be noticed only when both have ended.
static BIRTH: Mutex<()> = Mutex::new(());

/// Does work in a process of its own, which ends with it, or when `stop` becomes true.
///
/// # Errors
/// When there can be no further process.
pub fn isolated(
    timeout: Duration,
    stop: &AtomicBool,
    work: impl FnOnce() -> Vec<u8>,
) -> std::io::Result<Ending> {
    let birth = BIRTH.lock().unwrap_or_else(PoisonError::into_inner);
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
            drop((answer_to, fault_to, birth));
            Ok(wait(child, answer_from, fault_from, timeout, stop))
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
    close_all_but(answer_to.as_raw_fd(), fault_to.as_raw_fd());
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

/// Closes what the process has inherited by chance: another thread of the parent may wait for the
/// end of a pipe, which would not come as long as this process lives.
fn close_all_but(one: RawFd, other: RawFd) {
    let (low, high) = (one.min(other) as u32, one.max(other) as u32);
    for (first, last) in [(3, low - 1), (low + 1, high - 1), (high + 1, u32::MAX)] {
        if first <= last {
            // SAFETY: nothing in this process uses them; the standard streams stay. An old kernel
            // without the call leaves them open, as before.
            unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        }
    }
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let literal = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    literal.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

fn wait(
    child: libc::pid_t,
    answer: OwnedFd,
    fault: OwnedFd,
    timeout: Duration,
    stop: &AtomicBool,
) -> Ending {
    let (bytes, given_up) = read_all(&answer, timeout, stop);
    if given_up.is_some() {
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
        _ if given_up.is_some() => given_up.unwrap_or(Ending::TimedOut),
        Some((&ANSWER, rest)) if libc::WIFEXITED(status) => Ending::Answer(rest.to_vec()),
        Some((&PANIC, rest)) => Ending::Panic(String::from_utf8_lossy(rest).into_owned()),
        _ if libc::WIFSIGNALED(status) => Ending::Killed(libc::WTERMSIG(status)),
        _ => Ending::Killed(0),
    }
}

/// Everything until the other end is closed, or how it ended if nobody waits so long.
fn read_all(from: &OwnedFd, timeout: Duration, stop: &AtomicBool) -> (Vec<u8>, Option<Ending>) {
    let end = Instant::now() + timeout;
    let mut bytes = Vec::new();
    let mut piece = [0; 1 << 16];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let wait_ms = left.min(LOOK).as_millis() as i32;
        let mut poll = libc::pollfd { fd: from.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure, as said.
        let ready = unsafe { libc::poll(&mut poll, 1, wait_ms) };
        if stop.load(Ordering::Relaxed) {
            return (bytes, Some(Ending::Stopped));
        }
        if ready <= 0 {
            match left.is_zero() {
                true => return (bytes, Some(Ending::TimedOut)),
                false => continue,
            }
        }
        // SAFETY: the buffer has this size.
        let count = unsafe { libc::read(from.as_raw_fd(), piece.as_mut_ptr().cast(), piece.len()) };
        match count {
            1.. => bytes.extend_from_slice(&piece[..count as usize]),
            0 => return (bytes, None),
            _ if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            _ => return (bytes, None),
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
        isolated(LONG, &AtomicBool::new(false), work).expect("a process can be made")
    }

    #[test]
    fn an_answer_comes_back_whole() {
        let long: Vec<u8> = (0..300_000u32).map(|index| index as u8).collect();
        assert_eq!(check(|| long.clone()), Ending::Answer(long.clone()));
        assert_eq!(check(Vec::new), Ending::Answer(Vec::new()));
    }

    #[test]
    fn a_pipe_of_somebody_else_ends_when_its_writer_closes_it() {
        let (from, to) = pipe().expect("a pipe");
        let patient = std::thread::spawn(|| {
            check(|| {
                std::thread::sleep(Duration::from_secs(5));
                Vec::new()
            })
        });
        std::thread::sleep(Duration::from_millis(300));
        drop(to);
        let (rest, ending) = read_all(&from, Duration::from_secs(2), &AtomicBool::new(false));
        assert_eq!((rest, ending), (Vec::new(), None));
        assert_eq!(patient.join().expect("the thread"), Ending::Answer(Vec::new()));
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
        let short = Duration::from_millis(50);
        let ending = isolated(short, &AtomicBool::new(false), sleep);
        assert_eq!(ending.expect("a process can be made"), Ending::TimedOut);
        let ending = isolated(LONG, &AtomicBool::new(true), sleep);
        assert_eq!(ending.expect("a process can be made"), Ending::Stopped);
    }
}
