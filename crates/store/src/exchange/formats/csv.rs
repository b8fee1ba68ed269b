// SPDX-License-Identifier: GPL-2.0-only
//! Comma-separated values for spreadsheets, R and pandas: one line per number, or one per interval
//! of a series.
//!
//! A distribution gives a line for its count, its ends and some quantiles (`statistic`); a record
//! without any number still gives one line, so that failed trials stay visible.

use std::io::Write;

use anyhow::{Result, anyhow};
use model::text::cell;
use model::{Histogram, Record, Series};

const CONTEXT: [&str; 14] = [
    "experiment",
    "backend",
    "contestant",
    "kernel",
    "workload",
    "cell",
    "machine",
    "block",
    "boot",
    "boot_id",
    "boot_position",
    "trial",
    "outcome",
    "reason",
];

const NUMBER: [&str; 5] = ["measure", "group", "statistic", "value", "missing"];

/// The columns of an interval of a series; times are from the common start.
const INTERVAL: [&str; 5] = ["series", "begin_ns", "end_ns", "value", "missing"];

const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];

pub fn write(records: &[Record], out: &mut dyn Write) -> Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(CONTEXT.iter().chain(&NUMBER)).map_err(broken)?;
    for record in records {
        let context = context(record);
        for number in numbers(record) {
            line(&mut table, context.iter().chain(&number))?;
        }
    }
    Ok(table.flush()?)
}

/// Writes a line; names of strangers are no formulas.
fn line<'a>(
    table: &mut csv::Writer<&mut dyn Write>,
    texts: impl Iterator<Item = &'a String>,
) -> Result<()> {
    table.write_record(texts.map(|text| cell(text))).map_err(broken)
}

/// The error of the output itself, which callers tell from others.
fn broken(error: csv::Error) -> anyhow::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error.into(),
        other => anyhow!("{other:?}"),
    }
}

fn context(record: &Record) -> Vec<String> {
    let (trial, provenance) = (&record.trial, &record.provenance);
    vec![
        trial.experiment.clone(),
        trial.backend.word().into(),
        trial.contestant.name.clone(),
        provenance.kernel_release.clone(),
        trial.workload.name.clone(),
        trial.workload.cell(),
        trial.machine.name.clone(),
        trial.block.to_string(),
        trial.boot.to_string(),
        provenance.boot_id.clone(),
        provenance.boot_position.to_string(),
        trial.id(),
        record.outcome.word().into(),
        record.outcome.reason().into(),
    ]
}

/// Measure, group, statistic, value, reason why it is missing.
fn numbers(record: &Record) -> Vec<[String; 5]> {
    let metrics = record.measured.metrics.iter().map(|metric| {
        let value = metric.value.map(|value| value.to_string()).unwrap_or_default();
        let missing = metric.missing.as_deref().unwrap_or_default().into();
        [metric.name.to_string(), metric.group.to_string(), "value".into(), value, missing]
    });
    let quantiles = record.measured.histograms.iter().flat_map(statistics);
    let mut lines: Vec<_> = metrics.chain(quantiles).collect();
    if lines.is_empty() {
        lines.push(Default::default());
    }
    lines
}

fn statistics(histogram: &Histogram) -> Vec<[String; 5]> {
    let line = |statistic: &str, value: String| {
        let (name, group) = (histogram.name.to_string(), histogram.group.to_string());
        [name, group, statistic.into(), value, String::new()]
    };
    let mut lines = vec![line("count", histogram.count.to_string())];
    if histogram.count > 0 {
        lines.push(line("min", histogram.min.to_string()));
        let value = |q| histogram.quantile(q).map(|value| value.to_string()).unwrap_or_default();
        lines.extend(QUANTILES.iter().map(|&(name, quantile)| line(name, value(quantile))));
        lines.push(line("max", histogram.max.to_string()));
    }
    lines
}

/// Writes the series of all records; one that is missing gives one line with the reason.
pub fn write_series(records: &[Record], out: &mut dyn Write) -> Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(CONTEXT.iter().chain(&INTERVAL)).map_err(broken)?;
    for record in records {
        let context = context(record);
        for interval in record.measured.series.iter().flat_map(intervals) {
            line(&mut table, context.iter().chain(&interval))?;
        }
    }
    Ok(table.flush()?)
}

fn intervals(series: &Series) -> Vec<[String; 5]> {
    if let Some(why) = &series.missing {
        let none = String::new;
        return vec![[series.name.to_string(), none(), none(), none(), why.to_string()]];
    }
    let line = |(index, value): (usize, &f64)| {
        let (begin_ns, end_ns) = series.interval(index);
        let (begin_ns, end_ns) = (begin_ns.to_string(), end_ns.to_string());
        [series.name.to_string(), begin_ns, end_ns, value.to_string(), String::new()]
    };
    series.values.iter().enumerate().map(line).collect()
}
