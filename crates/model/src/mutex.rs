// SPDX-License-Identifier: GPL-2.0-only
//! Mutexes of a workload, and which priority their holders get.

use serde::{Deserialize, Serialize};

use crate::usual::is_default;

/// A mutex. One without a table has the protocol `none`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutex {
    /// Its name in `lock`, `unlock`, `wait` and `sync`.
    pub name: String,
    /// `none`, `inherit` or `ceiling`. `inherit` (priority inheritance): while tasks wait for the
    /// mutex, its holder has at least the priority of the first of them. Real-time tasks are first,
    /// in the order of their priorities, then the others, in order of arrival. A release gives it
    /// to the first. `ceiling` (priority protection): who takes it has at least the priority
    /// `ceiling` from then on, until it has released it.
    #[serde(default)]
    pub protocol: Protocol,
    /// For `ceiling`: the highest priority of the tasks that take it, 1 … 98. Only tasks of the
    /// classes `fifo` and `rr` take such mutexes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ceiling: u32,
}

/// Which priority the holder of a mutex gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// None.
    #[default]
    None,
    /// That of the tasks that wait for it.
    Inherit,
    /// The mutex's own.
    Ceiling,
}
