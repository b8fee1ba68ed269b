// SPDX-License-Identifier: GPL-2.0-only
//! The recordings that records play: their tapes, as far as somebody has them, and what these show.

use std::collections::BTreeMap;

use model::tape_text::TapeText;
use model::{Record, Trial, Workload};
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

fn graph(kept: &[SchedulerSource], mut trial: Trial) -> Result<Graph, String> {
    let tapes = tapes(kept, &mut trial).ok_or_else(|| not_at_hand(&trial.workload))?;
    tapes.check()?;
    let tapes = model::tape::read(&tapes.text).map_err(|fault| fault.to_string())?;
    graph::of_workload(&trial.workload, &tapes)
}

fn not_at_hand(workload: &Workload) -> String {
    let recorded = workload.recording.clone().unwrap_or_default();
    format!(
        "the tapes {} are not in the store, and {} does not have them here",
        recorded.sha256, recorded.file
    )
}
