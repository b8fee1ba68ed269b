// SPDX-License-Identifier: GPL-2.0-only
//! Trials → records in the store, on the backend that each trial names.
//!
//! ```text
//! trials ─► schedulers compiled ─► simulated (on all CPUs), then boots (vm, in parallel), then one
//!           after another (live) ─► sink ─► store, progress
//! ```
//!
//! Read in this order: [`sink`] is where every record goes, [`objects`] prepares schedulers,
//! [`simulated`] runs trials in the simulator, [`boots`] in virtual machines, [`emulators`] has
//! what several CPUs in virtual time need, [`repeated`] continues boots that were interrupted,
//! [`tapes`] takes recordings into guests, [`live`] runs trials on this kernel and is the other end
//! inside a virtual machine, [`interrupt`] is Ctrl-C. [`record_of`] and [`records_of`] are for
//! verbs that want records without a store.
//!
//! What is not here: how a trial is run, and printing.

pub mod boots;
pub mod emulators;
pub mod interrupt;
pub mod live;
pub mod locations;
pub mod objects;
pub mod repeated;
pub mod simulated;
pub mod sink;
pub mod tapes;

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use anyhow::Result;
use model::{Backend, Outcome, Provenance, Record, Trial};

use objects::{Prepared, Sources};
use repeated::Earlier;
use sink::{OnProgress, OnRecords, Sink};

/// This program's version, as records and sessions quote it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What running trials may use.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The data folder, where kernels and source trees are; `None` where nothing says where it is.
    pub home: Option<PathBuf>,
    /// The texts of the trials' schedulers that were read when the trials were planned.
    pub sources: Sources,
    /// Simulated trials, or virtual machines, at a time; `None`: as many as do not disturb each
    /// other.
    pub jobs: Option<usize>,
    pub offline: bool,
    /// What the campaign has measured before; boots that were interrupted depend on it.
    pub earlier: Earlier,
    /// The program that runs trials inside virtual machines; `None`: this one.
    pub executable: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            home: locations::data_folder().ok(),
            sources: Sources::new(),
            jobs: None,
            offline: false,
            earlier: Earlier::default(),
            executable: None,
        }
    }
}

impl Settings {
    /// The data folder, for trials that need what is in it.
    fn home(&self) -> Result<PathBuf> {
        self.home.clone().map_or_else(locations::data_folder, Ok)
    }
}

/// Runs the trials with their prepared schedulers; each has its record in the sink before the next
/// one of its boot starts, unless the sink is told to stop. Simulated trials come first, because
/// they take seconds.
///
/// # Errors
/// When the lab itself fails. A scheduler or workload that misbehaves is an outcome, not an error.
pub fn execute(
    trials: &[Trial],
    prepared: &Prepared,
    settings: &Settings,
    sink: &Sink<'_>,
) -> Result<()> {
    sink.set_objects(prepared.hashes());
    for backend in Backend::EXECUTING {
        let own = trials.iter().filter(|trial| trial.backend == backend);
        let own: Vec<Trial> = own.cloned().collect();
        match backend {
            Backend::Sim => simulated::run(&own, &prepared.native, settings.jobs, sink),
            Backend::Vm => boots::run(&own, &prepared.bpf, settings, sink)?,
            Backend::Live => live::run(&own, sink),
            Backend::Imported => {}
        }
    }
    sink.error()
}

/// The record of a trial that cannot run here.
pub fn unsupported(trial: Trial, reason: &str) -> Record {
    let provenance = Provenance { fairground: VERSION.into(), ..Provenance::default() };
    Record::without_measurement(trial, Outcome::Unsupported { reason: reason.into() }, provenance)
}

/// Runs the trial, and tells what happens meanwhile. `None`: it was interrupted.
pub fn record_of(
    trial: Trial,
    settings: &Settings,
    hear: &mut OnProgress<'_>,
) -> Result<Option<Record>> {
    let stop = interrupt::flag()?;
    let mut answer: Option<Record> = None;
    let mut keep = |new: &[Record]| {
        answer = new.last().cloned();
        Ok(())
    };
    let trials = [trial];
    emulators::check(&trials, settings.home.as_deref())?;
    let prepared = objects::prepare(&trials, &settings.sources)?;
    execute(&trials, &prepared, settings, &Sink::new(&mut keep, hear, &stop))?;
    Ok(answer)
}

/// Runs prepared trials and hands the records to `keep`. `false`: it was interrupted.
pub fn records_of(
    trials: &[Trial],
    prepared: &Prepared,
    settings: &Settings,
    keep: &mut OnRecords<'_>,
    hear: &mut OnProgress<'_>,
) -> Result<bool> {
    let stop = interrupt::flag()?;
    execute(trials, prepared, settings, &Sink::new(keep, hear, &stop))?;
    Ok(!stop.load(Ordering::SeqCst))
}
