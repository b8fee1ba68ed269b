// SPDX-License-Identifier: GPL-2.0-only
//! Notes on a comparison: what a reader must know before relying on it.

use std::collections::{BTreeMap, BTreeSet};

use model::trial::hex16;
use model::{Clock, Histogram, MeasureKey, Measured, Record};

use crate::compare::comparison::{Cell, powerless};
use crate::number::interval::TRIALS_NEEDED;
use crate::number::quantile::outliers;
use crate::records::columns::{self as samples, Column, Numbers};
use crate::series::level_changes;

/// All notes, the gravest first.
pub(crate) fn notes(records: &[Record], cells: &[Cell], baseline: &str) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(absent_baseline(records, baseline));
    notes.extend(lost_samples(records));
    notes.extend(unrepeatable(records));
    notes.extend(ambiguous_names(records));
    notes.extend(lossy_traces(records));
    notes.extend(unmeasured_headlines(records, cells));
    notes.extend(single_boots(cells));
    notes.extend(powerless(cells));
    notes.extend(unusual(records, cells));
    notes
}

fn absent_baseline(records: &[Record], baseline: &str) -> Option<String> {
    let present = records.iter().any(|record| record.trial.contestant.name == baseline);
    (!present && !records.is_empty())
        .then(|| format!("The baseline `{baseline}` has no record: nothing is compared with it."))
}

fn lost_samples(records: &[Record]) -> Option<String> {
    let lossy = |record: &&Record| !record.measured.histograms.iter().all(Histogram::is_complete);
    let trials: Vec<String> = records.iter().filter(lossy).map(|r| r.trial.id()).collect();
    let (first, count) = (trials.first()?, trials.len());
    Some(format!(
        "{count} record(s), the first of trial {first}, have histograms that do not add up to \
         their count: samples were lost, and no quantile is taken from them."
    ))
}

/// Trials under a virtual clock that were not repeated exactly.
fn unrepeatable(records: &[Record]) -> Option<String> {
    let mut repeated: BTreeMap<(String, &str), Vec<&Measured>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.trial.clock() == Clock::Virtual) {
        let key = (record.trial.id(), record.trial.contestant.name.as_str());
        repeated.entry(key).or_default().push(&record.measured);
    }
    // As they were stored, where two numbers that look alike can differ in their bytes.
    let differ = |all: &&Vec<&Measured>| {
        all.len() > 1 && all.iter().map(|one| one.hash()).collect::<BTreeSet<_>>().len() > 1
    };
    let differing = repeated.values().filter(differ).count();
    (differing > 0).then(|| {
        format!(
            "{differing} trial(s) under a virtual clock gave different measurements when repeated: \
             the promise of exact repetition is broken, do not trust their numbers."
        )
    })
}

fn ambiguous_names(records: &[Record]) -> Vec<String> {
    let mut definitions: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for contestant in records.iter().map(|record| &record.trial.contestant) {
        definitions.entry(&contestant.name).or_default().insert(hex16(contestant));
    }
    let several = definitions.into_iter().filter(|(_, known)| known.len() > 1);
    several
        .map(|(name, known)| {
            let count = known.len();
            format!("The name `{name}` stands for {count} different definitions in these records.")
        })
        .collect()
}

fn lossy_traces(records: &[Record]) -> Option<String> {
    let lost: u64 = records.iter().filter_map(|r| r.trace.as_ref()).map(|trace| trace.lost).sum();
    (lost > 0).then(|| format!("Traces have holes: {lost} events could not be kept."))
}

fn unmeasured_headlines(records: &[Record], cells: &[Cell]) -> Vec<String> {
    let mut notes = BTreeSet::new();
    for record in records {
        for headline in &record.trial.workload.headline {
            let workload = &record.trial.workload.name;
            let cells = cells.iter().filter(|cell| cell.workload == *workload);
            notes.extend(unmeasured(headline, workload, cells));
        }
    }
    notes.into_iter().collect()
}

fn unmeasured<'a>(
    headline: &str,
    workload: &str,
    mut cells: impl Iterator<Item = &'a Cell>,
) -> Option<String> {
    match headline.parse::<MeasureKey>() {
        Err(why) => Some(format!("`{workload}` names `{headline}` as a headline: {why}.")),
        Ok(key) if cells.any(|cell| cell.rows.iter().any(|row| row.measure == key)) => None,
        Ok(key) => Some(format!("`{workload}` promises `{key}`, which no trial measured.")),
    }
}

fn single_boots(cells: &[Cell]) -> Option<String> {
    let rows = cells.iter().flat_map(|cell| &cell.rows);
    let entries = rows.flat_map(|row| &row.entries);
    let single: BTreeSet<&str> = entries
        .filter(|entry| entry.boots == 1 && entry.trials > 1)
        .map(|entry| entry.contestant.as_str())
        .collect();
    let names = single.into_iter().collect::<Vec<_>>().join(", ");
    (!names.is_empty()).then(|| {
        format!(
            "All trials of a cell come from one boot or session for {names}: intervals there do \
             not cover differences between boots."
        )
    })
}

/// Trials that are far off, and levels that change in the course of an experiment, of headline
/// measures. Only under a real clock: under a virtual one only the seeds differ.
fn unusual(records: &[Record], cells: &[Cell]) -> Vec<String> {
    let (mut far, mut drifting) = (Vec::new(), Vec::new());
    for (cell, records) in cells.iter().zip(samples::cells(records).values()) {
        if cell.clock == Clock::Virtual {
            continue;
        }
        let numbers = Numbers::new(records);
        for row in cell.headline() {
            let by_contestant = numbers.columns(&row.measure);
            let place = format!("`{}` of {}", row.measure, cell.label());
            let flagged = by_contestant.values().map(|column| outliers(&column.values()));
            far.push((flagged.sum::<usize>(), place.clone()));
            let changes = by_contestant.values().filter(|column| changes(column));
            let most = changes.count() * 2 > by_contestant.len() && by_contestant.len() > 2;
            drifting.extend(most.then_some(place));
        }
    }
    let all: usize = far.iter().map(|(trials, _)| trials).sum();
    let far = far.into_iter().find(|(trials, _)| *trials > 0).map(|(_, place)| {
        format!(
            "{all} trial(s) lie more than ten robust standard deviations from the median of their \
             contestant, the first in {place}. Nothing was dropped."
        )
    });
    let drift = drifting.first().map(|place| {
        let count = drifting.len();
        format!(
            "The level of most contestants changes in the course of the experiment in {count} \
             place(s), the first {place}: the machine was not the same throughout."
        )
    });
    far.into_iter().chain(drift).collect()
}

/// Whether the level of a contestant's trials changes, in the order of their boots.
fn changes(column: &Column) -> bool {
    let mut samples: Vec<_> = column.samples.iter().collect();
    samples.sort_by_key(|sample| sample.boot);
    let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    values.len() >= TRIALS_NEEDED && level_changes(&values)
}
