// SPDX-License-Identifier: GPL-2.0-only
//! schbench: quantiles of wake-up and request latency in microseconds, and requests per second, as
//! `schbench -j FILE` or as it prints them. It keeps no histogram, so its quantiles become single
//! numbers.

use model::metric::PROGRAM;
use model::{ReadFault, Record};
use serde_json::{Map, Value, json};

use super::{Format, add_number, claimed, text};

/// Its names of quantiles, and Fairground's.
const STATISTICS: [(&str, &str); 5] = [
    ("pct50.0", "p50"),
    ("pct90.0", "p90"),
    ("pct99.0", "p99"),
    ("pct99.9", "p999"),
    ("max", "max"),
];

/// Its names of latencies, and Fairground's.
const LATENCIES: [(&str, &str); 2] =
    [("wakeup_latency", "wakeup_latency_ns"), ("request_latency", "response_time_ns")];

/// What all headings of latencies in the text have.
pub const TEXT_BEGIN: &str = "percentiles (usec)";

/// The beginnings of headings in the text, and the names of the same in JSON. Before 2023 there
/// were wake-ups only.
const HEADINGS: [(&str, &str); 4] = [
    ("Wakeup Latencies percentiles (usec)", "wakeup_latency"),
    ("Latency percentiles (usec)", "wakeup_latency"),
    ("Request Latencies percentiles (usec)", "request_latency"),
    ("RPS percentiles", "rps"),
];

pub fn read(format: &Format, content: &str) -> Result<Vec<Record>, ReadFault> {
    let is_json = content.trim_start().starts_with('{');
    let document = if is_json { serde_json::from_str(content)? } else { of_text(content)? };
    let numbers = document.get("int").ok_or("`int` is missing")?;
    let mut record = format.record("schbench");
    for (theirs, ours) in LATENCIES {
        for (quantile, statistic) in STATISTICS {
            let Some(value) = numbers.get(format!("{theirs}_{quantile}")) else { continue };
            let us = value.as_f64().filter(|us| us.is_finite() && *us >= 0.0);
            let us = us.ok_or_else(|| format!("`{theirs}_{quantile}` is not a time"))?;
            add_number(&mut record, &format!("{ours}.{statistic}"), us * 1e3);
        }
    }
    if record.measured.value("wakeup_latency_ns.p50", PROGRAM).is_none() {
        return Err("`int.wakeup_latency_pct50.0` is missing".into());
    }
    let rate = numbers.get("rps_pct50.0").and_then(Value::as_f64);
    if let Some(rate) = rate.filter(|rate| *rate > 0.0) {
        add_number(&mut record, "iterations_per_second", rate);
    }
    // The loaded sched_ext scheduler, or `none`.
    let ops = text(&document, "/normal/sched_ext");
    if !matches!(ops, "" | "none") {
        record.trial.contestant = claimed(ops).into();
    }
    let provenance = &mut record.provenance;
    let version = text(&document, "/normal/version");
    if !version.is_empty() {
        provenance.programs.insert("schbench".into(), version.into());
    }
    let command = text(&document, "/normal/cmdline");
    if !command.is_empty() {
        provenance.notes.push(format!("its command: {command}"));
    }
    provenance.notes.push("iterations_per_second is the median of its seconds".into());
    Ok(vec![record])
}

/// The numbers of a text under the names that they have in JSON. It prints all of them again every
/// few seconds; the last ones are of the whole run.
fn of_text(content: &str) -> Result<Value, ReadFault> {
    let mut numbers = Map::new();
    let mut block = None;
    for (number, line) in (1..).zip(content.lines()) {
        let line = line.trim_start_matches([' ', '\t', '*']);
        if let Some((_, name)) = HEADINGS.iter().find(|(begin, _)| line.starts_with(begin)) {
            numbers.retain(|key, _| !key.starts_with(name));
            block = Some((number, *name));
        } else if let Some((_, name)) = block {
            let value = |text: &str| text.trim().parse::<f64>().ok().map(|value| json!(value));
            let quantile = line.split_once("th:").and_then(|(quantile, rest)| {
                let quantile: f64 = quantile.parse().ok()?;
                let key = format!("{name}_pct{quantile:.1}");
                Some((key, value(rest.split_ascii_whitespace().next()?)?))
            });
            let highest = || Some((format!("{name}_max"), value(line.split_once("max=")?.1)?));
            numbers.extend(quantile.or_else(highest));
        }
    }
    match block {
        None => Err(format!("there is no heading `Latencies {TEXT_BEGIN}`").into()),
        Some((line, name)) if !numbers.contains_key(&format!("{name}_max")) => {
            Err(ReadFault::at_line(line, "the file is cut off: this block has no `max=`"))
        }
        Some(_) => Ok(json!({ "int": numbers })),
    }
}
