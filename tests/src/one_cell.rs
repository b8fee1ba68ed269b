// SPDX-License-Identifier: GPL-2.0-only
//! One cell with as many synthetic trials as a test wants. No number here was measured.

use model::Record;

use crate::synthetic::experiment;

/// Trials of two contestants. What they have alike is kept once, as a store does.
pub fn one_cell(trials: usize) -> Vec<Record> {
    let cell = |record: &Record| record.trial.workload.cell();
    let mut once = experiment();
    let first = cell(&once[0]);
    once.retain(|record| {
        let is_of_two = ["eevdf-7", "vtime"].contains(&record.trial.contestant.name.as_str());
        is_of_two && cell(record) == first && record.outcome.is_ok() && record.trace.is_none()
    });
    let trial = |(place, record): (usize, &Record)| {
        let (mut record, round) = (record.clone(), (place / once.len()) as u32);
        record.trial.block += round * 8;
        record.trial.boot += round * 24;
        record.trial.position = place as u32;
        record.trial.seed = record.trial.seed.derive(&format!("round {round}"));
        let mut chance = record.trial.seed;
        for metric in &mut record.measured.metrics {
            let factor = 1.0 + chance.below(1_000) as f64 / 1e4;
            metric.value = metric.value.map(|value| value * factor);
        }
        record
    };
    once.iter().cycle().enumerate().take(trials).map(trial).collect()
}
