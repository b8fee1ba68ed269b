// SPDX-License-Identifier: GPL-2.0-only
//! Limits of resources.

use std::io;
use std::time::Duration;

/// How much a process may use from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub memory: u64,
    /// CPU time since the process began; the process is killed at the end of it.
    pub cpu: Duration,
    /// The length of a file that it writes.
    pub file: u64,
    pub files: u64,
    /// Whether it may start processes.
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

pub(crate) fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
