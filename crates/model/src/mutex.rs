// SPDX-License-Identifier: GPL-2.0-only
//! Mutexes of a workload, and what their holders inherit.

use serde::{Deserialize, Serialize};

/// A mutex. One without a table has the protocol `none`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutex {
    /// Its name in `lock`, `unlock`, `wait` and `sync`.
    pub name: String,
    /// `none`, or `inherit` (priority inheritance): while tasks wait for the mutex, its holder has
    /// at least the priority of the first of them. Real-time tasks are first, in the order of their
    /// priorities, then the others, in order of arrival. A release gives it to the first.
    #[serde(default)]
    pub protocol: Protocol,
}

/// What the holder of a mutex gets from those that wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Nothing.
    #[default]
    None,
    /// Their priority.
    Inherit,
}
