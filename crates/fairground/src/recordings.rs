// SPDX-License-Identifier: GPL-2.0-only
//! The recordings that records play: their tapes, as far as somebody has them, and what these show.

use std::path::{Path, PathBuf};

use model::play::{self, Refusal};
use model::tape_text::TapeText;
use model::{Step, Trial, Workload};
use recording::event::Recording;
use recording::groups::{self, Graph};
use recording::workload::{self, Choice, Empty, Files};
use store::SchedulerSource;

use crate::{command_line, output};

/// The tapes of a trial, from the texts of a store or from the file that was played; `None` if
/// neither has them.
pub fn tapes(kept: &[SchedulerSource], trial: &mut Trial, store: &Path) -> Option<TapeText> {
    let sha256 = trial.workload.recording.as_ref()?.sha256.clone();
    match kept.iter().find(|source| source.sha256 == sha256) {
        Some(source) => {
            let text = source.files.iter().map(|(_, text)| text.as_str()).collect();
            Some(TapeText { sha256, text })
        }
        None => {
            fetch(trial, store).ok()?;
            TapeText::of([&*trial.workload]).into_iter().next()
        }
    }
}

/// Reads the file that was played. Its path counts from where it was played: here, or else where
/// the store is.
pub fn fetch(trial: &mut Trial, store: &Path) -> Result<(), spec::SpecError> {
    if let Some(recorded) = &mut trial.workload.recording {
        let beside = store.with_file_name(&recorded.tapes);
        if !Path::new(&recorded.tapes).exists() && beside.exists() {
            recorded.tapes = beside.display().to_string();
        }
    }
    spec::workload::fetch(std::slice::from_mut(trial))
}

/// What the tapes of a workload show, which are at hand.
pub fn graph_of(workload: &Workload) -> Result<Graph, Refusal> {
    let tapes = play::tapes::tapes(workload)?;
    let players = workload.tasks.iter().filter(|group| group.steps == [Step::Tape]);
    let groups: Vec<(String, u32)> =
        players.map(|group| (group.name.clone(), group.count)).collect();
    Ok(groups::of(&tapes, &groups))
}

/// The file for the tapes of a workload's file: beside it, with another ending.
pub fn tapes_file(workload: &Path) -> PathBuf {
    workload.with_extension("tapes")
}

/// What a workload's file and its tapes contain, where the first one will be `file`.
///
/// # Errors
/// No task is left, or the recording is too long.
pub fn files(recording: &Recording, choice: &Choice, file: &Path) -> Result<Files, Empty> {
    workload::files(recording, choice, &tapes_name(file))
}

/// The name by which a workload's file names its tapes.
pub fn tapes_name(file: &Path) -> String {
    tapes_file(file).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Writes a workload's file. The tapes are there before it names them.
pub fn write(files: &Files, file: &Path) -> anyhow::Result<()> {
    for (text, file) in [(&files.tapes, tapes_file(file)), (&files.workload, file.to_owned())] {
        output::write(Some(&file), text.as_bytes())?;
    }
    Ok(())
}

/// Says what the user can do with a workload's file that was recorded on `cpus` CPUs.
pub fn tell_next_steps(file: &Path, cpus: u32) {
    let path = file.display().to_string();
    let path = if path.contains('/') { path } else { format!("./{path}") };
    let path = command_line::quoted(&path);
    output::tell(format_args!("to see it: fairground list workloads {path}"));
    let machine = if cpus > 1 { format!("--machine counted_{cpus} ") } else { String::new() };
    output::tell(format_args!(
        "to play it: fairground run --workload {path} {machine}--scheduler vtime --scheduler eevdf"
    ));
}
