// SPDX-License-Identifier: GPL-2.0-only
//! Why a workload could not be played, in words.

use std::io;

use crate::player::attributes::Errno;
use crate::player::run_state::{Fault, RunState};

/// Why a workload could not be played to its end.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// This machine or kernel cannot play it.
    #[error("{0}")]
    Unsupported(String),
    /// The workload is at fault.
    #[error("{0}")]
    Failed(String),
}

impl PlayError {
    pub fn system(what: &str) -> impl Fn(io::Error) -> PlayError {
        move |error| PlayError::Failed(format!("{what}: {error}"))
    }
}

/// A fault as text, with a remedy.
pub fn explain(run: &RunState, fault: Fault, group: usize, errno: Errno) -> PlayError {
    let group = run.script.groups.get(group).map_or("", |group| &group.name);
    let why = io::Error::from_raw_os_error(errno);
    let (what, help) = match fault {
        Fault::Policy if errno == libc::EBUSY => {
            ("its policy", "; SCHED_DEADLINE admits no more than the CPUs have time for")
        }
        Fault::Policy => ("its policy", "; real-time policies need root, deadline all CPUs"),
        Fault::Clamp => ("its clamps of the utilisation", ""),
        Fault::Nice => ("its nice value", "; raising it needs root"),
        Fault::Affinity => ("its CPUs", "; does this machine have them?"),
        Fault::Group if errno == libc::ENOENT => {
            ("its control group", "; is it there? Steps make and remove absent groups")
        }
        Fault::Group if errno == libc::EEXIST => ("its control group", "; it was made before"),
        Fault::Group if errno == libc::EBUSY => {
            ("its control group", "; tasks or groups are in the one that is to be removed")
        }
        Fault::Group if errno == libc::EINVAL || errno == libc::EPERM => {
            ("its control group", "; the scheduler may have refused the move")
        }
        Fault::Group => ("its control group", ""),
        Fault::Mutex => ("taking a mutex", "; does this kernel have CONFIG_FUTEX_PI?"),
        Fault::Message => ("sending or receiving a message", ""),
        Fault::File => ("its own file", "; set TMPDIR to a file system with O_TMPFILE and space"),
        Fault::Memory => ("writing to memory or /dev/null", "; is there so much memory?"),
        Fault::Thread => ("making a thread", "; threads and memory are limited"),
        Fault::Fork => ("forking", "; deadline tasks cannot, and processes are limited"),
        Fault::Exec => ("starting a program", ""),
    };
    let text = format!("a task of `{group}` could not go on: {what}: {why}{help}");
    match fault {
        Fault::Policy | Fault::Clamp | Fault::Nice | Fault::Affinity => {
            PlayError::Unsupported(text)
        }
        _ => PlayError::Failed(text),
    }
}
