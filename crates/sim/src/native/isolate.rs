// SPDX-License-Identifier: GPL-2.0-only
//! A process for each trial, so that a scheduler that crashes, loops for ever or corrupts memory
//! costs its own trial only.

use std::fs::File;
use std::io::{Read, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use process::Process;
use process::fork_server::ForkServer;
use process::patient::{self, LOOK, Standstill};
use process::sandbox::{Cell, Limits};
use process::silence::Silence;

use super::cell;
use super::fault::{self, SchedulerFault};

/// How the work in the other process ended.
#[derive(Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    Answer(Vec<u8>),
    /// The scheduler's code crashed or did not end.
    Fault(SchedulerFault),
    /// The simulator's own code panicked; the panic's message.
    Panic(String),
    /// The process ended without an answer, by this signal.
    Killed(i32),
    /// It ended itself without an answer.
    Left,
    /// The answer has more bytes than this, the most that was allowed, and was not kept.
    TooLong(usize),
    /// It used more CPU time than its limit, or waited for as long, and was killed.
    TimedOut,
    /// It was killed because a stop was requested.
    Stopped,
}

/// First byte of what the process sends: an answer or a panic's message follows.
const ANSWER: u8 = 1;
const PANIC: u8 = 2;

/// Serialises making the pipes and forking. A child that is forked while another's pipes are open
/// for writing would keep them open, and the end of that other answer would be noticed only when
/// both children have ended.
static FORKING: Mutex<()> = Mutex::new(());

pub type Confinement<'a> = Option<(&'a Cell, Limits)>;

/// What the parent grants the work.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Of CPU time.
    pub timeout: Duration,
    /// The most bytes of the answer. The parent has to hold them.
    pub answer: usize,
}

/// Does work in a process of its own, confined or not. The process ends with the work, when the
/// parent's patience does, or when `stop` becomes true.
pub fn isolated(
    patience: Patience,
    stop: &AtomicBool,
    confinement: Confinement<'_>,
    work: impl FnOnce() -> Vec<u8>,
) -> std::io::Result<ProcessEnd> {
    let forking = FORKING.lock().unwrap_or_else(PoisonError::into_inner);
    let (answer, fault) = (process::pipe()?, process::pipe()?);
    let (answer_to, fault_to) = (answer.write, fault.write);
    let work = || Ok(work());
    let process = Process::fork(move || be_isolated(answer_to, fault_to, confinement, work))?;
    drop(forking);
    wait(process, &answer.read, fault.read, patience, stop)
}

/// Like [`isolated`], but a server forks the process, whose work must be [`be_isolated`].
pub fn isolated_by(
    server: &ForkServer,
    order: &[u8],
    patience: Patience,
    stop: &AtomicBool,
) -> std::io::Result<ProcessEnd> {
    let (answer, fault) = (process::pipe()?, process::pipe()?);
    let Some(process) = server.fork(order, [answer.write, fault.write], stop)? else {
        return Ok(ProcessEnd::Stopped);
    };
    wait(process, &answer.read, fault.read, patience, stop)
}

/// What the process does: it sends the work's answer, or why there is none. Returns its exit code.
pub fn be_isolated(
    answer_to: OwnedFd,
    fault_to: OwnedFd,
    confinement: Confinement<'_>,
    work: impl FnOnce() -> Result<Vec<u8>, String>,
) -> i32 {
    let answer = match get_ready(answer_to, fault_to, confinement) {
        Ok(()) => process::caught(work).and_then(|answer| answer),
        Err(error) => Err(format!("the worker cannot be confined: {error}")),
    };
    let (kind, bytes) = match answer {
        Ok(bytes) => (ANSWER, bytes),
        Err(message) => (PANIC, message.into_bytes()),
    };
    // SAFETY: `get_ready` has put the pipe there, and nothing else uses the number. It is not
    // closed, which would be a forbidden call: the process ends.
    let mut pipe = ManuallyDrop::new(unsafe { File::from_raw_fd(cell::ANSWER) });
    let written = pipe.write_all(&[kind]).and_then(|()| pipe.write_all(&bytes));
    i32::from(written.is_err())
}

/// Everything that has to be prepared, and then the confinement.
fn get_ready(
    answer_to: OwnedFd,
    fault_to: OwnedFd,
    confinement: Confinement<'_>,
) -> std::io::Result<()> {
    // How much is mapped is read from a file.
    let limits = confinement.map(|(_, limits)| limits.besides_mapped());
    cell::leave_the_world(confinement.map(|(cell, _)| cell), answer_to, fault_to)?;
    fault::watch(cell::FAULT)?;
    let (Some((cell, _)), Some(limits)) = (confinement, limits) else { return Ok(()) };
    // The first table of this thread asks the kernel for chance, which is forbidden from here on.
    let _ = std::hash::RandomState::new();
    cell::hide_clock();
    cell.lock(&limits)?;
    cell::lock_is_on();
    Ok(())
}

fn wait(
    process: Process,
    answer: &OwnedFd,
    fault: OwnedFd,
    patience: Patience,
    stop: &AtomicBool,
) -> std::io::Result<ProcessEnd> {
    let read = read_all(answer, Some(process.pid()), patience, stop);
    if !matches!(read, Ok((_, None))) {
        process.kill(libc::SIGKILL);
    }
    let status = process.wait();
    let (mut bytes, given_up) = read?;
    let mut report = [0; SchedulerFault::SIZE];
    if File::from(fault).read_exact(&mut report).is_ok() {
        return Ok(ProcessEnd::Fault(SchedulerFault::from_bytes(&report)));
    }
    if let Some(ending) = given_up {
        return Ok(ending);
    }
    // The bytes are moved and not copied: there may be many.
    let kind = bytes.first().copied();
    bytes.drain(..usize::from(kind.is_some()));
    Ok(match kind {
        Some(ANSWER) if libc::WIFEXITED(status) => ProcessEnd::Answer(bytes),
        Some(PANIC) => ProcessEnd::Panic(String::from_utf8_lossy(&bytes).into_owned()),
        _ if libc::WIFSIGNALED(status) => ProcessEnd::Killed(libc::WTERMSIG(status)),
        _ => ProcessEnd::Left,
    })
}

/// Reads until the other end is closed. The ending is set if the writer's time was over, it wrote
/// too much, or a stop was requested, before that.
///
/// # Errors
/// The writer stays stopped.
fn read_all(
    from: &OwnedFd,
    writer: Option<libc::pid_t>,
    patience: Patience,
    stop: &AtomicBool,
) -> std::io::Result<(Vec<u8>, Option<ProcessEnd>)> {
    let mut silence = Silence::begin(patience.timeout, writer);
    let mut standstill = Standstill::default();
    let mut bytes = Vec::new();
    let mut piece = [0; 1 << 16];
    loop {
        let is_ready = process::await_readable([Some(from.as_fd())], LOOK);
        if stop.load(Ordering::Relaxed) {
            return Ok((bytes, Some(ProcessEnd::Stopped)));
        }
        if !is_ready {
            // Nothing in the sandbox can stop a process: it is not the scheduler's silence.
            match writer.filter(|pid| patient::is_stopped(*pid)) {
                Some(pid) if standstill.lasts(pid) => return Err(patient::stopped(pid)),
                Some(_) => silence.pause(),
                None if silence.is_over() => return Ok((bytes, Some(ProcessEnd::TimedOut))),
                None => {}
            }
            continue;
        }
        // SAFETY: the buffer has this size.
        let count = unsafe { libc::read(from.as_raw_fd(), piece.as_mut_ptr().cast(), piece.len()) };
        match count {
            // Its first byte is the kind.
            1.. if bytes.len() + count as usize > patience.answer.saturating_add(1) => {
                return Ok((Vec::new(), Some(ProcessEnd::TooLong(patience.answer))));
            }
            1.. => bytes.extend_from_slice(&piece[..count as usize]),
            0 => return Ok((bytes, None)),
            _ if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            _ => return Ok((bytes, None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    fn patience(timeout: Duration) -> Patience {
        Patience { timeout, answer: 300_000 }
    }

    fn check(work: impl FnOnce() -> Vec<u8>) -> ProcessEnd {
        isolated(patience(LONG), &AtomicBool::new(false), None, work)
            .expect("a process can be made")
    }

    #[test]
    fn an_answer_comes_back_whole() {
        let long: Vec<u8> = (0..300_000u32).map(|index| index as u8).collect();
        assert_eq!(check(|| long.clone()), ProcessEnd::Answer(long.clone()));
        assert_eq!(check(Vec::new), ProcessEnd::Answer(Vec::new()));
    }

    #[test]
    fn an_answer_that_is_too_long_is_not_kept() {
        assert_eq!(check(|| vec![b'x'; 300_001]), ProcessEnd::TooLong(300_000));
        let endless = || loop {
            // SAFETY: the buffer has this size.
            unsafe { libc::write(cell::ANSWER, [b'x'; 4096].as_ptr().cast(), 4096) };
        };
        assert_eq!(check(endless), ProcessEnd::TooLong(300_000));
    }

    #[test]
    fn another_pipe_ends_when_its_writer_closes_it() {
        let process::Pipe { read: from, write: to } = process::pipe().expect("a pipe");
        let patient = std::thread::spawn(|| {
            check(|| {
                std::thread::sleep(Duration::from_secs(5));
                Vec::new()
            })
        });
        std::thread::sleep(Duration::from_millis(300));
        drop(to);
        let within = patience(Duration::from_secs(2));
        let read = read_all(&from, None, within, &AtomicBool::new(false));
        assert_eq!(read.expect("an end"), (Vec::new(), None));
        assert_eq!(patient.join().expect("the thread"), ProcessEnd::Answer(Vec::new()));
    }

    #[test]
    fn a_panic_is_told() {
        assert_eq!(check(|| panic!("lost {}", 7)), ProcessEnd::Panic("lost 7".into()));
    }

    #[test]
    fn a_killed_worker_is_noticed() {
        // SAFETY: the worker ends itself.
        let ending = check(|| unsafe {
            libc::raise(libc::SIGKILL);
            Vec::new()
        });
        assert_eq!(ending, ProcessEnd::Killed(libc::SIGKILL));
    }

    #[test]
    fn a_busy_host_takes_no_time_away() {
        const LIMIT: Duration = Duration::from_millis(600);
        let begin = std::time::Instant::now();
        let is_done = AtomicBool::new(false);
        let ending = std::thread::scope(|scope| {
            for _ in 0..24 {
                scope.spawn(|| {
                    while !is_done.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let work = || {
                let own = || process::cpu_time(std::process::id() as i32).unwrap_or(LIMIT);
                while own() < LIMIT / 2 {}
                Vec::new()
            };
            let ending = isolated(patience(LIMIT), &AtomicBool::new(false), None, work);
            is_done.store(true, Ordering::Relaxed);
            ending.expect("a process can be made")
        });
        assert_eq!(ending, ProcessEnd::Answer(Vec::new()), "after {:?}", begin.elapsed());
    }

    #[test]
    fn a_worker_that_waits_for_ever_is_ended() {
        let sleep = || {
            std::thread::sleep(LONG);
            Vec::new()
        };
        let short = Duration::from_millis(50);
        let ending = isolated(patience(short), &AtomicBool::new(false), None, sleep);
        assert_eq!(ending.expect("a process can be made"), ProcessEnd::TimedOut);
        let ending = isolated(patience(LONG), &AtomicBool::new(true), None, sleep);
        assert_eq!(ending.expect("a process can be made"), ProcessEnd::Stopped);
    }

    #[test]
    fn a_worker_that_was_stopped_from_outside_is_not_late() {
        // SAFETY: the worker stops itself; nothing lets it go on.
        let halt = || unsafe {
            libc::raise(libc::SIGSTOP);
            Vec::new()
        };
        let short = Duration::from_millis(50);
        let fault =
            isolated(patience(short), &AtomicBool::new(false), None, halt).expect_err("it stands");
        assert!(fault.to_string().contains("was stopped by a signal or a debugger"), "{fault}");
    }
}
