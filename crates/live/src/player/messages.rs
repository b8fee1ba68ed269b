// SPDX-License-Identifier: GPL-2.0-only
//! Messages through pipes.

use std::os::fd::{AsRawFd, RawFd};

use crate::player::attributes::errno;
use crate::player::run_state::Fault;
use crate::player::task::{BUFFER, Flow, Task};

/// Writes one message to each of `fan` members; see [`model::Step::Send`].
pub fn send(task: &mut Task, channel: usize, bytes: u64, fan: u32) -> Flow {
    let run = task.run;
    let pipes = run.script.channels[channel];
    let first = u64::from(task.number / fan) * u64::from(fan);
    for member in first..first + u64::from(fan) {
        let pipe = &run.pipes[pipes.pipe_of(member)];
        transfer(task, pipe.write.as_raw_fd(), bytes as usize, write)?;
    }
    Ok(())
}

/// Reads one message from the task's own member.
pub fn receive(task: &mut Task, channel: usize, bytes: u64) -> Flow {
    let run = task.run;
    let pipe = &run.pipes[run.script.channels[channel].pipe_of(u64::from(task.number))];
    transfer(task, pipe.read.as_raw_fd(), bytes as usize, read)
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

fn read(fd: RawFd, buffer: *mut u8, bytes: usize) -> isize {
    // SAFETY: the task's buffer holds at least `bytes`.
    unsafe { libc::read(fd, buffer.cast(), bytes) }
}

fn write(fd: RawFd, buffer: *mut u8, bytes: usize) -> isize {
    // SAFETY: as above; what the bytes are does not matter, and pipes carry any.
    unsafe { libc::write(fd, buffer.cast(), bytes) }
}
