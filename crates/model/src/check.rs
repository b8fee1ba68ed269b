// SPDX-License-Identifier: GPL-2.0-only
//! Rules for records that their type cannot express: what a record from a file must obey, and which
//! numbers it may have. Statistics square differences and divide by means, so the range is chosen
//! such that this never leaves the finite numbers.

use crate::record::Provenance;
use crate::series::POINTS_MAX;
use crate::trial::SCHEMA;
use crate::{Histogram, Measured, Metric, Outcome, Record, SchedulerChoice, Series, text};

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
            .or_else(|| self.trace_fault())
    }

    fn provenance_fault(&self) -> Option<String> {
        let provenance = &self.provenance;
        if provenance.started_unix_s.max(provenance.wall_ms) > NUMBER_MAX {
            return Some("its times are too large".into());
        }
        let active = [&provenance.scheduler_before, &provenance.scheduler_after];
        let names = active.map(|active| [&active.sched_ext_ops, &active.sched_ext_state]);
        if names.as_flattened().iter().any(|name| name.chars().count() > NAME_MAX) {
            return Some("the name of an active scheduler is too long".into());
        }
        let largest = self.texts().map(str::len).max().unwrap_or(0);
        (largest > TEXT_MAX).then(|| format!("a text of it has {largest} bytes"))
    }

    /// Its texts of any length.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let ending = match &self.outcome {
            Outcome::Ejected { reason, dump } => [reason.as_str(), dump],
            Outcome::Crashed { text } => [text, ""],
            other => [other.reason(), ""],
        };
        let Measured { metrics, series, .. } = &self.measured;
        let missing = metrics.iter().map(|metric| &metric.missing);
        let missing = missing.chain(series.iter().map(|series| &series.missing)).flatten();
        let Provenance { notes, printed, inside, .. } = &self.provenance;
        let notes = notes.iter().chain(printed).map(String::as_str).chain(inside.texts());
        notes.chain(missing.map(|why| &**why)).chain(ending)
    }

    fn trace_fault(&self) -> Option<String> {
        let tasks = &self.trace.as_ref()?.tasks;
        let mut names = tasks.iter().flat_map(|task| [&task.comm, &task.group]);
        let is_long = names.any(|name| name.chars().count() > NAME_MAX);
        is_long.then(|| "a task's name in its trace is too long".into())
    }
}

/// Why this cannot be a name; `None` if it can.
pub fn name_fault(what: &str, name: &str) -> Option<String> {
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
        (Some(value), None) => number_fault(*value).map(|why| format!("{name} of {group}: {why}")),
        (None, Some(why)) if !why.is_empty() => None,
        _ => Some(format!("{name} of {group} is neither a number nor missing with a reason")),
    })
}

fn histogram_fault(histogram: &Histogram) -> Option<String> {
    let Histogram { name, group, count, min, max, buckets } = histogram;
    let ascending = buckets.iter().is_sorted_by(|before, after| before.0 < after.0);
    let first = buckets.iter().next().is_none_or(|(lowest, _)| lowest <= *min);
    let last = buckets.iter().last().is_none_or(|(lowest, _)| lowest <= *max);
    let whole = ascending && histogram.is_complete() && min <= max && first && last;
    let small = *max.max(count) <= NUMBER_MAX && buckets.iter().all(|(_, samples)| samples > 0);
    let names = name_fault("measure", name).or_else(|| name_fault("group", group));
    names.or_else(|| {
        (!whole || !small).then(|| format!("the distribution {name} of {group} is not whole"))
    })
}

fn series_fault(series: &Series) -> Option<String> {
    let Series { name, interval_ns, end_ns, values, missing } = series;
    let whole = match missing {
        Some(why) => values.is_empty() && !why.is_empty(),
        None => values.iter().all(|&value| number_fault(value).is_none()),
    };
    let small = values.len() as u64 <= POINTS_MAX && *interval_ns.max(end_ns) <= NUMBER_MAX;
    let long = interval_ns.checked_mul(POINTS_MAX).is_some();
    let fault = || format!("the series {name} is not whole");
    name_fault("series", name).or_else(|| (!whole || !small || !long).then(fault))
}

/// The largest number, in any unit: a second has 10⁹ ns, and the age of the universe 10²⁷.
pub const LARGEST_NUMBER: f64 = 1e30;

pub const SMALLEST_NUMBER: f64 = 1e-60;

/// Why a number cannot be in a record; `None` if it can.
fn number_fault(value: f64) -> Option<String> {
    match value.abs() {
        size if size.is_nan() => Some("it is not a number".into()),
        size if size.is_infinite() => Some("it is infinite".into()),
        size if size > LARGEST_NUMBER => Some(format!("{value:e} is beyond ±{LARGEST_NUMBER:e}")),
        size if size > 0.0 && size < SMALLEST_NUMBER => {
            Some(format!("{value:e} is not 0 and nearer to it than {SMALLEST_NUMBER:e}"))
        }
        _ => None,
    }
}

impl Record {
    /// The record as stores keep it: −0 is 0, because SQLite does not tell them apart, and a number
    /// that statistics could not use is missing, with the reason. Texts have nothing in them that a
    /// terminal obeys.
    pub fn settle(&mut self) {
        self.outcome.settle();
        let provenance = &mut self.provenance;
        let texts = provenance.notes.iter_mut().chain(&mut provenance.printed);
        texts.for_each(|text| *text = text::escaped(text));
        self.measured.settle();
        self.provenance.probe_cost.retain(|_, cost| number_fault(cost.mean_ns).is_none());
    }
}

impl Outcome {
    fn settle(&mut self) {
        let texts = match self {
            Outcome::Ok => [None, None],
            Outcome::Ejected { reason, dump } => [Some(reason), Some(dump)],
            Outcome::Crashed { text } => [Some(text), None],
            Outcome::Timeout { reason }
            | Outcome::Hung { reason }
            | Outcome::Failed { reason }
            | Outcome::Unsupported { reason } => [Some(reason), None],
        };
        texts.into_iter().flatten().for_each(|text| *text = text::escaped(text));
    }
}

impl Measured {
    fn settle(&mut self) {
        self.metrics.iter_mut().for_each(settle_metric);
        self.series.iter_mut().for_each(settle_series);
    }
}

fn settle_metric(metric: &mut Metric) {
    // A number that JSON cannot write has come as `null`.
    let none = || Some(String::from("it is not a number"));
    let why = match (metric.value, &metric.missing) {
        (None, None) => none(),
        (None, Some(_)) => None,
        (Some(value), _) => number_fault(value),
    };
    if let Some(why) = why {
        (metric.value, metric.missing) = (None, Some(format!("not kept: {why}").into()));
    }
    metric.value = metric.value.map(without_sign);
}

fn settle_series(series: &mut Series) {
    if let Some(why) = series.values.iter().find_map(|&value| number_fault(value)) {
        let missing = Some(format!("not kept: {why}").into());
        *series = Series { name: std::mem::take(&mut series.name), missing, ..Series::default() };
    }
    series.values.iter_mut().for_each(|value| *value = without_sign(*value));
}

fn without_sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(value: f64) -> Metric {
        let mut metric = Metric::number("x", "all", value);
        settle_metric(&mut metric);
        metric
    }

    #[test]
    fn zero_loses_its_sign_and_nothing_else_changes() {
        assert!(settled(-0.0).value.is_some_and(f64::is_sign_positive));
        for value in [0.0, 1.0, -1.0, LARGEST_NUMBER, -LARGEST_NUMBER, SMALLEST_NUMBER] {
            assert_eq!(settled(value), Metric::number("x", "all", value));
        }
    }

    #[test]
    fn what_statistics_cannot_use_is_missing_with_the_reason() {
        let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, -1e308, 5e-324];
        for value in bad {
            let metric = settled(value);
            assert_eq!(metric.value, None);
            assert!(metric.missing.is_some_and(|why| why.starts_with("not kept: ")), "{value}");
        }
        let mut nothing = Metric { value: None, missing: None, ..settled(0.0) };
        settle_metric(&mut nothing);
        assert!(nothing.missing.is_some());
    }

    #[test]
    fn a_series_is_kept_whole_or_missing() {
        let series = |values: &[f64]| {
            let mut series = Series { values: values.into(), ..Series::default() };
            settle_series(&mut series);
            series
        };
        assert!(series(&[1.0, -0.0]).values.iter().all(|value| value.is_sign_positive()));
        let missing = series(&[1.0, f64::NAN]);
        assert!(missing.values.is_empty() && missing.missing.is_some());
    }
}
