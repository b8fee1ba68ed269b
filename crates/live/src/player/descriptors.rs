// SPDX-License-Identifier: GPL-2.0-only
//! Pipes between tasks, and the bell that wakes the main thread.

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use model::play::Script;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use process::{Pipe, pipe};

/// The pipes in which the tasks of tapes sleep that receive.
pub fn mailboxes(script: &Script) -> io::Result<Vec<Option<Pipe>>> {
    let mut wanted = vec![false; script.tapes.len()];
    script.mailboxes.iter().flatten().for_each(|&tape| wanted[tape] = true);
    let count = wanted.iter().filter(|wanted| **wanted).count() as u64;
    if count > 0 {
        allow_files(2 * count + 512);
    }
    wanted.iter().map(|wanted| wanted.then(pipe).transpose()).collect()
}

pub fn pipes(count: usize) -> io::Result<Vec<Pipe>> {
    allow_files(2 * count as u64 + 512);
    (0..count).map(|_| pipe()).collect()
}

/// Raises the limit of open files to `files` if that is allowed. Opening a file fails if it was not
/// enough.
fn allow_files(files: u64) {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return };
    if soft < files && setrlimit(Resource::RLIMIT_NOFILE, files, hard.max(files)).is_err() {
        // Raising the hard limit needs a privilege.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// An eventfd that rings nobody yet.
pub fn bell() -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given it to us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Empties the bell, so that it can ring again.
pub fn silence(bell: &OwnedFd) {
    use std::io::Read;
    let Ok(copy) = bell.try_clone() else { return };
    let _ = File::from(copy).read(&mut [0; 8]);
}
