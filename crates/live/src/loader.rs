// SPDX-License-Identifier: GPL-2.0-only
//! One loader for every `.bpf.c` scheduler.

use std::collections::BTreeMap;

use compile::Compiled;
use model::KnobValue;

/// A loaded and enabled scheduler; dropping it unloads it.
pub struct Loaded {
    ops_name: String,
    notes: Vec<String>,
}

/// Why a scheduler could not be loaded.
#[derive(Clone, Debug, Default, thiserror::Error)]
#[error("{message}")]
pub struct LoadError {
    /// What failed, and what to do about it.
    pub message: String,
    /// The verifier's last lines, when it was the verifier.
    pub verifier_tail: Vec<String>,
    /// What was noticed before.
    pub notes: Vec<String>,
    /// This kernel cannot run any sched_ext scheduler.
    pub unsupported: bool,
}

/// Why a scheduler left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExitInfo {
    /// The kernel's `enum scx_exit_kind`: 64 unloaded by the user, 1024 and more errors.
    pub kind: u64,
    /// The exit code, as far as there is one.
    pub code: i64,
    /// The kernel's reason, e.g. `runnable task stall`.
    pub reason: String,
    /// The details of the reason.
    pub message: String,
    /// The kernel's debug dump, empty when there is none.
    pub dump: String,
}

/// Loads.
pub fn load(
    _compiled: &Compiled,
    _knobs: &BTreeMap<String, KnobValue>,
) -> Result<Loaded, LoadError> {
    Err(LoadError { message: "not written yet".into(), ..LoadError::default() })
}

impl Loaded {
    /// The name of the ops.
    pub fn ops_name(&self) -> &str {
        &self.ops_name
    }
    /// What was noticed while loading.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
    /// Why the kernel threw it out; `None` while it runs.
    pub fn exit_info(&self) -> Option<ExitInfo> {
        None
    }
    /// Unloads.
    pub fn unload(self) -> Option<ExitInfo> {
        None
    }
}
