// SPDX-License-Identifier: GPL-2.0-only
//! A single trial without a store.

use anyhow::Result;
use model::{Progress, Record, Trial};

use super::sink::Sink;
use super::{Settings, execute, interrupt, objects};
use crate::output;

/// Runs the trial; notes go to standard error. `None`: it was interrupted.
///
/// # Errors
/// When its scheduler does not compile, or the lab itself fails.
pub fn one(trial: Trial, settings: &Settings) -> Result<Option<Record>> {
    let stop = interrupt::flag()?;
    let mut answer: Option<Record> = None;
    let mut keep = |record: &Record| {
        answer = Some(record.clone());
        Ok(())
    };
    let mut hear = |progress: &Progress<'_>| {
        if let Progress::Note(note) = progress {
            output::tell(note);
        }
    };
    let trials = [trial];
    let prepared = objects::prepare(&trials, &settings.sources)?;
    execute(&trials, &prepared, settings, &Sink::new(&mut keep, &mut hear, &stop))?;
    Ok(answer)
}
