// SPDX-License-Identifier: GPL-2.0-only
//! Readers of what one program has written, each in some ten lines.

use std::collections::BTreeMap;

use model::metric::PROGRAM;
use model::parsers::{Reported, positive};
use model::{Histogram, Outcome, Record};
use serde::Deserialize;
use serde_json::Value;

use super::{Fault, Format, add_number, claimed};

/// A text in a JSON object; empty when there is none.
fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Adds the measurements that a parser of the live backend has found.
fn add_reported(record: &mut Record, reported: &Reported) {
    if let Some(completion_ns) = reported.completion_ns {
        add_number(record, "completion_ns", completion_ns);
    }
    if let Some(lateness) = &reported.timer_lateness {
        let (name, group) = ("timer_lateness_ns".into(), PROGRAM.into());
        record.measured.distribution(Histogram { name, group, ..lateness.clone() });
    }
}

/// `cyclictest --json`. Values from its `-h` on are counted there but not in the histogram.
pub fn cyclictest(format: &Format, content: &str) -> Result<Vec<Record>, Fault> {
    // After the document the text form of the same may follow.
    let mut documents = serde_json::Deserializer::from_str(content).into_iter::<Value>();
    let document = documents.next().ok_or("there is no JSON")??;
    let reported = model::parsers::cyclictest::parse_cut(content)?;
    let mut record = format.record("cyclictest");
    add_reported(&mut record, &reported);
    let provenance = &mut record.provenance;
    provenance.kernel_release = text(&document, "/sysinfo/release").into();
    let version = reported.version.map(|version| ("cyclictest".to_owned(), version));
    provenance.programs.extend(version);
    let command = ["/cmdline", "/cmdline:"].map(|key| text(&document, key)).concat();
    if !command.is_empty() {
        provenance.notes.push(format!("its command: {command}"));
    }
    if !command.contains("--policy=other") {
        let note = "its threads may be SCHED_FIFO: the command does not say --policy=other";
        provenance.notes.push(note.into());
    }
    Ok(vec![record])
}

/// jitterdebugger's `results.json`. Values from 1,000 on are counted there but not in the
/// histogram.
pub fn jitterdebugger(format: &Format, content: &str) -> Result<Vec<Record>, Fault> {
    let document: Value = serde_json::from_str(content)?;
    let reported = model::parsers::parse("jitterdebugger", content, "")?;
    let mut record = format.record("jitterdebugger");
    add_reported(&mut record, &reported);
    let provenance = &mut record.provenance;
    provenance.kernel_release = text(&document, "/sysinfo/release").into();
    let cpus = document.pointer("/sysinfo/cpus_online").and_then(Value::as_u64);
    provenance.cpus = cpus.and_then(|cpus| u32::try_from(cpus).ok()).unwrap_or(0);
    provenance.notes.push("its threads are SCHED_FIFO, whatever schedules the other tasks".into());
    Ok(vec![record])
}

#[derive(Deserialize)]
struct HyperfineExport {
    results: Vec<HyperfineCommand>,
}

#[derive(Deserialize)]
struct HyperfineCommand {
    command: String,
    #[serde(default)]
    times: Option<Vec<f64>>,
    /// `null` means killed by a signal. Old versions have no exit codes.
    #[serde(default)]
    exit_codes: Option<Vec<Option<i32>>>,
}

/// `hyperfine --export-json`: each time is a trial; one that ended with an error has failed.
pub fn hyperfine(format: &Format, content: &str) -> Result<Vec<Record>, Fault> {
    let document: HyperfineExport = serde_json::from_str(content)?;
    let mut records = Vec::new();
    for HyperfineCommand { command, times, exit_codes } in &document.results {
        let times = times.as_ref().filter(|times| !times.is_empty()).ok_or_else(|| {
            format!("`{command}` has no `times`, and a mean alone proves nothing")
        })?;
        if exit_codes.as_ref().is_some_and(|codes| codes.len() != times.len()) {
            return Err(format!("`{command}` has not as many `exit_codes` as `times`").into());
        }
        for (place, &seconds) in times.iter().enumerate() {
            if !(seconds.is_finite() && seconds > 0.0) {
                let message = format!("`{command}`: a time of {seconds} s cannot be right");
                return Err(message.into());
            }
            let mut record = format.record(command);
            match exit_codes.as_ref().map(|codes| codes[place]) {
                Some(Some(0)) => add_number(&mut record, "completion_ns", seconds * 1e9),
                None => {
                    add_number(&mut record, "completion_ns", seconds * 1e9);
                    let note = "the file does not say whether the command succeeded";
                    record.provenance.notes.push(note.into());
                }
                Some(code) => {
                    let how = code.map_or("a signal".into(), |code| format!("exit code {code}"));
                    let reason = format!("the command ended with {how}");
                    record.outcome = Outcome::Failed { reason };
                }
            }
            records.push(record);
        }
    }
    Ok(records)
}

/// The line with which each trial of `perf bench sched messaging` begins.
pub const PERF_BEGIN: &str = "# Running 'sched/messaging' benchmark:";

/// What `perf bench sched messaging` prints; each block of a log is a trial.
pub fn perf_messaging(format: &Format, content: &str) -> Result<Vec<Record>, Fault> {
    let mut records = Vec::new();
    let starts: Vec<usize> = content.match_indices(PERF_BEGIN).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([content.len()]);
    for (&start, end) in starts.iter().zip(ends) {
        let block = &content[start..end];
        let line = content[..start].matches('\n').count() + 1;
        let reported = model::parsers::parse("perf-bench-sched", block, "");
        let reported = reported.map_err(|why| Fault::at(line, why))?;
        let mut record = format.record("perf_messaging");
        add_reported(&mut record, &reported);
        // `# 20 groups == 800 threads run`
        let mut counts = block.lines().filter_map(|line| line.strip_prefix("# "));
        let groups = counts.find_map(|line| line.split_once(" groups == ")?.0.parse().ok());
        let parameter = groups.map(|groups| ("groups".to_owned(), groups));
        record.trial.workload.parameters.extend(parameter);
        records.push(record);
    }
    Ok(records)
}

/// schbench's names of quantiles, and Fairground's.
const SCHBENCH_STATISTICS: [(&str, &str); 5] = [
    ("pct50.0", "p50"),
    ("pct90.0", "p90"),
    ("pct99.0", "p99"),
    ("pct99.9", "p999"),
    ("max", "max"),
];

/// schbench's names of latencies, and Fairground's.
const SCHBENCH_LATENCIES: [(&str, &str); 2] =
    [("wakeup_latency", "wakeup_latency_ns"), ("request_latency", "response_time_ns")];

/// `schbench -j FILE`: quantiles of wake-up and request latency in microseconds, and requests per
/// second. It keeps no histogram, so its quantiles become single numbers.
pub fn schbench(format: &Format, content: &str) -> Result<Vec<Record>, Fault> {
    let document: Value = serde_json::from_str(content)?;
    let numbers = document.get("int").ok_or("`int` is missing")?;
    let mut record = format.record("schbench");
    for (theirs, ours) in SCHBENCH_LATENCIES {
        for (quantile, statistic) in SCHBENCH_STATISTICS {
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
        record.trial.contestant = claimed(ops);
    }
    let provenance = &mut record.provenance;
    let version = text(&document, "/normal/version");
    if !version.is_empty() {
        provenance.programs.insert("schbench".into(), version.into());
    }
    provenance.notes.push(format!("its command: {}", text(&document, "/normal/cmdline")));
    provenance.notes.push("iterations_per_second is the median of its seconds".into());
    Ok(vec![record])
}

/// `stress-ng --metrics --yaml FILE`: one trial for each stressor.
///
/// Its YAML has a key and a value a line. Its rate per second of CPU time is ignored: a stressor
/// whose children do the work has almost no CPU time of its own, and the rate becomes meaningless.
pub fn stress_ng(format: &Format, content: &str) -> Result<Vec<Record>, Fault> {
    if content.lines().next_back().is_none_or(|line| line.trim_end() != "...") {
        let message = "the file is cut off: it does not end with `...`";
        return Err(Fault::at(content.lines().count(), message));
    }
    let mut facts = BTreeMap::new();
    let mut stressors: Vec<Vec<(usize, &str, &str)>> = Vec::new();
    for (number, line) in (1..).zip(content.lines()) {
        let Some((key, value)) = line.trim_start_matches([' ', '-']).split_once(':') else {
            continue;
        };
        let value = value.trim().trim_matches(['\'', '"']);
        if key == "stressor" {
            stressors.push(Vec::new());
        }
        match stressors.last_mut() {
            Some(fields) => fields.push((number, key, value)),
            None => drop(facts.insert(key, value)),
        }
    }
    stressors.iter().map(|fields| stressor(format, fields, &facts)).collect()
}

/// A stressor's fields, each with its line; the first is its name.
fn stressor(
    format: &Format,
    fields: &[(usize, &str, &str)],
    facts: &BTreeMap<&str, &str>,
) -> Result<Record, Fault> {
    let (first, _, name) = fields[0];
    let number = |key: &str| {
        let field = fields.iter().find(|(_, found, _)| *found == key);
        let (line, _, value) =
            field.ok_or_else(|| Fault::at(first, format!("{name}: `{key}` is missing")))?;
        positive(value).map_err(|why| Fault::at(*line, format!("{name}: `{key}`: {why}")))
    };
    let mut record = format.record(&format!("stress_ng {name}"));
    let rate = number("bogo-ops")? / number("wall-clock-time")?;
    add_number(&mut record, "iterations_per_second", rate);
    let fact = |key: &str| facts.get(key).copied().unwrap_or_default();
    record.provenance.kernel_release = fact("release").into();
    record.provenance.cpus = fact("cpus-online").parse().unwrap_or(0);
    let version = fact("stress-ng-version");
    if !version.is_empty() {
        record.provenance.programs.insert("stress-ng".into(), version.into());
    }
    Ok(record)
}
