// SPDX-License-Identifier: GPL-2.0-only
//! A connection to a process that somebody may stop: whoever waits for it looks for a request to
//! end, and gives up on a process that stays stopped.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// How often is looked at a process that is waited for.
pub const LOOK: Duration = Duration::from_millis(100);

/// Looks in a row at which a process is found stopped, until it counts as lost. Looks are counted,
/// not time: none is made while this process is stopped itself, as when a queue suspends a job.
const LOOKS: u32 = 100;

/// Counts the looks at which a process is stopped (`SIGSTOP`, or a debugger).
#[derive(Debug, Default)]
pub struct Standstill(u32);

impl Standstill {
    /// Looks, which the caller does every [`LOOK`]; whether the process stays stopped.
    pub fn lasts(&mut self, pid: libc::pid_t) -> bool {
        self.0 = if is_stopped(pid) { self.0 + 1 } else { 0 };
        self.0 >= LOOKS
    }
}

/// Why there is nothing from a process that stays stopped.
pub fn stopped(pid: libc::pid_t) -> io::Error {
    let seconds = (LOOK * LOOKS).as_secs();
    let message = format!(
        "process {pid} of this program was stopped by a signal or a debugger, and has not gone on \
         for {seconds} s; run it again with --resume"
    );
    io::Error::new(io::ErrorKind::TimedOut, message)
}

/// Whether a process is stopped.
pub fn is_stopped(pid: libc::pid_t) -> bool {
    matches!(state(pid), Some('T' | 't'))
}

/// The state of a process's first thread by proc_pid_stat(5); `None` once it is gone.
pub(crate) fn state(pid: libc::pid_t) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name stands in parentheses and may have some itself.
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
}

/// A connection that does not block, to the process `to`.
pub struct Patient<'a> {
    pub socket: &'a UnixStream,
    pub to: libc::pid_t,
    pub stop: &'a AtomicBool,
}

impl Patient<'_> {
    /// Repeats a call until it does not have to wait.
    ///
    /// # Errors
    /// Those of the call; a request to end; the other process stays stopped.
    pub fn when_ready<T>(
        &self,
        ready: PollFlags,
        mut call: impl FnMut() -> io::Result<T>,
    ) -> io::Result<T> {
        let mut standstill = Standstill::default();
        loop {
            match call() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                done => return done,
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::Error::other("told to end"));
            }
            if standstill.lasts(self.to) {
                return Err(stopped(self.to));
            }
            let limit = PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::NONE);
            // Whether it is ready, or a signal came, the call shows.
            let _ = poll(&mut [PollFd::new(self.socket.as_fd(), ready)], limit);
        }
    }
}

impl Read for Patient<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.when_ready(PollFlags::POLLIN, || (&mut &*self.socket).read(bytes))
    }
}

impl Write for Patient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.when_ready(PollFlags::POLLOUT, || (&mut &*self.socket).write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
