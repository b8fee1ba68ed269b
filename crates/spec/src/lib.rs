// SPDX-License-Identifier: GPL-2.0-only
//! Files → [`model::Experiment`]: definitions are read, checked and resolved here.
//!
//! ```text
//! experiments/x.toml ─► experiment ─► contestant, workload (TOML or rt-app JSON), machine ─► check
//!                                                             capability ─► plan ─► trials
//! ```
//!
//! Read in this order: [`assets`] finds files by name; [`experiment`], [`contestant`], [`knobs`],
//! [`settings`] (side files), [`today`], [`contestants`] (their names), [`live`] (what this kernel
//! runs), [`workload`], [`source`] (text, positions and expressions), [`check`] (what a workload
//! must obey), [`rtapp`], [`machine`],
//! [`care`]; [`capability`] says what each backend can do, [`plan`] lays out the trials. [`files`]
//! is the one reader of files. [`mentions`] finds names of what was deleted.
//!
//! Every error is a [`SpecError`]: file, line, column, what is wrong, and what to write instead.
//! What is not here: compiling schedulers (the caller passes a [`Resolve`] function), backends.

pub mod assets;
pub mod capability;
pub mod care;
pub mod cells;
pub mod check;
pub mod commands;
pub mod contestant;
pub mod contestants;
pub mod experiment;
pub mod files;
pub mod knobs;
pub mod machine;
pub mod mentions;
pub mod plan;
pub mod policy;
pub mod rtapp;
pub mod settings;
pub mod source;
#[cfg(test)]
mod tests;
pub mod today;
pub mod workload;

use std::fmt;
use std::path::Path;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use model::{Backend, Knob, Machine};

pub use experiment::{adhoc, experiment};
pub use model::expression;
pub use source::near;

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

/// Finds the knobs of a scheduler's file by the SHA-256 that [`Resolve`] gave.
pub type Knobs<'a> = dyn Fn(&str) -> Result<Vec<Knob>, String> + 'a;

/// What the meaning of the files depends on besides their text.
pub struct Host<'a> {
    /// Logical CPUs of this machine, which the machine `here` has.
    pub cpus: u32,
    pub resolve: &'a Resolve<'a>,
    pub knobs: &'a Knobs<'a>,
    /// The programs of schedulers that were built here, by name and version; without a version, the
    /// one that Fairground knows, else the newest.
    pub kept: &'a dyn Fn(&str, Option<&str>) -> Option<today::Kept>,
    pub is_installed: &'a dyn Fn(&str) -> bool,
    /// The running kernel, asked if something is to run on it; `None` if nothing is to run.
    pub running: Option<&'a dyn Fn() -> contestants::RunningKernel>,
}

/// What the command line changes in an experiment.
#[derive(clap::Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Run only on this backend: sim, vm or live; or on several: sim,vm
    #[arg(long, value_parser = backend_parser(), hide_possible_values = true)]
    #[arg(value_name = "BACKEND", value_delimiter = ',')]
    pub on: Vec<Backend>,
    /// Add a scheduler: NAME, FILE.bpf.c, 'NAME knob=value', scx_lavd@1.1.4,
    /// 'program:scx_lavd ARG', kernel:6.12, policy:rr:50
    #[arg(long = "scheduler", value_name = "SCHEDULER")]
    pub schedulers: Vec<String>,
    /// Leave out the schedulers that the experiment's file names
    #[arg(skip)]
    pub options_only: bool,
    /// Use this workload instead of the experiment's: NAME, FILE, 'NAME parameter=value'
    #[arg(long = "workload", value_name = "WORKLOAD")]
    pub workloads: Vec<String>,
    /// Measure how long this command of the shell takes here, instead of workloads: 'make -j8'
    #[arg(long = "command", value_name = "COMMAND", conflicts_with = "workloads")]
    pub commands: Vec<String>,
    /// Run this command of the shell before each trial, unmeasured: 'make clean'
    #[arg(long, value_name = "COMMAND", requires = "commands", conflicts_with = "workloads")]
    pub prepare: Vec<String>,
    /// Use this machine instead of the experiment's: NAME, FILE, or sim:NAME for the simulator
    /// alone
    #[arg(long = "machine", value_name = "MACHINE")]
    pub machines: Vec<String>,
    /// A machine that no file describes, instead of all others
    #[arg(skip)]
    pub given_machine: Option<Machine>,
    /// Make each session of a workload's tasks a group, as distributions' kernels do; a running
    /// kernel stays as it is
    #[arg(long)]
    pub autogroup: bool,
    /// The contestant that the others are compared with
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// Number of blocks: a block runs every contestant in every cell, with fresh boots
    #[arg(long, value_name = "N")]
    pub blocks: Option<u32>,
    /// Trials of each cell inside one boot
    #[arg(long, value_name = "N")]
    pub trials_per_boot: Option<u32>,
    /// Time limit of a trial, seconds
    #[arg(long = "timeout", value_name = "SECONDS")]
    pub timeout_s: Option<u64>,
    /// Keep an event trace of this cell's trials in the first block; of every cell's without a
    /// value
    #[arg(long, value_name = "CELL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "all")]
    pub trace: Vec<String>,
    /// Measure without probes, to see what the probes cost
    #[arg(long)]
    pub no_probes: bool,
    /// Run a plan that may be too short to prove anything, without A/A trials; the report says so
    #[arg(long)]
    pub exploratory: bool,
}

/// The parser of `--on`: a backend that can execute trials.
pub fn backend_parser() -> impl TypedValueParser<Value = Backend> {
    let named = |backend: Backend| PossibleValue::new(backend.word()).help(backend.about());
    PossibleValuesParser::new(Backend::EXECUTING.map(named)).try_map(|word| {
        let mut all = Backend::EXECUTING.into_iter();
        all.find(|backend| backend.word() == word).ok_or("no backend")
    })
}
