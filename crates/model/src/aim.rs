// SPDX-License-Identifier: GPL-2.0-only
//! What a user wants of a scheduler, as `recommend` judges by it. It is stored with the session, so
//! that every form of the answer follows from the same rule.

use serde::{Deserialize, Serialize};

use crate::MeasureKey;
use crate::usual::is_default;

/// A deciding measure, and the measures that must not get worse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aim {
    pub name: String,
    pub decides: Watched,
    /// The measures that must not get worse.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keeps: Vec<Watched>,
}

/// A measure of a cell, and how much of it matters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watched {
    /// The cell's name, `wake_under_hogs hogs=3`.
    pub cell: String,
    pub measure: MeasureKey,
    /// Its meaning, in plain words.
    pub words: String,
    /// Smaller differences do not matter, in percent of the current scheduler.
    pub percent: f64,
    /// Smaller differences do not matter, in the measure's unit. If the current scheduler has 0,
    /// only this margin applies.
    #[serde(default, skip_serializing_if = "is_default")]
    pub least: f64,
}
