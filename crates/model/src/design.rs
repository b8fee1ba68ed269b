// SPDX-License-Identifier: GPL-2.0-only
//! How an experiment was planned: what was declared and known before it started.

use serde::{Deserialize, Serialize};

use crate::Backend;

/// The declarations that a reader must know to believe the numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// The user asked to run the plan although it may be too short to prove anything.
    #[serde(default, skip_serializing_if = "is_false")]
    pub exploratory: bool,
    /// Blocks were added until no interval of a shift was wider than ± this many percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_percent: Option<f64>,
    /// The number of blocks was chosen, before any result was looked at, to take this many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<u64>,
    /// The noise between identical contestants before the experiment (A/A trials).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scatter: Vec<Scatter>,
}

impl Design {
    /// Whether nothing was declared: a fixed number of blocks.
    pub fn is_plain(&self) -> bool {
        *self == Design::default()
    }
}

/// The scatter of one measure in one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scatter {
    pub backend: Backend,
    pub machine: String,
    /// The cell, as [`crate::Workload::cell`].
    pub cell: String,
    /// The measure, as reports name it: `completion_ns all`.
    pub measure: String,
    /// The standard deviation of natural logarithms between independent trials; 0.01 is about 1 %.
    pub deviation: f64,
    #[serde(alias = "runs")]
    pub trials: usize,
}

fn is_false(value: &bool) -> bool {
    !value
}
