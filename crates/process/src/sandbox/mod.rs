// SPDX-License-Identifier: GPL-2.0-only
//! What the process of a simulated scheduler, and the compiler, cannot do.
//!
//! A scheduler's `.bpf.c` file comes from a stranger, and the simulator runs it as native code. Its
//! process enters a [`Cell`] before the code is mapped: a short list of system calls (`filter`), no
//! files (Landlock), and limits of memory and time. The compiler reads a stranger's text;
//! [`confine`] takes everything out of its reach that it does not need.
//!
//! There are no name spaces: a filter without `fork` and `socket` leaves nothing for them to do,
//! and they cost half a millisecond.
//!
//! What is not here: making processes (the rest of this crate), and what a refusal means for a
//! trial (`sim`).

mod filter;

use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use std::{fmt, io};

use landlock::{
    ABI, Access, AccessFs, AccessNet, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, Scope,
};
use seccompiler::BpfProgram;
use syscalls::Sysno;

/// The parts of the sandbox that this kernel and this process's rights make possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    pub seccomp: bool,
    pub landlock: bool,
}

impl Parts {
    pub fn of_kernel() -> Parts {
        Parts { seccomp: filter::is_known(), landlock: is_known() }
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
        let rules = parts.landlock.then(|| rules(&Reach::default())).transpose();
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
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        check(libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0))?;
        const VERSION_3: u32 = 0x2008_0522;
        let (header, none) = ([VERSION_3, 0], [0_u32; 6]);
        check(libc::syscall(libc::SYS_capset, &header, &none) as libc::c_int)
    }
}

/// Puts a program that will be started into a session of its own, from which it reaches these files
/// only, within these limits. It is killed when the thread that starts it ends.
pub fn confine(command: &mut Command, reach: &Reach, limits: Limits) -> io::Result<()> {
    let known = Parts::of_kernel().landlock;
    let mut rules = known.then(|| rules(reach)).transpose().map_err(io::Error::other)?;
    let parent = std::process::id();
    let enter = move || {
        // SAFETY: plain system calls.
        unsafe {
            libc::setsid();
            check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
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

/// The newest rules that are asked for; an older kernel enforces those that it knows.
const NEWEST: ABI = ABI::V6;

/// Folders and files that may be opened; whatever lies below a folder belongs to it.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    pub read: Vec<PathBuf>,
    /// To read, write, make and remove.
    pub write: Vec<PathBuf>,
}

/// Whether the kernel has Landlock and lets this process use it.
pub fn is_known() -> bool {
    const VERSION: libc::c_int = 1;
    // SAFETY: asks for a number; no memory is given.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0_usize,
            VERSION,
        )
    };
    version > 0
}

/// Rules that forbid every file except those within reach, all of TCP, and signals and sockets to
/// processes outside. What does not exist is not within reach.
pub fn rules(reach: &Reach) -> Result<RulesetCreated, RulesetError> {
    let all = AccessFs::from_all(NEWEST);
    let mut rules = Ruleset::default()
        .handle_access(all)?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    let reading = reach.read.iter().map(|path| (path, AccessFs::from_read(NEWEST)));
    for (path, access) in reading.chain(reach.write.iter().map(|path| (path, all))) {
        let Ok(open) = PathFd::new(path) else { continue };
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
        rules = rules.add_rule(PathBeneath::new(open, access))?;
    }
    Ok(rules)
}

/// How much a process may use from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub memory: u64,
    /// CPU time since the process began; the process is killed at the end of it.
    pub cpu: Duration,
    /// The length of a file that it writes.
    pub file: u64,
    pub files: u64,
    pub processes: bool,
}

impl Limits {
    /// The same, with as much more memory as this process has mapped: a forked process begins with
    /// its parent's.
    pub fn besides_mapped(self) -> Limits {
        Limits { memory: self.memory.saturating_add(mapped()), ..self }
    }

    /// Sets the limits of this process. They cannot be raised again, except by root.
    pub fn set(&self) -> io::Result<()> {
        let seconds = self.cpu.as_secs() + u64::from(self.cpu.subsec_nanos() > 0);
        let none = (!self.processes).then_some((libc::RLIMIT_NPROC, 0));
        let limits = [
            (libc::RLIMIT_AS, self.memory),
            (libc::RLIMIT_CPU, seconds),
            (libc::RLIMIT_FSIZE, self.file),
            (libc::RLIMIT_CORE, 0),
            (libc::RLIMIT_MEMLOCK, 0),
            (libc::RLIMIT_MSGQUEUE, 0),
            (libc::RLIMIT_NOFILE, self.files),
        ];
        limits.into_iter().chain(none).try_for_each(|(which, most)| lower(which, most))
    }
}

/// Sets a limit, unless a lower one holds already.
fn lower(which: libc::__rlimit_resource_t, most: u64) -> io::Result<()> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is a local variable.
    check(unsafe { libc::getrlimit(which, &mut now) })?;
    let new = libc::rlimit { rlim_cur: now.rlim_cur.min(most), rlim_max: now.rlim_max.min(most) };
    // SAFETY: as above.
    check(unsafe { libc::setrlimit(which, &new) })
}

/// Bytes of address space that this process has.
fn mapped() -> u64 {
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    // Without `/proc` nobody knows; parents have less than this.
    pages.map_or(16 << 30, |pages| pages * page)
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The kernel's name of a system call: `openat`; `system call 9999` for one that is unknown here.
pub fn name(number: i64) -> String {
    let known = usize::try_from(number).ok().and_then(Sysno::new);
    known.map_or_else(|| format!("system call {number}"), |call| call.name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_its_name() {
        assert_eq!(name(libc::SYS_openat), "openat");
        assert_eq!(name(libc::SYS_io_uring_setup), "io_uring_setup");
        assert_eq!(name(9_999), "system call 9999");
    }
}
