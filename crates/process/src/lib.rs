// SPDX-License-Identifier: GPL-2.0-only
//! Work in a forked process, so that a crash, a hang or corrupted memory costs that process only.
//!
//! The pieces are shared by the supervisors of the simulator and of the live backend: [`pipe`] for
//! the answer, [`Process::fork`] for the work, [`caught`] for its panics, and [`await_readable`]
//! for a supervisor that waits with a limit. [`fork_server`] forks for a process that has become
//! large; its messages go through `fd_passing`, and nobody waits for ever for a process that is
//! stopped ([`patient`]).
//!
//! [`sandbox`] is what such a process cannot do, [`silence`] measures how long it has taken,
//! [`stop`] is a request to end, [`installed`] finds programs, and [`packages`] says what gets
//! them.
//!
//! What is not here: when a worker is told to stop or is killed, and what its answer means. The two
//! backends differ in that.

pub mod fork_server;
pub mod installed;
pub mod packages;
pub mod patient;
pub mod sandbox;
pub mod silence;
pub mod stop;

use std::any::Any;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The two ends of a pipe, or of a pair of sockets. Both are closed on `exec`.
#[derive(Debug)]
pub struct Pipe {
    pub read: OwnedFd,
    pub write: OwnedFd,
}

pub fn pipe() -> io::Result<Pipe> {
    let mut ends: [RawFd; 2] = [-1; 2];
    // SAFETY: the array has room for the two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both descriptors are new, and nothing else owns them.
    let [read, write] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
    Ok(Pipe { read, write })
}

/// A pair of stream sockets of the Unix domain; one is written, the other is read.
pub fn socket_pair() -> io::Result<Pipe> {
    let (write, read) = UnixStream::pair()?;
    Ok(Pipe { read: read.into(), write: write.into() })
}

/// The CPU time that a process has used until now; `None` once it is gone.
pub fn cpu_time(pid: libc::pid_t) -> Option<Duration> {
    let mut clock = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both are local variables.
    let is_known = unsafe {
        libc::clock_getcpuclockid(pid, &mut clock) == 0
            && libc::clock_gettime(clock, &mut time) == 0
    };
    is_known.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// Where a process's first thread is, for a sentence: the kernel's names of its state and of the
/// function that it waits in.
pub fn waits_in(pid: libc::pid_t) -> String {
    let place = std::fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
    match (patient::state(pid), place.trim()) {
        (Some('R'), _) => "ran".into(),
        (Some('T' | 't'), _) => "was stopped".into(),
        (None, _) => "was gone".into(),
        (Some(state), "" | "0") => format!("waited (state {state})"),
        (Some(state), place) => format!("waited in {place} (state {state})"),
    }
}

#[derive(Debug)]
pub struct Process {
    pid: libc::pid_t,
}

/// Exit code of a process whose work panicked outside [`caught`], as the Rust runtime has it.
const PANICKED: i32 = 101;

impl Process {
    /// Forks. The new process runs `work` and exits with its result, without the exit handlers of
    /// the parent. It is killed when the thread that forked it dies.
    ///
    /// `work` runs in a copy of the calling thread alone: locks that other threads hold stay
    /// locked. The parent drops `work`, and with it all descriptors that were moved into it.
    pub fn fork(work: impl FnOnce() -> i32) -> io::Result<Process> {
        fork(turn_to_fork(), work)
    }

    pub fn pid(&self) -> libc::pid_t {
        self.pid
    }

    /// A descriptor that becomes readable when the process has ended (`pidfd_open`).
    pub fn handle(&self) -> io::Result<OwnedFd> {
        // SAFETY: no pointers.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, self.pid, 0) } as RawFd;
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and nothing else owns it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Sends a signal. The number of a process that was not waited for is not reused.
    pub fn kill(&self, signal: i32) {
        // SAFETY: no pointers.
        unsafe { libc::kill(self.pid, signal) };
    }

    pub fn kill_group(&self, signal: i32) {
        // SAFETY: no pointers.
        unsafe { libc::kill(-self.pid, signal) };
    }

    /// Waits for the end and returns the status that `waitpid` gives.
    pub fn wait(self) -> i32 {
        let mut status = 0;
        // SAFETY: the status is a local variable; the child is ours.
        unsafe { libc::waitpid(self.pid, &mut status, 0) };
        status
    }

    /// The status that [`Process::wait`] returns, if the process has ended. It is still to be
    /// waited for.
    pub fn ended(&self) -> Option<i32> {
        let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: the information is a local variable, for which all zeros are valid; the child is
        // ours. What is read is there for every child that has ended.
        unsafe {
            let mut end: libc::siginfo_t = std::mem::zeroed();
            let failed = libc::waitid(libc::P_PID, self.pid as libc::id_t, &mut end, how) != 0;
            let ended = failed || end.si_pid() != 0;
            ended.then(|| as_status(end.si_code, end.si_status()))
        }
    }
}

/// What waitid(2) says in the form of waitpid(2).
fn as_status(code: i32, value: i32) -> i32 {
    match code {
        libc::CLD_EXITED => libc::W_EXITCODE(value, 0),
        _ => libc::W_EXITCODE(0, value),
    }
}

/// Held while a process is forked, and while a descriptor is open that a new process must not have.
static FORKING: Mutex<()> = Mutex::new(());

fn turn_to_fork() -> MutexGuard<'static, ()> {
    FORKING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a program while no process is forked. A process that is forked at that moment inherits
/// the program's ends of pipes, and a reader would wait for the end of that process, too. The
/// standard library itself is such a reader: it waits for an error of exec. For the same reason, a
/// program's input is a file and not a pipe.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    let _turn = turn_to_fork();
    command.spawn()
}

/// Forks with the turn held, so that in both processes it is free afterwards.
fn fork(turn: MutexGuard<'static, ()>, work: impl FnOnce() -> i32) -> io::Result<Process> {
    let parent = std::process::id();
    // SAFETY: the child is a copy of this thread alone; the C library keeps its allocator usable.
    // The child never returns from here.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop(turn);
            be_child(parent, work)
        }
        pid => Ok(Process { pid }),
    }
}

fn be_child(parent: u32, work: impl FnOnce() -> i32) -> ! {
    // SAFETY: plain system calls. Without its parent nobody could end this process; the parent may
    // have died already.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() as u32 != parent {
            libc::_exit(PANICKED);
        }
    }
    let code = caught(work).unwrap_or(PANICKED);
    // SAFETY: ends without running anything that belongs to the parent.
    unsafe { libc::_exit(code) }
}

/// Does work and turns a panic into its message.
///
/// # Errors
/// The message of the panic; empty for a payload that is no text.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| message(panic.as_ref()))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let literal = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    literal.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// Waits until one of the descriptors is readable or its other end is closed, at most for
/// `patience`. Returns whether one is; a signal may end the waiting early.
pub fn await_readable<const N: usize>(from: [Option<BorrowedFd>; N], patience: Duration) -> bool {
    const NOTHING: RawFd = -1;
    let mut entries = from.map(|fd| libc::pollfd {
        fd: fd.map_or(NOTHING, |fd| fd.as_raw_fd()),
        events: libc::POLLIN,
        revents: 0,
    });
    let patience = libc::timespec {
        tv_sec: patience.as_secs() as libc::time_t,
        tv_nsec: patience.subsec_nanos().into(),
    };
    // SAFETY: N valid entries and a valid time.
    let ready = unsafe {
        libc::ppoll(entries.as_mut_ptr(), N as libc::nfds_t, &patience, std::ptr::null())
    };
    ready > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::process::Stdio;

    const LONG: Duration = Duration::from_secs(20);

    /// One test at a time: a process that another one forks would keep this one's pipes open, and a
    /// process that is forked while another thread panics cannot panic itself.
    pub fn turn() -> MutexGuard<'static, ()> {
        static TURN: Mutex<()> = Mutex::new(());
        TURN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[test]
    fn a_worker_answers_through_its_pipe() {
        let _turn = turn();
        let Pipe { read, write } = pipe().expect("a pipe");
        let work = move || 7 + i32::from(File::from(write).write_all(b"done").is_err());
        let process = Process::fork(work).expect("a process");
        let handle = process.handle().expect("a handle");
        assert!(await_readable([Some(read.as_fd())], LONG));
        let mut answer = String::new();
        // The parent's copy of the other end is closed, so the text has an end.
        File::from(read).read_to_string(&mut answer).expect("text");
        assert!(await_readable([None, Some(handle.as_fd())], LONG));
        // The end is seen before it is waited for.
        assert_eq!(process.ended().map(|status| libc::WEXITSTATUS(status)), Some(7));
        assert_eq!((answer.as_str(), libc::WEXITSTATUS(process.wait())), ("done", 7));
    }

    #[test]
    fn a_panic_ends_the_worker_only() {
        let _turn = turn();
        assert_eq!(caught(|| -> i32 { panic!("lost {}", 7) }), Err("lost 7".into()));
        let process = Process::fork(|| panic!("on purpose")).expect("a process");
        assert_eq!(libc::WEXITSTATUS(process.wait()), PANICKED);
    }

    #[test]
    fn a_worker_that_sleeps_is_killed() {
        let _turn = turn();
        let sleep = || {
            std::thread::sleep(LONG);
            0
        };
        let process = Process::fork(sleep).expect("a process");
        let handle = process.handle().expect("a handle");
        assert!(!await_readable([Some(handle.as_fd())], Duration::from_millis(20)));
        assert_eq!(process.ended(), None);
        process.kill(libc::SIGKILL);
        assert!(await_readable([Some(handle.as_fd())], LONG));
        assert_eq!(process.ended().map(|status| libc::WTERMSIG(status)), Some(libc::SIGKILL));
        assert_eq!(libc::WTERMSIG(process.wait()), libc::SIGKILL);
    }

    #[test]
    fn a_forked_process_starts_programs_and_forks() {
        let _turn = turn();
        let process = Process::fork(|| {
            let program = spawn(Command::new("true").stdin(Stdio::null()));
            let is_well = program.and_then(|mut program| program.wait()).is_ok_and(|s| s.success());
            let forked = Process::fork(|| 7).map(|forked| libc::WEXITSTATUS(forked.wait()));
            i32::from(!(is_well && forked.is_ok_and(|code| code == 7)))
        });
        let process = process.expect("a process");
        let handle = process.handle().expect("a handle");
        assert!(await_readable([Some(handle.as_fd())], LONG));
        assert_eq!(libc::WEXITSTATUS(process.wait()), 0);
    }
}
