// SPDX-License-Identifier: GPL-2.0-only
//! Files → [`model::Experiment`]: definitions are read, checked and resolved here.
//!
//! ```text
//! experiments/x.toml ─► experiment ─► contestant, workload (TOML or rt-app JSON), machine ─► check
//!                                                             capability ─► plan ─► trials
//! ```
//!
//! Read in this order: [`assets`] finds files by name; [`experiment`], [`contestant`],
//! [`workload`], [`source`] (text, positions and expressions), [`check`] (what a workload must
//! obey), [`rtapp`], [`machine`], [`care`]; [`capability`] says what each backend can do, [`plan`]
//! lays out the trials. [`files`] is the one reader of files. [`mentions`] finds names of what
//! was deleted.
//!
//! Every error is a [`SpecError`]: file, line, column, what is wrong, and what to write instead.
//! What is not here: compiling schedulers (the caller passes a [`Resolve`] function), backends.

pub mod assets;
pub mod capability;
pub mod care;
pub mod cells;
pub mod check;
pub mod contestant;
pub mod experiment;
pub mod expression;
pub mod files;
pub mod machine;
pub mod mentions;
pub mod near;
pub mod plan;
pub mod policy;
pub mod relations;
pub mod rtapp;
pub mod source;
pub mod tapes;
#[cfg(test)]
mod tests;
pub mod workload;

use std::fmt;
use std::path::Path;

use model::Backend;

pub use experiment::{adhoc, experiment};
pub use near::near;

/// A mistake in a file or an option. The program ends with exit code 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// The file, as the user named it, or the option of the command line.
    pub file: String,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column in characters, from 1.
    pub column: Option<usize>,
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
}

impl SpecError {
    /// An error without a position.
    pub fn new(file: impl Into<String>, message: impl Into<String>) -> SpecError {
        let (file, message) = (file.into(), message.into());
        SpecError { file, line: None, column: None, message, hint: None }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> SpecError {
        self.hint = Some(hint.into());
        self
    }

    pub fn maybe_hint(mut self, hint: Option<String>) -> SpecError {
        self.hint = hint.or(self.hint);
        self
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        if let Some(column) = self.column {
            write!(f, "{column}:")?;
        }
        write!(f, " {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SpecError {}

/// Finds a scheduler's source: its name and the SHA-256 of its text. The arguments are what the
/// user wrote (a built-in name or a path of a `.bpf.c` file) and the folder that paths are relative
/// to.
pub type Resolve<'a> = dyn Fn(&str, &Path) -> Result<(String, String), String> + 'a;

/// What the meaning of the files depends on besides their text.
pub struct Host<'a> {
    /// Logical CPUs of this machine: what `cpus = 0` in a machine file stands for.
    pub cpus: u32,
    pub resolve: &'a Resolve<'a>,
}

/// What the command line changes in an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--on`; empty: the backends of the file.
    pub on: Vec<Backend>,
    /// `--scheduler`, each `NAME [knob=value …]`, `FILE.bpf.c [knob=value …]`, `program:COMMAND
    /// [ARG …]`,
    /// `kernel:6.12` or `policy:rr:50`; `@KERNEL` at the end chooses the kernel. Added to the
    /// experiment's contestants; one of the same name is replaced.
    pub schedulers: Vec<String>,
    /// `--workload`, each `NAME [param=value …]` or `FILE`; they take the place of the
    /// experiment's.
    pub workloads: Vec<String>,
    /// `--machine`; they take the place of the experiment's.
    pub machines: Vec<String>,
    /// `--baseline`.
    pub baseline: Option<String>,
    /// `--blocks`.
    pub blocks: Option<u32>,
    /// `--trials-per-boot`.
    pub trials_per_boot: Option<u32>,
    /// `--timeout`, seconds.
    pub timeout_s: Option<u64>,
    /// `--trace`: cells to trace; `all` traces every cell.
    pub trace: Vec<String>,
    /// `--no-probes`.
    pub no_probes: bool,
    /// `--exploratory`: the plan may be too short to prove anything.
    pub exploratory: bool,
}
