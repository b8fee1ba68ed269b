// SPDX-License-Identifier: GPL-2.0-only
//! Why a workload cannot be played.

use std::fmt;

/// Why a workload cannot be played, with the place of the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The value's place, e.g. `task[0].steps[2].loop.steps[0]`; empty: the whole workload.
    pub path: String,
    pub message: String,
    /// What to write instead.
    pub hint: String,
}

impl Refusal {
    /// A refusal whose place the callers add with [`Refusal::inside`].
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Refusal {
        Refusal { path: String::new(), message: message.into(), hint: hint.into() }
    }

    /// Prefixes the place with that of the value that contains it.
    pub fn inside(mut self, outer: impl fmt::Display) -> Refusal {
        self.path = match self.path.is_empty() {
            true => outer.to_string(),
            false => format!("{outer}.{}", self.path),
        };
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        if !self.path.is_empty() {
            write!(out, "{}: ", self.path)?;
        }
        write!(out, "{}; {}", self.message, self.hint)
    }
}

impl std::error::Error for Refusal {}
