// SPDX-License-Identifier: GPL-2.0-only
//! Whether two sets of records have the same measurements, byte for byte, as a virtual clock
//! promises.

use std::collections::{BTreeMap, BTreeSet};

use model::record::OBJECT;
use model::{Measured, Record};
use serde::{Deserialize, Serialize};

/// The result, trial by trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// Trials with equal measurements on both sides.
    pub same: usize,
    /// All others, in order of their identity.
    pub differences: Vec<TrialDifference>,
}

impl Identity {
    /// Whether nothing differs and there was something to compare.
    pub fn is_identical(&self) -> bool {
        self.differences.is_empty() && self.same > 0
    }
}

/// A trial that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialDifference {
    /// [`model::Trial::id`].
    pub trial: String,
    /// Contestant, cell and boot, for people.
    pub label: String,
    pub difference: Difference,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "what")]
pub enum Difference {
    /// The second set does not have the trial.
    OnlyInFirst,
    /// The first set does not have the trial.
    OnlyInSecond,
    /// The outcomes differ: `ok / timeout`.
    Outcome(String),
    /// Measurements differ: the guest's image, QEMU or firmware if they differ, then the first few
    /// numbers, as `name group: first / second`.
    Measured(Vec<String>),
}

/// The number of differing numbers of a trial that are listed.
const LISTED: usize = 8;

/// Compares two sets of records by trial. A trial that occurs several times on a side must be the
/// same each time.
pub fn identical(first: &[Record], second: &[Record]) -> Identity {
    let (first, second) = (by_trial(first), by_trial(second));
    let mut identity = Identity::default();
    let trials: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    for trial in trials {
        let none = Vec::new();
        let (a, b) = (first.get(trial).unwrap_or(&none), second.get(trial).unwrap_or(&none));
        match difference(a, b) {
            None => identity.same += 1,
            Some(difference) => {
                let (trial, label) = (trial.clone(), label(a.first().or(b.first())));
                identity.differences.push(TrialDifference { trial, label, difference });
            }
        }
    }
    identity
}

fn by_trial(records: &[Record]) -> BTreeMap<String, Vec<&Record>> {
    let mut trials: BTreeMap<String, Vec<&Record>> = BTreeMap::new();
    for record in records {
        trials.entry(record.trial.id()).or_default().push(record);
    }
    trials
}

fn label(record: Option<&&Record>) -> String {
    let Some(record) = record else { return String::new() };
    let trial = &record.trial;
    format!("{} in {}, boot {}", trial.contestant.name, trial.workload.cell(), trial.boot)
}

fn difference(first: &[&Record], second: &[&Record]) -> Option<Difference> {
    match (first, second) {
        ([], _) => Some(Difference::OnlyInSecond),
        (_, []) => Some(Difference::OnlyInFirst),
        ([reference, ..], _) => {
            first.iter().chain(second).find_map(|record| unlike(reference, record))
        }
    }
}

fn unlike(a: &Record, b: &Record) -> Option<Difference> {
    if a.outcome.word() != b.outcome.word() {
        let words = format!("{} / {}", a.outcome.word(), b.outcome.word());
        return Some(Difference::Outcome(words));
    }
    (a.measured.hash() != b.measured.hash()).then(|| {
        let guest = a.provenance.unlike_guest(&b.provenance);
        let guest = guest.map(|(fact, first, second)| format!("{fact}: {first} / {second}"));
        let objects = a.provenance.object().zip(b.provenance.object());
        let objects = objects.filter(|(first, second)| first != second);
        let object = objects.map(|(first, second)| format!("{OBJECT}: {first} / {second}"));
        let numbers = unlike_numbers(&a.measured, &b.measured);
        Difference::Measured(guest.into_iter().chain(object).chain(numbers).collect())
    })
}

fn unlike_numbers(a: &Measured, b: &Measured) -> Vec<String> {
    let (a, b) = (numbers(a), numbers(b));
    let mut lines: Vec<String> = Vec::new();
    for (key, value) in &a {
        let other = b.get(key).map_or("absent", String::as_str);
        if value != other {
            lines.push(format!("{key}: {value} / {other}"));
        }
    }
    lines.extend(b.iter().filter(|(key, _)| !a.contains_key(*key)).map(absent_first));
    if lines.is_empty() {
        lines.push("the same numbers in another order".into());
    }
    let more = lines.len().saturating_sub(LISTED);
    lines.truncate(LISTED);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}

fn absent_first((key, value): (&String, &String)) -> String {
    format!("{key}: absent / {value}")
}

/// Every number as text; a distribution as its count, its ends, and the hash of its buckets.
fn numbers(measured: &Measured) -> BTreeMap<String, String> {
    let metrics = measured.metrics.iter().map(|metric| {
        let missing = || format!("missing ({})", metric.missing.as_deref().unwrap_or("no reason"));
        let value = metric.value.map_or_else(missing, |value| value.to_string());
        (format!("{} {}", metric.name, metric.group), value)
    });
    let histograms = measured.histograms.iter().map(|h| {
        let hash = &model::trial::hex16(&h.buckets)[..6];
        let text = format!("{} samples, {} … {}, buckets {hash}", h.count, h.min, h.max);
        (format!("{} {}", h.name, h.group), text)
    });
    let series = measured.series.iter().map(|series| {
        let hash = &model::trial::hex16(series)[..6];
        let text = format!("{} intervals, {hash}", series.values.len());
        (format!("{} over time", series.name), text)
    });
    metrics.chain(histograms).chain(series).collect()
}
