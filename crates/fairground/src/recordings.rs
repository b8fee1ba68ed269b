// SPDX-License-Identifier: GPL-2.0-only
//! The recordings that records play: their tapes, as far as somebody has them, and what these show.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::play::{self, Refusal};
use model::tape::TapesText;
use model::tape_text::TapeText;
use model::{Record, Step, Trial, Workload};
use recording::graph::{self, Graph};
use report::recorded::RecordedWorkload;
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

/// Each recording that is played, once, in the order of the workloads' names.
pub fn graphs(records: &[Record], kept: &[SchedulerSource]) -> Vec<RecordedWorkload> {
    let mut played: BTreeMap<(String, &str), &Trial> = BTreeMap::new();
    for Record { trial, .. } in records {
        if let Some(recorded) = &trial.workload.recording {
            played.entry((trial.workload.cell(), &recorded.sha256)).or_insert(trial);
        }
    }
    let one = |trial: &Trial| RecordedWorkload::new(&trial.workload, graph(kept, trial.clone()));
    played.into_values().filter_map(one).collect()
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

fn graph(kept: &[SchedulerSource], mut trial: Trial) -> Result<Graph, String> {
    let tapes = tapes(kept, &mut trial).ok_or_else(|| not_at_hand(&trial.workload))?;
    tapes.check()?;
    trial
        .workload
        .recording
        .iter_mut()
        .for_each(|it| it.text = TapesText(Some(tapes.text.as_str().into())));
    graph_of(&trial.workload).map_err(|refusal| refusal.to_string())
}

fn not_at_hand(workload: &Workload) -> String {
    let recorded = workload.recording.clone().unwrap_or_default();
    format!(
        "the tapes {} are not in the store, and {} does not have them here",
        recorded.sha256, recorded.tapes
    )
}
