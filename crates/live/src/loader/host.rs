// SPDX-License-Identifier: GPL-2.0-only
//! Requirements of loading on the machine.

use std::fmt;
use std::path::Path;

use super::{LoadError, unsupported};
use crate::active::sched_ext;
use crate::facts::is_root;

/// What keeps this process from loading a sched_ext scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The kernel is too old, or was built without sched_ext.
    NoSchedExt,
    /// The process does not run as root.
    NotRoot,
    /// The kernel does not describe its structures.
    NoBtf,
    /// Another scheduler is there.
    Taken {
        /// What the kernel says about it: `enabled`.
        state: String,
        ops: String,
    },
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Obstacle::NoSchedExt => {
                "this kernel has no sched_ext (CONFIG_SCHED_CLASS_EXT, Linux 6.12)"
            }
            Obstacle::NotRoot => "loading a scheduler needs root",
            Obstacle::NoBtf => "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)",
            Obstacle::Taken { state, ops } => {
                return write!(f, "another scheduler is {state} ({ops}): stop it first");
            }
        })
    }
}

/// Everything that keeps this process from loading a sched_ext scheduler now; empty if nothing
/// does.
pub fn obstacles() -> Vec<Obstacle> {
    let state = sched_ext("state");
    let has_btf = Path::new("/sys/kernel/btf/vmlinux").exists();
    let taken = state
        .clone()
        .filter(|state| state != "disabled")
        .map(|state| Obstacle::Taken { state, ops: sched_ext("root/ops").unwrap_or_default() });
    let all = [
        state.is_none().then_some(Obstacle::NoSchedExt),
        (!is_root()).then_some(Obstacle::NotRoot),
        (!has_btf).then_some(Obstacle::NoBtf),
        taken,
    ];
    all.into_iter().flatten().collect()
}

/// Whether any sched_ext scheduler can be loaded, and none is.
pub fn check() -> Result<(), LoadError> {
    match obstacles().first() {
        None => Ok(()),
        Some(taken @ Obstacle::Taken { .. }) => Err(taken.to_string().into()),
        Some(obstacle) => Err(unsupported(obstacle.to_string())),
    }
}
