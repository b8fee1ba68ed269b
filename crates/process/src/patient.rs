// SPDX-License-Identifier: GPL-2.0-only
//! A connection to a process that somebody may stop, and the messages through it, with or without
//! two descriptors (`SCM_RIGHTS`). The waiting side looks for a request to end, and gives up on a
//! process that stays stopped.
//!
//! A message is a head, which is the length of its bytes and carries the descriptors, and then the
//! bytes.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

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

const HEAD: usize = size_of::<u64>();

type Head = (usize, Option<[OwnedFd; 2]>);

/// Sends a message, and copies of the descriptors.
pub fn send(to: &mut Patient<'_>, bytes: &[u8], ends: Option<&[OwnedFd; 2]>) -> io::Result<()> {
    let head = (bytes.len() as u64).to_ne_bytes();
    let ends = ends.map(|ends| ends.each_ref().map(AsRawFd::as_raw_fd));
    let rights = ends.as_ref().map(|ends| ControlMessage::ScmRights(ends));
    to.when_ready(PollFlags::POLLOUT, || {
        let (socket, piece) = (to.socket.as_raw_fd(), [IoSlice::new(&head)]);
        let flags = MsgFlags::MSG_NOSIGNAL;
        let sent = sendmsg::<()>(socket, &piece, rights.as_slice(), flags, None)?;
        Ok(whole_head(sent)?)
    })?;
    to.write_all(bytes)
}

/// Waits for a message.
pub fn receive(mut from: &UnixStream) -> io::Result<(Vec<u8>, Option<[OwnedFd; 2]>)> {
    let (length, ends) = uninterrupted(|| receive_head(from))?;
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok((bytes, ends))
}

fn receive_head(from: &UnixStream) -> Result<Head, Errno> {
    let (mut head, mut space) = ([0; HEAD], nix::cmsg_space!([RawFd; 2]));
    let flags = MsgFlags::MSG_CMSG_CLOEXEC | MsgFlags::MSG_WAITALL;
    let mut piece = [IoSliceMut::new(&mut head)];
    let message = recvmsg::<()>(from.as_raw_fd(), &mut piece, Some(&mut space[..]), flags)?;
    let ends = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::ScmRights(ends) => <[RawFd; 2]>::try_from(ends).ok(),
        _ => None,
    });
    // SAFETY: the kernel has just made the descriptors, and nothing else owns them.
    let ends = ends.map(|ends| ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) }));
    whole_head(message.bytes)?;
    Ok((u64::from_ne_bytes(head) as usize, ends))
}

/// A head goes in one piece; anything else means that there is nobody at the other end.
fn whole_head(bytes: usize) -> Result<(), Errno> {
    if bytes == HEAD { Ok(()) } else { Err(Errno::EPIPE) }
}

/// Repeats a call that a signal has interrupted.
fn uninterrupted<T>(mut call: impl FnMut() -> Result<T, Errno>) -> io::Result<T> {
    loop {
        match call() {
            Err(Errno::EINTR) => {}
            done => return done.map_err(io::Error::from),
        }
    }
}
