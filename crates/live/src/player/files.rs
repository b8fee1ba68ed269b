// SPDX-License-Identifier: GPL-2.0-only
//! A task's own file: nameless, in the temporary directory, gone with the task.
//!
//! Every `write_file` begins at the file's start, like a program that saves the same document
//! again, so the file stays as small as its largest write.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::player::attributes::{Errno, errno};
use crate::player::run_state::{Fault, RunState};
use crate::player::task::{BUFFER, End, Flow, Task};

/// The content of a new file, so that reads find data.
const FIRST_BYTES: i64 = 64 * 1024;

/// Opens a new file without a name. Async-signal-safe.
pub fn open(run: &RunState) -> Result<OwnedFd, Errno> {
    let flags = libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: a valid C string.
    let fd = unsafe { libc::open(run.directory.as_ptr(), flags, 0o600) };
    if fd < 0 {
        return Err(errno());
    }
    // SAFETY: the kernel has just given it to us.
    let file = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: no pointers.
    if unsafe { libc::ftruncate(fd, FIRST_BYTES) } != 0 {
        return Err(errno());
    }
    Ok(file)
}

/// Writes `bytes` bytes from the file's start.
pub fn write(task: &mut Task, bytes: u64, sync: bool) -> Flow {
    let fd = own(task)?;
    let mut done = 0;
    while done < bytes {
        task.over()?;
        let some = (bytes - done).min(BUFFER as u64) as usize;
        // SAFETY: the static holds `some` bytes.
        let moved = unsafe { libc::pwrite(fd, ZEROS.as_ptr().cast(), some, done as i64) };
        done += checked(task, moved)?;
    }
    // SAFETY: no pointers.
    if sync && unsafe { libc::fdatasync(fd) } != 0 && errno() != libc::EINTR {
        return Err(task.fail(Fault::File, errno()));
    }
    Ok(())
}

/// Reads `bytes` bytes from the file's start, and from its start again after its end.
pub fn read(task: &mut Task, bytes: u64) -> Flow {
    let fd = own(task)?;
    let (mut done, mut position) = (0, 0);
    while done < bytes {
        task.over()?;
        let some = (bytes - done).min(BUFFER as u64) as usize;
        let buffer = task.buffer.as_mut_ptr().cast();
        // SAFETY: the task's buffer holds `some` bytes.
        let moved = checked(task, unsafe { libc::pread(fd, buffer, some, position) })?;
        position = if moved == 0 { 0 } else { position + moved as i64 };
        done += moved;
    }
    Ok(())
}

static ZEROS: [u8; BUFFER] = [0; BUFFER];

fn own(task: &mut Task) -> Result<i32, End> {
    if task.file.is_none() {
        match open(task.run) {
            Ok(file) => task.file = Some(file),
            Err(errno) => return Err(task.fail(Fault::File, errno)),
        }
    }
    Ok(task.file.as_ref().map_or(-1, |file| file.as_raw_fd()))
}

fn checked(task: &Task, moved: isize) -> Result<u64, End> {
    match moved {
        0.. => Ok(moved as u64),
        _ if errno() == libc::EINTR => Ok(0),
        _ => Err(task.fail(Fault::File, errno())),
    }
}
