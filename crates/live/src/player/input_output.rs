// SPDX-License-Identifier: GPL-2.0-only
//! Messages through pipes, and a task's own file: nameless, in the temporary directory, gone with
//! the task.
//!
//! Every `write_file` begins at the file's start, like a program that saves the same document
//! again, so the file stays as small as its largest write.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use model::play::Script;
use model::play::script::Pipes;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use process::{Pipe, pipe, socket_pair};

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

/// Writes one message to each of `fan` members; see [`model::Step::Send`].
pub fn send(task: &mut Task, channel: usize, bytes: u64, fan: u32) -> Flow {
    let run = task.run;
    let pipes = run.script.channels[channel];
    let first = u64::from(task.number / fan) * u64::from(fan);
    for member in first..first + u64::from(fan) {
        let pipe = &run.pipes[pipes.pipe_of(member)];
        transfer(task, pipe.write.as_raw_fd(), bytes as usize, write_bytes)?;
    }
    Ok(())
}

/// Reads one message from the task's own member.
pub fn receive(task: &mut Task, channel: usize, bytes: u64) -> Flow {
    let run = task.run;
    let pipe = &run.pipes[run.script.channels[channel].pipe_of(u64::from(task.number))];
    transfer(task, pipe.read.as_raw_fd(), bytes as usize, read_bytes)
}

/// read(2) or write(2) of some bytes between a descriptor and the task's buffer.
type Call = fn(RawFd, *mut u8, usize) -> isize;

fn transfer(task: &mut Task, fd: RawFd, bytes: usize, call: Call) -> Flow {
    let mut left = bytes;
    while left > 0 {
        let moved = call(fd, task.buffer.as_mut_ptr().cast(), left.min(BUFFER));
        match moved {
            1.. => left -= moved as usize,
            // A signal: either the trial is over, or the call is repeated.
            _ if errno() == libc::EINTR => task.over()?,
            _ => return Err(task.fail(Fault::Message, errno())),
        }
    }
    Ok(())
}

fn read_bytes(fd: RawFd, buffer: *mut u8, bytes: usize) -> isize {
    // SAFETY: the task's buffer holds at least `bytes`.
    unsafe { libc::read(fd, buffer.cast(), bytes) }
}

fn write_bytes(fd: RawFd, buffer: *mut u8, bytes: usize) -> isize {
    // SAFETY: as above; what the bytes are does not matter, and pipes carry any.
    unsafe { libc::write(fd, buffer.cast(), bytes) }
}

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

/// The pipes and pairs of sockets of all channels, by number.
pub fn pipes(script: &Script) -> io::Result<Vec<Pipe>> {
    allow_files(2 * script.pipes() as u64 + 512);
    let make = |channel: &Pipes| if channel.sockets { socket_pair } else { pipe };
    let all = script
        .channels
        .iter()
        .flat_map(|channel| std::iter::repeat_n(make(channel), channel.count as usize));
    all.map(|make| make()).collect()
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
