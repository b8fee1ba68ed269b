// SPDX-License-Identifier: GPL-2.0-only
//! Interrupts as a part of a workload, as those of a network card or a disk.

use serde::{Deserialize, Serialize};

/// Interrupts that come at a fixed rate (`[[interrupt]]`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterruptLoad {
    /// The time from one interrupt of a CPU to its next, 10 µs at least.
    pub every_us: u64,
    /// How long the CPU works for each one, at most nine tenths of `every_us`.
    pub length_us: u64,
    /// The CPUs that are interrupted; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
}
