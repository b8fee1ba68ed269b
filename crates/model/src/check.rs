// SPDX-License-Identifier: GPL-2.0-only
//! Validates a record from a file: rules that its type cannot express.

use crate::series::POINTS_MAX;
use crate::trial::SCHEMA;
use crate::{Histogram, Metric, Outcome, Record, SchedulerChoice, Series, number};

/// The longest name, in characters.
const NAME_MAX: usize = 400;

/// The longest text (a dump, or a scheduler's output), in bytes.
const TEXT_MAX: usize = 4 << 20;

/// The largest number of nanoseconds, seconds or samples: what the store's integers hold.
const NUMBER_MAX: u64 = i64::MAX as u64;

impl Record {
    /// Why Fairground cannot have made this record; `None` if it can.
    pub fn fault(&self) -> Option<String> {
        let trial = &self.trial;
        if trial.schema != SCHEMA {
            return Some(format!("its schema is {}, known is {SCHEMA}", trial.schema));
        }
        let names = [
            ("experiment", &trial.experiment),
            ("contestant", &trial.contestant.name),
            ("workload", &trial.workload.name),
            ("machine", &trial.machine.name),
        ];
        let bad_name = names.into_iter().find_map(|(what, name)| name_fault(what, name));
        bad_name
            .or_else(|| scheduler_fault(&trial.contestant.scheduler))
            .or_else(|| self.measured.metrics.iter().find_map(metric_fault))
            .or_else(|| self.measured.histograms.iter().find_map(histogram_fault))
            .or_else(|| self.measured.series.iter().find_map(series_fault))
            .or_else(|| self.provenance_fault())
    }

    fn provenance_fault(&self) -> Option<String> {
        let provenance = &self.provenance;
        if provenance.started_unix_s.max(provenance.wall_ms) > NUMBER_MAX {
            return Some("its times are too large".into());
        }
        let dump = match &self.outcome {
            Outcome::Ejected { dump, .. } => dump.as_str(),
            Outcome::Crashed { text } => text,
            other => other.reason(),
        };
        let notes = provenance.notes.iter().chain(&provenance.printed);
        let largest = notes.map(String::len).chain([dump.len()]).max().unwrap_or(0);
        (largest > TEXT_MAX).then(|| format!("a text of it has {largest} bytes"))
    }
}

/// Why this cannot be a name; `None` if it can.
fn name_fault(what: &str, name: &str) -> Option<String> {
    match name {
        "" => Some(format!("its {what} has no name")),
        name if name.chars().count() > NAME_MAX => Some(format!("its {what}'s name is too long")),
        name if name.chars().any(char::is_control) => {
            Some(format!("its {what}'s name has control characters"))
        }
        _ => None,
    }
}

fn scheduler_fault(scheduler: &SchedulerChoice) -> Option<String> {
    let SchedulerChoice::File { sha256, .. } = scheduler else { return None };
    let is_hash = sha256.len() == 64 && sha256.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
    (!is_hash).then(|| "its scheduler's SHA-256 is none".into())
}

fn metric_fault(metric: &Metric) -> Option<String> {
    let Metric { name, group, value, missing } = metric;
    let names = name_fault("measure", name).or_else(|| name_fault("group", group));
    names.or_else(|| match (value, missing) {
        (Some(value), None) => number::fault(*value).map(|why| format!("{name} of {group}: {why}")),
        (None, Some(why)) if !why.is_empty() => None,
        _ => Some(format!("{name} of {group} is neither a number nor missing with a reason")),
    })
}

fn histogram_fault(histogram: &Histogram) -> Option<String> {
    let Histogram { name, group, count, min, max, buckets } = histogram;
    let ascending = buckets.windows(2).all(|pair| pair[0].0 < pair[1].0);
    let sum = buckets.iter().try_fold(0u64, |sum, &(_, samples)| sum.checked_add(samples));
    let first = buckets.first().is_none_or(|&(lowest, _)| lowest <= *min);
    let last = buckets.last().is_none_or(|&(lowest, _)| lowest <= *max);
    let whole = ascending && sum == Some(*count) && min <= max && first && last;
    let small = *max.max(count) <= NUMBER_MAX && buckets.iter().all(|&(_, samples)| samples > 0);
    let names = name_fault("measure", name).or_else(|| name_fault("group", group));
    names.or_else(|| {
        (!whole || !small).then(|| format!("the distribution {name} of {group} is not whole"))
    })
}

fn series_fault(series: &Series) -> Option<String> {
    let Series { name, interval_ns, end_ns, values, missing } = series;
    let whole = match missing {
        Some(why) => values.is_empty() && !why.is_empty(),
        None => values.iter().all(|&value| number::fault(value).is_none()),
    };
    let small = values.len() as u64 <= POINTS_MAX && *interval_ns.max(end_ns) <= NUMBER_MAX;
    let long = interval_ns.checked_mul(POINTS_MAX).is_some();
    let fault = || format!("the series {name} is not whole");
    name_fault("series", name).or_else(|| (!whole || !small || !long).then(fault))
}
