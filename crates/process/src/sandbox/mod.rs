// SPDX-License-Identifier: GPL-2.0-only
//! What the process of a simulated scheduler, and the compiler, cannot do.
//!
//! A scheduler's `.bpf.c` file comes from a stranger, and the simulator runs it as native code. Its
//! process enters a [`Cell`] before the code is mapped: a short list of system calls (`filter`), no
//! files (`files`), and limits of memory and time (`limits`). The compiler reads a stranger's text;
//! [`confine`] takes everything out of its reach that it does not need.
//!
//! There are no name spaces: a filter without `fork` and `socket` leaves nothing for them to do,
//! and they cost half a millisecond.
//!
//! What is not here: making processes (the rest of this crate), and what a refusal means for a
//! trial (`sim`).

mod files;
mod filter;
mod limits;
mod names;

use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::{fmt, io};

use landlock::RulesetCreated;
use seccompiler::BpfProgram;

pub use files::Reach;
pub use limits::Limits;
pub use names::name;

/// The parts of the sandbox that this kernel and this process's rights make possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    pub seccomp: bool,
    pub landlock: bool,
}

impl Parts {
    pub fn of_kernel() -> Parts {
        Parts { seccomp: filter::is_known(), landlock: files::is_known() }
    }

    /// What is missing, and what a scheduler's code could therefore do; `None`: nothing is.
    pub fn missing(&self) -> Option<&'static str> {
        match (self.seccomp, self.landlock) {
            (true, true) => None,
            (true, false) => Some(
                "this kernel has no Landlock: the compiler can be made to open files of yours, and \
                 only refuses what it made of them",
            ),
            (false, true) => Some(
                "this kernel has no seccomp filters: a simulated scheduler can make system calls, \
                 though it opens no files",
            ),
            (false, false) => Some(
                "this kernel has neither seccomp filters nor Landlock: a simulated scheduler can \
                 do what you can; run only schedulers that you trust",
            ),
        }
    }
}

/// As records have it: `seccomp, landlock, rlimits`.
impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [(self.seccomp, "seccomp"), (self.landlock, "landlock"), (true, "rlimits")];
        let there: Vec<&str> = parts.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
        f.write_str(&there.join(", "))
    }
}

/// A sandbox for processes that compute and answer. It is made once; each forked process enters it.
pub struct Cell {
    filter: Option<BpfProgram>,
    last_filter: Option<BpfProgram>,
    rules: Option<RulesetCreated>,
}

impl Cell {
    /// Prepares a sandbox with the parts that there are. Its processes may write to these
    /// descriptors and to no others.
    pub fn new(parts: Parts, writable: &[RawFd]) -> io::Result<Cell> {
        let filter = parts.seccomp.then(|| filter::program(writable)).transpose();
        let last_filter = parts.seccomp.then(filter::without_new_code).transpose();
        let rules = parts.landlock.then(|| files::rules(&Reach::default())).transpose();
        Ok(Cell {
            filter: filter.map_err(io::Error::other)?,
            last_filter: last_filter.map_err(io::Error::other)?,
            rules: rules.map_err(io::Error::other)?,
        })
    }

    /// Forbids this process to open files. Descriptors that are open stay usable.
    pub fn close_files(&self) -> io::Result<()> {
        let Some(rules) = &self.rules else { return Ok(()) };
        rules.try_clone()?.restrict_self().map(drop).map_err(io::Error::other)
    }

    /// Limits this process's resources, and gives up its rights and all system calls that are not
    /// on the list. Nothing but code can be prepared after it.
    pub fn lock(&self, limits: &Limits) -> io::Result<()> {
        limits.set()?;
        drop_rights()?;
        let Some(filter) = &self.filter else { return Ok(()) };
        seccompiler::apply_filter(filter).map_err(io::Error::other)
    }

    /// Forbids this process to make code: the last step, in a process that is locked.
    pub fn end_of_code(&self) -> io::Result<()> {
        let Some(filter) = &self.last_filter else { return Ok(()) };
        seccompiler::apply_filter(filter).map_err(io::Error::other)
    }
}

/// No new rights, no capabilities, and nobody but root may look into this process.
fn drop_rights() -> io::Result<()> {
    // SAFETY: plain system calls; the structures of `capset` live during the call, and three times
    // zero in two sets means no capability.
    unsafe {
        limits::check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        limits::check(libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0))?;
        const VERSION_3: u32 = 0x2008_0522;
        let (header, none) = ([VERSION_3, 0], [0_u32; 6]);
        limits::check(libc::syscall(libc::SYS_capset, &header, &none) as libc::c_int)
    }
}

/// Puts a program that will be started into a session of its own, from which it reaches these files
/// only, within these limits. It is killed when the thread that starts it ends.
pub fn confine(command: &mut Command, reach: &Reach, limits: Limits) -> io::Result<()> {
    let known = Parts::of_kernel().landlock;
    let mut rules = known.then(|| files::rules(reach)).transpose().map_err(io::Error::other)?;
    let parent = std::process::id();
    let enter = move || {
        // SAFETY: plain system calls.
        unsafe {
            libc::setsid();
            limits::check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            limits::check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
            if libc::getppid() as u32 != parent {
                libc::_exit(1);
            }
        }
        limits.set()?;
        match rules.take() {
            Some(rules) => rules.restrict_self().map(drop).map_err(io::Error::other),
            None => Ok(()),
        }
    };
    // SAFETY: the closure makes system calls; the little memory that it takes comes from an
    // allocator that the C library keeps usable in a forked process.
    unsafe { command.pre_exec(enter) };
    Ok(())
}
