// SPDX-License-Identifier: GPL-2.0-only
//! Messages through a socket, with or without two descriptors (`SCM_RIGHTS`).
//!
//! A message is a head, which is the length of its bytes and carries the descriptors, and then the
//! bytes.

use std::io::{self, Read, Write};
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

/// Bytes of a head.
const HEAD: usize = size_of::<u64>();
/// Bytes of the descriptors.
const ENDS: u32 = size_of::<[RawFd; 2]>() as u32;
/// More than a control message with two descriptors takes, in words that give it its alignment.
type Control = [u64; 8];

/// Sends a message, and copies of the descriptors.
///
/// # Errors
/// The other end is closed.
pub fn send(to: &UnixStream, bytes: &[u8], ends: Option<&[OwnedFd; 2]>) -> io::Result<()> {
    let ends = ends.map(|ends| ends.each_ref().map(AsRawFd::as_raw_fd));
    send_head(to, (bytes.len() as u64).to_ne_bytes(), ends)?;
    (&*to).write_all(bytes)
}

fn send_head(to: &UnixStream, mut head: [u8; HEAD], ends: Option<[RawFd; 2]>) -> io::Result<()> {
    let mut control: Control = Control::default();
    with_message(&mut head, &mut control, |message| {
        match ends {
            // SAFETY: the message has room for a control message with two descriptors.
            Some(ends) => unsafe {
                message.msg_controllen = libc::CMSG_SPACE(ENDS) as usize;
                let first = libc::CMSG_FIRSTHDR(message);
                (*first).cmsg_level = libc::SOL_SOCKET;
                (*first).cmsg_type = libc::SCM_RIGHTS;
                (*first).cmsg_len = libc::CMSG_LEN(ENDS) as usize;
                libc::CMSG_DATA(first).cast::<[RawFd; 2]>().write_unaligned(ends);
            },
            None => message.msg_controllen = 0,
        }
        // SAFETY: the message and what it points to live during the call.
        whole_head(|| unsafe { libc::sendmsg(to.as_raw_fd(), message, libc::MSG_NOSIGNAL) })
    })
}

/// Waits for a message.
///
/// # Errors
/// The other end is closed.
pub fn receive(mut from: &UnixStream) -> io::Result<(Vec<u8>, Option<[OwnedFd; 2]>)> {
    let (length, ends) = receive_head(from)?;
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok((bytes, ends))
}

fn receive_head(from: &UnixStream) -> io::Result<(usize, Option<[OwnedFd; 2]>)> {
    let (mut head, mut control) = ([0; HEAD], Control::default());
    let ends = with_message(&mut head, &mut control, |message| {
        let flags = libc::MSG_CMSG_CLOEXEC | libc::MSG_WAITALL;
        // SAFETY: the message and what it points to live during the call.
        whole_head(|| unsafe { libc::recvmsg(from.as_raw_fd(), message, flags) })?;
        // SAFETY: the kernel has just filled the message.
        Ok(unsafe { ends_of(message) })
    })?;
    Ok((u64::from_ne_bytes(head) as usize, ends))
}

/// The descriptors that came with a message.
///
/// # Safety
/// The kernel has filled the message, and nobody has taken its descriptors yet.
unsafe fn ends_of(message: &libc::msghdr) -> Option<[OwnedFd; 2]> {
    // SAFETY: the kernel says how much there is; the descriptors are new, and nothing else owns
    // them.
    unsafe {
        let first = libc::CMSG_FIRSTHDR(message).as_ref()?;
        let are_ends = first.cmsg_type == libc::SCM_RIGHTS
            && first.cmsg_len as usize == libc::CMSG_LEN(ENDS) as usize;
        let ends = libc::CMSG_DATA(first).cast::<[RawFd; 2]>();
        are_ends.then(|| ends.read_unaligned().map(|end| OwnedFd::from_raw_fd(end)))
    }
}

/// Calls with a message of this head and this room for a control message.
fn with_message<T>(
    head: &mut [u8; HEAD],
    control: &mut Control,
    call: impl FnOnce(&mut libc::msghdr) -> io::Result<T>,
) -> io::Result<T> {
    let mut piece = libc::iovec { iov_base: head.as_mut_ptr().cast(), iov_len: HEAD };
    // SAFETY: all zeros are a valid message without anything in it.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut piece, 1);
    (message.msg_control, message.msg_controllen) =
        (control.as_mut_ptr().cast(), size_of::<Control>());
    call(&mut message)
}

/// Repeats a call that a signal has interrupted. A head goes in one piece; anything else means that
/// there is nobody at the other end.
fn whole_head(mut call: impl FnMut() -> isize) -> io::Result<()> {
    loop {
        match call() {
            count if count == HEAD as isize => return Ok(()),
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return Err(io::Error::last_os_error()),
            _ => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}
