// SPDX-License-Identifier: GPL-2.0-only
//! The sandbox of a trial's process, entered before the scheduler's object is mapped.

use std::ffi::{CStr, c_char};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
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
/// The kernel ends a process that has had twice its time, and this, in case its supervisor is gone.
/// On a busy host the supervisor may miss a part of the time that a process has had.
const OVERTIME: Duration = Duration::from_secs(5);
/// What a trace may take besides.
const PER_TRACE: u64 = 3 * GIB;

const MIB: usize = 1 << 20;
/// What an answer has besides its groups and its trace: 10,000 printed lines, and a dump.
const ANSWER_BASE: usize = 12 * MIB;
/// The numbers and distributions of a group of tasks; a distribution of three digits has some
/// thousand buckets at most.
const ANSWER_PER_GROUP: usize = MIB / 2;
const ANSWER_MOST: usize = 64 * MIB;
/// The events of a CPU in a microsecond, which no trial reaches.
const TRACE_PER_CPU_US: u64 = 200;
const TRACE_MOST: usize = 512 * MIB;

/// The parts of the sandbox that this host has.
pub fn parts() -> Parts {
    static PARTS: OnceLock<Parts> = OnceLock::new();
    *PARTS.get_or_init(Parts::of_kernel)
}

/// The sandbox of all trials, made once.
pub fn shared() -> Result<&'static Cell, String> {
    static SHARED: OnceLock<Result<Cell, String>> = OnceLock::new();
    time_pages();
    let make = || Cell::new(parts(), &[NOWHERE[2], ANSWER, FAULT]).map_err(|why| why.to_string());
    SHARED.get_or_init(make).as_ref().map_err(Clone::clone)
}

static LOCKED: AtomicBool = AtomicBool::new(false);

/// Notes that this process is in the sandbox.
pub fn lock_is_on() {
    LOCKED.store(true, Ordering::Relaxed);
}

/// Forbids this process to make more code, if it is in the sandbox: the scheduler's is there.
pub fn end_of_code() -> Result<(), String> {
    if !LOCKED.load(Ordering::Relaxed) {
        return Ok(());
    }
    shared()?.end_of_code().map_err(|why| format!("its code cannot be closed: {why}"))
}

pub fn limits(trial: &Trial, timeout: Duration) -> Limits {
    let tasks: u64 = trial.workload.tasks.iter().map(|group| u64::from(group.count)).sum();
    let traced = if trial.trace { PER_TRACE } else { 0 };
    Limits {
        memory: GIB + traced + tasks.saturating_mul(PER_TASK),
        cpu: 2 * timeout + OVERTIME,
        file: 0,
        files: FAULT as u64 + 1,
        processes: false,
    }
}

/// The most bytes of an answer: more than this trial can measure.
pub fn longest_answer(trial: &Trial) -> usize {
    let workload = &trial.workload;
    let groups = workload.tasks.len() + workload.totals.len();
    let measured = ANSWER_BASE.saturating_add(groups.saturating_mul(ANSWER_PER_GROUP));
    let measured = measured.min(ANSWER_MOST);
    if !trial.trace {
        return measured;
    }
    let cpu_us = workload.duration_us.map(|us| us.saturating_mul(u64::from(trial.machine.cpus)));
    let events = cpu_us.map_or(u64::MAX, |cpu_us| cpu_us.saturating_mul(TRACE_PER_CPU_US));
    measured + usize::try_from(events).unwrap_or(TRACE_MOST).clamp(16 * MIB, TRACE_MOST)
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

/// Takes away the clocks that need no system call: the instruction that reads the processor's one
/// becomes a fault, and the kernel's pages with the time are unmapped. What a scheduler does must
/// not depend on the host. Where the kernel refuses, they stay.
pub fn hide_clock() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: plain system calls; nothing but the kernel's code for the time reads these pages, and
    // the simulator never asks for the time.
    unsafe {
        libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV);
        for (from, to) in time_pages() {
            libc::munmap(*from as *mut libc::c_void, to - from);
        }
    }
}

/// The pages in which each process finds the kernel's time. They are at the same place in all
/// processes that are forked from this one.
fn time_pages() -> &'static [(usize, usize)] {
    static PAGES: OnceLock<Vec<(usize, usize)>> = OnceLock::new();
    PAGES.get_or_init(|| {
        let page = |line: &str| {
            let (range, rest) = line.split_once(' ')?;
            let (from, to) = range.split_once('-')?;
            let number = |text| usize::from_str_radix(text, 16).ok();
            rest.contains(" [vvar").then_some((number(from)?, number(to)?))
        };
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        maps.lines().filter_map(page).collect()
    })
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

#[cfg(test)]
mod tests {
    use model::TaskGroup;

    use super::*;

    #[test]
    fn the_longest_answer_follows_from_the_trial() {
        let mut trial = Trial::default();
        assert_eq!(longest_answer(&trial), 12 * MIB);
        trial.workload.tasks = vec![TaskGroup::once("a", Vec::new()); 10];
        assert_eq!(longest_answer(&trial), 17 * MIB);
        trial.workload.tasks = vec![TaskGroup::once("a", Vec::new()); 100_000];
        assert_eq!(longest_answer(&trial), 64 * MIB);
        (trial.trace, trial.workload.duration_us, trial.machine.cpus) = (true, Some(1_000_000), 2);
        assert_eq!(longest_answer(&trial), 64 * MIB + 400_000_000);
        trial.workload.duration_us = None;
        assert_eq!(longest_answer(&trial), 64 * MIB + TRACE_MOST);
    }
}
