// SPDX-License-Identifier: GPL-2.0-only
//! The file with the tapes of a recording, which a workload's table `[recording]` names by path and
//! SHA-256.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use model::play::tapes;
use model::tape::{self, Recorded, TapeFault, TapesText};
use model::trial::sha256_hex;
use model::{Trial, Workload};

use super::SpecError;
use crate::assets::Asset;
use crate::files;

/// Gives a workload its tapes.
///
/// # Errors
/// The file is not here, is another one, or cannot be played.
pub fn attach(workload: &mut Workload, asset: &Asset) -> Result<(), SpecError> {
    let Some(recorded) = &mut workload.recording else { return Ok(()) };
    recorded.tapes = asset.base.join(&recorded.tapes).display().to_string();
    let text = read(recorded).map_err(|why| {
        why.hint(format!("{} names it: bring the file back, or record again", asset.label))
    })?;
    let place = |fault: TapeFault| SpecError {
        line: Some(fault.line),
        ..SpecError::new(&recorded.tapes, fault.message)
    };
    let tapes = tape::read(&text).map_err(place)?;
    tapes::check(&tapes).map_err(place)?;
    recorded.text = TapesText(Some(text));
    Ok(())
}

/// Gives trials that came as text, without the tapes of their workloads, those of the files that
/// they name. Each file is read once.
///
/// # Errors
/// A file is not here, or has other tapes now.
pub fn fetch(trials: &mut [Trial]) -> Result<(), SpecError> {
    let mut known: BTreeMap<String, Arc<str>> = BTreeMap::new();
    let recordings = trials.iter_mut().filter_map(|trial| trial.workload.recording.as_mut());
    for recorded in recordings.filter(|recorded| recorded.text.0.is_none()) {
        let text = match known.get(&recorded.sha256) {
            Some(text) => text.clone(),
            None => read(recorded).map_err(|why| {
                why.hint(
                    "the trial plays it: bring the file back; `fairground plan --chunks` makes \
                     trials that carry their tapes",
                )
            })?,
        };
        known.insert(recorded.sha256.clone(), text.clone());
        recorded.text = TapesText(Some(text));
    }
    Ok(())
}

/// The text of the file, if it is the one that was recorded.
fn read(recorded: &Recorded) -> Result<Arc<str>, SpecError> {
    let Recorded { tapes, sha256, .. } = recorded;
    let text = files::text(Path::new(tapes), files::TAPES).map_err(|fault| {
        let absent = || format!("no such file, which has the tapes {sha256}");
        let message = if fault.is_absence() { absent() } else { fault.to_string() };
        SpecError::new(tapes, message)
    })?;
    let found = sha256_hex(text.as_bytes());
    if found != *sha256 {
        let message = format!("the SHA-256 of these tapes is {found}, and not {sha256}");
        return Err(SpecError::new(tapes, message));
    }
    Ok(text.into())
}
