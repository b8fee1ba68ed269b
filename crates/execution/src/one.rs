// SPDX-License-Identifier: GPL-2.0-only
//! Trials without a store.

use std::sync::atomic::Ordering;

use anyhow::Result;
use model::{Record, Trial};

use crate::objects::Prepared;
use crate::sink::{Hear, Keep, Sink};
use crate::{Settings, emulators, execute, interrupt, objects};

/// Runs the trial, and tells what happens meanwhile. `None`: it was interrupted.
///
/// # Errors
/// When its scheduler does not compile, or the lab itself fails.
pub fn one(trial: Trial, settings: &Settings, hear: &mut Hear<'_>) -> Result<Option<Record>> {
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
///
/// # Errors
/// When a record cannot be kept, or the lab itself fails.
pub fn several(
    trials: &[Trial],
    prepared: &Prepared,
    settings: &Settings,
    keep: &mut Keep<'_>,
    hear: &mut Hear<'_>,
) -> Result<bool> {
    let stop = interrupt::flag()?;
    execute(trials, prepared, settings, &Sink::new(keep, hear, &stop))?;
    Ok(!stop.load(Ordering::SeqCst))
}
