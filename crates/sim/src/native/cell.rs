// SPDX-License-Identifier: GPL-2.0-only
//! The sandbox of a trial's process, entered before the scheduler's object is mapped.

use std::ffi::{CStr, c_char};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::OnceLock;
use std::time::Duration;

use model::Trial;
use process::sandbox::{Cell, Limits, Parts};

/// Where the answer goes.
pub const ANSWER: RawFd = 3;
/// Where faults are reported.
pub const FAULT: RawFd = 4;
/// Leads nowhere; messages of panics go there, because the parent has their text anyway.
const NOWHERE: [RawFd; 3] = [0, 1, 2];

const GIB: u64 = 1 << 30;
/// What a simulated task needs at most, with its part of the answer.
const PER_TASK: u64 = 64 << 10;
/// The CPU time after which the kernel ends a process that its supervisor should have ended.
const OVERTIME: Duration = Duration::from_secs(5);
/// What a trace may take besides.
const PER_TRACE: u64 = 3 * GIB;

/// The parts of the sandbox that this host has.
pub fn parts() -> Parts {
    static PARTS: OnceLock<Parts> = OnceLock::new();
    *PARTS.get_or_init(Parts::of_kernel)
}

/// The sandbox of all trials, made once.
pub fn shared() -> Result<&'static Cell, String> {
    static SHARED: OnceLock<Result<Cell, String>> = OnceLock::new();
    let make = || Cell::new(parts(), &[NOWHERE[2], ANSWER, FAULT]).map_err(|why| why.to_string());
    SHARED.get_or_init(make).as_ref().map_err(Clone::clone)
}

pub fn limits(trial: &Trial, timeout: Duration) -> Limits {
    let tasks: u64 = trial.workload.tasks.iter().map(|group| u64::from(group.count)).sum();
    let traced = if trial.trace { PER_TRACE } else { 0 };
    Limits {
        memory: GIB + traced + tasks.saturating_mul(PER_TASK),
        cpu: timeout + OVERTIME,
        file: 0,
        files: FAULT as u64 + 1,
        processes: false,
    }
}

/// Leaves this process with two descriptors of use, in a session of its own, without files and
/// without the user's environment, whose text a scheduler could print into its record.
pub fn leave_the_world(cell: Option<&Cell>, answer: OwnedFd, fault: OwnedFd) -> io::Result<()> {
    // SAFETY: a plain system call; it fails only if this is done already.
    unsafe { libc::setsid() };
    let nowhere = File::options().read(true).write(true).open("/dev/null").ok();
    if let Some(cell) = cell {
        cell.close_files()?;
        forget_environment();
    }
    let (answer, fault) = (above(answer)?, above(fault)?);
    for fd in NOWHERE {
        move_to(nowhere.as_ref().map_or(-1, AsRawFd::as_raw_fd), fd);
    }
    move_to(answer, ANSWER);
    move_to(fault, FAULT);
    nowhere.map(IntoRawFd::into_raw_fd);
    // SAFETY: nothing in this process uses the other descriptors. A kernel without the call leaves
    // them open, where the filter of system calls makes them useless.
    unsafe { libc::syscall(libc::SYS_close_range, FAULT + 1, u32::MAX, 0) };
    Ok(())
}

/// A copy of a descriptor, above those that get fixed numbers. The original's number may soon be
/// one of these, so nobody owns it any more.
fn above(fd: OwnedFd) -> io::Result<RawFd> {
    // SAFETY: the descriptor is open.
    match unsafe { libc::fcntl(fd.into_raw_fd(), libc::F_DUPFD, FAULT + 1) } {
        -1 => Err(io::Error::last_os_error()),
        copy => Ok(copy),
    }
}

fn move_to(from: RawFd, to: RawFd) {
    // SAFETY: this process is a copy of one thread that will never return to its caller, so nobody
    // misses what was open at this number.
    if unsafe { libc::dup2(from, to) } < 0 {
        // SAFETY: as above.
        unsafe { libc::close(to) };
    }
}

/// Overwrites the values of all environment variables in this process's memory.
fn forget_environment() {
    unsafe extern "C" {
        static mut environ: *mut *mut c_char;
    }
    // SAFETY: the process has one thread; the C library ends the list with a null pointer, and each
    // of its texts with a zero.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            let length = CStr::from_ptr(*entry).to_bytes().len();
            std::ptr::write_bytes(*entry, 0, length);
            entry = entry.add(1);
        }
    }
}
