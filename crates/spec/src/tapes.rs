// SPDX-License-Identifier: GPL-2.0-only
//! A workload file with a recording: a head that is read like any other, and tapes at its end.
//!
//! The whole file is TOML. The tapes are a literal string of up to tens of megabytes, so they are
//! cut off before the head is read, and read by themselves.

use std::sync::Arc;

use model::tape::{self, TapeFault, Tapes};
use model::trial::sha256_hex;
use model::{Tape, Workload};
use play::tapes::played;

use super::SpecError;
use super::source::Places;
use crate::assets::Asset;

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
        match (&mut workload.recording, self.tapes) {
            (None, None) => Ok(()),
            (None, Some((_, line))) => {
                let error = at(asset, line - 1, "'tapes' outside of a recording");
                Err(error.hint("write them at the end of a table [recording]"))
            }
            (Some(_), None) => {
                let error = places.error("recording", "the recording has no tapes");
                Err(error
                    .hint(format!("end the file with a line {OPENS}, the tapes, and {CLOSES}")))
            }
            (Some(recorded), Some((text, line))) => {
                read(text, line, asset)?;
                recorded.file = asset.label.clone();
                recorded.sha256 = sha256_hex(text.as_bytes());
                recorded.tapes = Tapes(Some(Arc::from(text)));
                Ok(())
            }
        }
    }
}

fn read(text: &str, first: usize, asset: &Asset) -> Result<Vec<Tape>, SpecError> {
    let place = |fault: TapeFault| at(asset, first + fault.line - 1, fault.message);
    let tapes = tape::read(text).map_err(place)?;
    played(&tapes).map_err(place)?;
    Ok(tapes)
}

/// The tapes of a workload file; none if it has no recording.
///
/// # Errors
/// As for [`Parts::attach`].
pub fn of(asset: &Asset) -> Result<Vec<Tape>, SpecError> {
    split(asset)?.tapes.map_or(Ok(Vec::new()), |(text, line)| read(text, line, asset))
}

/// Gives a trial that came as text the tapes of its workload, from the file that it names.
///
/// # Errors
/// The file is not here, or has other tapes now.
pub fn fetch(workload: &mut Workload) -> Result<(), SpecError> {
    let Some(recorded) = &mut workload.recording else { return Ok(()) };
    if recorded.tapes.0.is_some() {
        return Ok(());
    }
    let asset = crate::assets::find(crate::assets::Kind::Workload, &recorded.file, "".as_ref())?;
    let parts = split(&asset)?;
    let text = parts.tapes.map_or("", |(text, _)| text);
    let sha256 = sha256_hex(text.as_bytes());
    if sha256 != recorded.sha256 {
        let message = format!(
            "the SHA-256 of its tapes is {sha256}, the trial was planned with {}",
            recorded.sha256
        );
        return Err(SpecError::new(&asset.label, message).hint("plan again"));
    }
    recorded.tapes = Tapes(Some(Arc::from(text)));
    Ok(())
}
