// SPDX-License-Identifier: GPL-2.0-only
//! A program that reads a stranger's text.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::sandbox::{Limits, Parts, Reach, files, limits};

/// Puts a program that will be started into a session of its own, from which it reaches these files
/// only, within these limits. It is killed when the thread that starts it ends.
///
/// # Errors
/// The kernel refuses the rules.
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
