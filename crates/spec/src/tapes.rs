// SPDX-License-Identifier: GPL-2.0-only
//! A workload file with a recording: a head that is read like any other, and tapes at its end.
//!
//! The whole file is TOML. The tapes are a literal string of up to tens of megabytes, so they are
//! cut off before the head is read, and read by themselves.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::play::tapes::check as check_tapes;
use model::tape::{self, Recorded, TapeFault, Tapes};
use model::trial::sha256_hex;
use model::{Step, Tape, Trial, Workload};

use super::SpecError;
use super::expression::Names;
use super::source::Places;
use crate::assets::{self, Asset};
use crate::check::TASKS_MAX;

/// The most copies of a recording.
const COPIES_MAX: i64 = 1_000;
/// The fastest timers and devices, per cent of those of the recording.
const SPEED_MAX: i64 = 100_000;
/// The most operations of all copies together.
const SCALED_OPS_MAX: usize = 8_000_000;

/// The line before the tapes.
const OPENS: &str = "tapes = '''";
/// The line after them.
const CLOSES: &str = "'''";

/// The two parts of a workload's text.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// What is TOML like that of other files.
    pub head: &'a str,
    /// The tapes, and the line of the file that they begin in, from 1.
    tapes: Option<(&'a str, usize)>,
}

/// How long the part of a text is that stands before its tapes.
pub fn head_bytes(text: &str) -> usize {
    text.find(&format!("\n{OPENS}\n")).map_or(text.len(), |at| at + 1)
}

/// Cuts the tapes off.
///
/// # Errors
/// They do not end, or something follows them.
pub fn split(asset: &Asset) -> Result<Parts<'_>, SpecError> {
    let text = asset.text.as_str();
    let opening = text.find(&format!("\n{OPENS}\n"));
    let Some(head_end) = opening.map(|at| at + 1) else {
        return Ok(Parts { head: text, tapes: None });
    };
    let first = text[..head_end].matches('\n').count() + 2;
    let body = &text[head_end + OPENS.len() + 1..];
    let end = if body.starts_with(CLOSES) { Some(0) } else { body.find("\n'''").map(|at| at + 1) };
    let Some(end) = end else {
        let line = first + body.lines().count();
        return Err(at(asset, line, "the file is cut off: the tapes do not end")
            .hint("copy or import it again"));
    };
    let rest = &body[end + CLOSES.len()..];
    if !rest.trim().is_empty() {
        let line = first + body[..end].matches('\n').count();
        let error = at(asset, line, "something follows the tapes");
        return Err(error.hint("write it above the table [recording]"));
    }
    Ok(Parts { head: &text[..head_end], tapes: Some((&body[..end], first)) })
}

fn at(asset: &Asset, line: usize, message: impl Into<String>) -> SpecError {
    SpecError { line: Some(line), ..SpecError::new(&asset.label, message) }
}

impl Parts<'_> {
    /// Gives the workload its tapes.
    ///
    /// # Errors
    /// A recording without tapes, tapes without a recording, and the first line that is no tape or
    /// cannot be played.
    pub fn attach(
        &self,
        workload: &mut Workload,
        asset: &Asset,
        places: &Places,
    ) -> Result<(), SpecError> {
        let scale = Scale::of(&workload.parameters, places)?;
        let counts = scale.counts(workload, places)?;
        match (&mut workload.recording, self.tapes) {
            (None, None) => Ok(()),
            (None, Some((_, line))) => {
                let error = at(asset, line - 1, "'tapes' outside of a recording");
                Err(error.hint("write them at the end of a table [recording]"))
            }
            (Some(recorded), Some((text, line))) => {
                let tapes = read(text, line, asset)?;
                if scale.is_plain() {
                    keep(recorded, asset, text);
                    return Ok(());
                }
                scale.refuse_large(&tapes, places)?;
                let copies = vec![tapes; scale.copies as usize];
                scale.keep(recorded, asset, copies, &counts);
                Ok(())
            }
            (Some(_), None) => {
                let error = places.error("recording", "the recording has no tapes");
                Err(error
                    .hint(format!("end the file with a line {OPENS}, the tapes, and {CLOSES}")))
            }
        }
    }
}

/// A workload's own parameters for recordings, where it declares them.
#[derive(Clone, Copy, Debug)]
struct Scale {
    copies: u32,
    speed_percent: u64,
}

impl Scale {
    fn of(parameters: &Names, places: &Places) -> Result<Scale, SpecError> {
        let number = |name: &str, most: i64| match parameters.get(name) {
            None => Ok(None),
            Some(value) if (1..=most).contains(value) => Ok(Some(*value as u64)),
            Some(value) => {
                let message = format!("{name} = {value} is out of range");
                let error = places.error(&format!("parameters.{name}"), message);
                Err(error.hint(format!("write 1 … {most}")))
            }
        };
        Ok(Scale {
            copies: number("copies", COPIES_MAX)?.unwrap_or(1) as u32,
            speed_percent: number("speed_percent", SPEED_MAX)?.unwrap_or(100),
        })
    }

    /// Whether the tapes of the file are played as they are.
    fn is_plain(&self) -> bool {
        self.copies == 1 && self.speed_percent == 100
    }

    /// The tasks with tapes of each group, in one copy.
    fn counts(&self, workload: &Workload, places: &Places) -> Result<Vec<u32>, SpecError> {
        let mut counts = Vec::new();
        for (index, group) in workload.tasks.iter().enumerate() {
            if group.steps != [Step::Tape] {
                continue;
            }
            if group.count % self.copies != 0 {
                let message = format!("{} tasks are not {} copies", group.count, self.copies);
                let error = places.error(&format!("task[{index}].count"), message);
                return Err(error.hint("write e.g. count = \"= 2 * copies\""));
            }
            counts.push(group.count / self.copies);
        }
        let tasks: u64 = counts.iter().map(|count| u64::from(*count)).sum();
        if tasks * u64::from(self.copies) > TASKS_MAX {
            let error = places.error("recording", "too many tasks play tapes");
            return Err(error.hint(format!("at most {TASKS_MAX} together")));
        }
        Ok(counts)
    }

    fn refuse_large(&self, tapes: &[Tape], places: &Places) -> Result<(), SpecError> {
        let ops: usize = tapes.iter().map(|tape| tape.ops.len()).sum();
        if ops.saturating_mul(self.copies as usize) <= SCALED_OPS_MAX {
            return Ok(());
        }
        let error =
            places.error("recording", format!("{} copies of {ops} operations", self.copies));
        Err(error.hint(format!("at most {SCALED_OPS_MAX} together")))
    }

    fn keep(&self, recorded: &mut Recorded, asset: &Asset, copies: Vec<Vec<Tape>>, counts: &[u32]) {
        let mut tapes = tape::arrange(copies, counts);
        tape::hurry(&mut tapes, self.speed_percent);
        keep(recorded, asset, &tape::write(&tapes));
    }
}

fn keep(recorded: &mut Recorded, asset: &Asset, text: &str) {
    recorded.file = asset.label.clone();
    recorded.sha256 = sha256_hex(text.as_bytes());
    recorded.tapes = Tapes(Some(Arc::from(text)));
}

fn read(text: &str, first: usize, asset: &Asset) -> Result<Vec<Tape>, SpecError> {
    let place = |fault: TapeFault| at(asset, first + fault.line - 1, fault.message);
    let tapes = tape::read(text).map_err(place)?;
    check_tapes(&tapes).map_err(place)?;
    Ok(tapes)
}

/// Gives trials that came as text, without the tapes of their workloads, those of the files that
/// they name. Each file is read once.
///
/// # Errors
/// A file is not here, is wrong, or has other tapes now.
pub fn fetch(trials: &mut [Trial]) -> Result<(), SpecError> {
    let mut known: BTreeMap<String, Tapes> = BTreeMap::new();
    for trial in trials {
        let cpus = trial.machine.cpus;
        let Some(recorded) = &trial.workload.recording else { continue };
        if recorded.tapes.0.is_some() {
            continue;
        }
        let tapes = match known.get(&recorded.sha256) {
            Some(tapes) => tapes.clone(),
            None => of_file(recorded, &trial.workload.parameters, cpus)?,
        };
        known.insert(recorded.sha256.clone(), tapes.clone());
        trial.workload.recording.iter_mut().for_each(|it| it.tapes = tapes.clone());
    }
    Ok(())
}

/// The tapes of the file that a trial names, if they are still the same.
fn of_file(recorded: &Recorded, parameters: &Names, cpus: u32) -> Result<Tapes, SpecError> {
    let Recorded { file, sha256, .. } = recorded;
    let carried = "`fairground plan --chunks` makes trials that carry their tapes";
    let missing = |why: SpecError| {
        let message = format!("the trial plays the tapes {sha256} of this file: {}", why.message);
        SpecError { message, ..why }.hint(format!("bring the file back; {carried}"))
    };
    let asset = assets::find(assets::Kind::Workload, file, "".as_ref()).map_err(missing)?;
    let now = crate::workload::resolve(&asset, parameters, cpus)?.workload;
    let now = now.recording.unwrap_or_default();
    if now.sha256 == *sha256 {
        return Ok(now.tapes);
    }
    let message = match now.sha256.as_str() {
        "" => format!("it has no tapes, the trial was planned with the tapes {sha256}"),
        other => {
            format!("the SHA-256 of its tapes is {other}, the trial was planned with {sha256}")
        }
    };
    Err(SpecError::new(&asset.label, message).hint("bring the file back, or plan again"))
}
