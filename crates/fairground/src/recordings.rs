// SPDX-License-Identifier: GPL-2.0-only
//! The recordings that records play: their tapes, as far as somebody has them, and what these show.

use std::path::{Path, PathBuf};

use model::play::{self, Refusal};
use model::tape_text::TapeText;
use model::{Step, Trial, Workload};
use recording::graph::{self, Graph};
use store::SchedulerSource;

/// The tapes of a trial, from the texts of a store or from the file that was played; `None` if
/// neither has them.
pub fn tapes(kept: &[SchedulerSource], trial: &mut Trial) -> Option<TapeText> {
    let sha256 = trial.workload.recording.as_ref()?.sha256.clone();
    match kept.iter().find(|source| source.sha256 == sha256) {
        Some(source) => {
            let text = source.files.iter().map(|(_, text)| text.as_str()).collect();
            Some(TapeText { sha256, text })
        }
        None => {
            spec::tapes::fetch(std::slice::from_mut(trial)).ok()?;
            TapeText::of([&trial.workload]).into_iter().next()
        }
    }
}

/// What the tapes of a workload show, which are at hand.
pub fn graph_of(workload: &Workload) -> Result<Graph, Refusal> {
    let tapes = play::tapes::tapes(workload)?;
    let players = workload.tasks.iter().filter(|group| group.steps == [Step::Tape]);
    let groups: Vec<(String, u32)> =
        players.map(|group| (group.name.clone(), group.count)).collect();
    Ok(graph::of(&tapes, &groups))
}

/// The file for the tapes of a workload's file: beside it, with another ending.
pub fn tapes_file(workload: &Path) -> PathBuf {
    workload.with_extension("tapes")
}

/// A file's name without its folder, by which a file beside it names it.
pub fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
