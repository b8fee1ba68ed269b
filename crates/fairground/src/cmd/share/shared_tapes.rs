// SPDX-License-Identifier: GPL-2.0-only
//! The tapes that shared records play. They say what each thread of somebody's machine did and
//! when, so they leave it only if their owner says so.

use std::collections::BTreeMap;

use anyhow::Result;
use model::tape_text::TapeText;
use model::{Record, Trial};
use store::SchedulerSource;

/// One trial for each recording, by the SHA-256 of its tapes.
fn recordings<'a>(records: impl Iterator<Item = &'a Record>) -> BTreeMap<&'a str, &'a Trial> {
    let of_record = |record: &'a Record| {
        let recorded = record.trial.workload.recording.as_ref()?;
        Some((recorded.sha256.as_str(), &record.trial))
    };
    records.filter_map(of_record).collect()
}

/// How many recordings the records play.
pub fn count<'a>(records: impl Iterator<Item = &'a Record>, texts: &[SchedulerSource]) -> usize {
    let is_there = |sha256: &&str| texts.iter().any(|text| text.sha256 == **sha256);
    recordings(records).into_keys().filter(is_there).count()
}

/// The texts of the tapes, from the store or from the files that were played.
pub fn texts<'a>(
    records: impl Iterator<Item = &'a Record>,
    kept: &[SchedulerSource],
) -> Result<Vec<SchedulerSource>> {
    let mut texts = Vec::new();
    for (sha256, trial) in recordings(records) {
        if let Some(known) = kept.iter().find(|source| source.sha256 == sha256) {
            texts.push(known.clone());
            continue;
        }
        let mut trial = trial.clone();
        spec::tapes::fetch(std::slice::from_mut(&mut trial))?;
        let tapes = TapeText::of([&trial.workload]);
        texts.extend(tapes.into_iter().map(|tapes| SchedulerSource {
            sha256: tapes.sha256,
            name: trial.workload.cell(),
            files: vec![("tapes".into(), tapes.text)],
        }));
    }
    Ok(texts)
}

/// What is not shared, for the owner and for readers.
pub fn left_out<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<String> {
    let what = |trial: &Trial| {
        format!(
            "the tapes of {}: what each thread did and when; --tapes shares them",
            trial.workload.cell()
        )
    };
    recordings(records).into_values().map(what).collect()
}
