// SPDX-License-Identifier: GPL-2.0-only
//! Messages through a socket, with or without two descriptors (`SCM_RIGHTS`).
//!
//! A message is a head, which is the length of its bytes and carries the descriptors, and then the
//! bytes.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::poll::PollFlags;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

use crate::patient::Patient;

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
