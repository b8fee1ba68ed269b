// SPDX-License-Identifier: GPL-2.0-only
//! Trials → records in the store, on the backend that each trial names.
//!
//! ```text
//! trials ─► objects compiled ─► boots (vm, in parallel) ─┐
//!                            └► one after another (live) ┴─► sink ─► store, progress
//! ```
//!
//! Read in this order: [`sink`] is where every record goes, [`objects`] prepares schedulers,
//! [`boots`] runs trials in virtual machines, [`live`] on this kernel, [`guest`] is the other end
//! inside a machine, [`interrupt`] is Ctrl-C.
//!
//! What is not here: how a trial is run, and printing.

pub mod boots;
pub mod guest;
pub mod interrupt;
pub mod live;
pub mod objects;
pub mod programs;
pub mod sink;

use std::path::PathBuf;

use anyhow::Result;
use model::{Backend, Outcome, Provenance, Record, Trial};

use objects::Sources;
use sink::Sink;

/// This program's version, as records and sessions quote it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a run may use.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where kernels and compiled schedulers are kept.
    pub home: PathBuf,
    /// The sources of the trials' schedulers, as far as they were read.
    pub sources: Sources,
    /// Virtual machines at a time; `None`: as many as do not disturb each other.
    pub jobs: Option<usize>,
    /// Whether missing kernels must not be downloaded.
    pub offline: bool,
}

/// Runs the trials; each has its record in the sink before the next one of its boot starts, unless
/// the sink is told to stop.
///
/// # Errors
/// When a scheduler does not compile (before anything runs), or the lab itself fails. A scheduler
/// or workload that misbehaves is an outcome, not an error.
pub fn execute(trials: &[Trial], settings: &Settings, sink: &Sink<'_>) -> Result<()> {
    let objects = objects::compile(trials, &settings.sources)?;
    let of = |backend| trials.iter().filter(move |trial| trial.backend == backend).cloned();
    for trial in of(Backend::Sim) {
        sink.record(unsupported(trial, "this build has no simulator; use --on vm or --on live"));
    }
    boots::run(&of(Backend::Vm).collect::<Vec<_>>(), &objects, settings, sink)?;
    live::run(&of(Backend::Live).collect::<Vec<_>>(), sink);
    sink.error()
}

/// The record of a trial that cannot run here.
pub fn unsupported(trial: Trial, reason: &str) -> Record {
    let provenance = Provenance { fairground: VERSION.into(), ..Provenance::default() };
    Record::without_measurement(trial, Outcome::Unsupported { reason: reason.into() }, provenance)
}
