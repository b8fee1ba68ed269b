// SPDX-License-Identifier: GPL-2.0-only
//! On what a trial runs.

use serde::{Deserialize, Serialize};

/// A machine as its TOML file describes it. `live` runs on the machine that it is on and records
/// it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The file's stem, unique.
    pub name: String,
    /// One sentence for `fairground list machines`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Logical CPUs, at least 1.
    pub cpus: u32,
    /// Memory in MiB; the VM's `-m`.
    #[serde(default = "default_memory_mib")]
    pub memory_mib: u32,
    /// Which clock the VM counts with.
    #[serde(default)]
    pub clock: Clock,
}

/// The VM's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Instruction counting: one instruction is one nanosecond, bit-identical on every host.
    Virtual,
    /// The host's clock.
    #[default]
    Real,
}

fn default_memory_mib() -> u32 {
    1024
}
