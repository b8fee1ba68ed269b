// SPDX-License-Identifier: GPL-2.0-only
//! Readers of what one program has written, each in some ten lines.

use std::collections::BTreeMap;

use model::Outcome;
use model::metric::PROGRAM;
use model::parsers::positive;
use serde::Deserialize;
use serde_json::Value;

use super::{Fault, ImportedTrial};

/// A text in a JSON object; empty when there is none.
fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// `cyclictest --json`. Values from its `-h` on are counted there but not in the histogram.
pub fn cyclictest(content: &str) -> Result<Vec<ImportedTrial>, Fault> {
    // After the document the text form of the same may follow.
    let mut documents = serde_json::Deserializer::from_str(content).into_iter::<Value>();
    let document = documents.next().ok_or("there is no JSON")??;
    let reported = model::parsers::cyclictest::parse_cut(content)?;
    let about = "how late does a timer wake a task?";
    let mut imported = ImportedTrial::new("cyclictest", about, &["timer_lateness_ns.p99"]);
    imported.reported(&reported);
    let provenance = &mut imported.provenance;
    provenance.kernel_release = text(&document, "/sysinfo/release").into();
    let version = reported.version.map(|version| ("cyclictest".to_owned(), version));
    provenance.programs.extend(version);
    let command = ["/cmdline", "/cmdline:"].map(|key| text(&document, key));
    let command = command.into_iter().find(|command| !command.is_empty());
    if let Some(command) = command {
        imported.note(format!("its command: {command}"));
    }
    if command.is_none_or(|command| !command.contains("--policy=other")) {
        imported.note("its threads may be SCHED_FIFO: the command does not say --policy=other");
    }
    Ok(vec![imported])
}

/// jitterdebugger's `results.json`. Values from 1,000 on are counted there but not in the
/// histogram.
pub fn jitterdebugger(content: &str) -> Result<Vec<ImportedTrial>, Fault> {
    let document: Value = serde_json::from_str(content)?;
    let reported = model::parsers::parse("jitterdebugger", content, "")?;
    let about = "how late does a timer of SCHED_FIFO wake a task?";
    let mut imported = ImportedTrial::new("jitterdebugger", about, &["timer_lateness_ns.p99"]);
    imported.reported(&reported);
    imported.provenance.kernel_release = text(&document, "/sysinfo/release").into();
    let cpus = document.pointer("/sysinfo/cpus_online").and_then(Value::as_u64);
    imported.provenance.cpus = cpus.and_then(|cpus| u32::try_from(cpus).ok()).unwrap_or(0);
    imported.note("its threads are SCHED_FIFO, whatever schedules the other tasks");
    Ok(vec![imported])
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
pub fn hyperfine(content: &str) -> Result<Vec<ImportedTrial>, Fault> {
    let document: HyperfineExport = serde_json::from_str(content)?;
    let mut trials = Vec::new();
    for HyperfineCommand { command, times, exit_codes } in &document.results {
        let times = times.as_ref().filter(|times| !times.is_empty()).ok_or_else(|| {
            format!("`{command}` has no `times`, and a mean alone proves nothing")
        })?;
        if exit_codes.as_ref().is_some_and(|codes| codes.len() != times.len()) {
            return Err(format!("`{command}` has not as many `exit_codes` as `times`").into());
        }
        for (place, seconds) in times.iter().enumerate() {
            let code = exit_codes.as_ref().map(|codes| codes[place]);
            trials.push(hyperfine_trial(command, *seconds, code)?);
        }
    }
    Ok(trials)
}

/// One time with its exit code, if the file has any.
fn hyperfine_trial(
    command: &str,
    seconds: f64,
    code: Option<Option<i32>>,
) -> Result<ImportedTrial, Fault> {
    if !(seconds.is_finite() && seconds > 0.0) {
        return Err(format!("`{command}`: a time of {seconds} s cannot be right").into());
    }
    let about = "the run time of a command, measured by hyperfine";
    let mut imported = ImportedTrial::new(command, about, &["completion_ns"]);
    match code {
        None => imported.note("the file does not say whether the command succeeded"),
        Some(Some(0)) => {}
        Some(code) => {
            let how = code.map_or("a signal".to_owned(), |code| format!("exit code {code}"));
            imported.outcome = Outcome::Failed { reason: format!("the command ended with {how}") };
            return Ok(imported);
        }
    }
    imported.number("completion_ns", seconds * 1e9);
    Ok(imported)
}

/// The line with which each trial of `perf bench sched messaging` begins.
pub const PERF_BEGIN: &str = "# Running 'sched/messaging' benchmark:";

/// What `perf bench sched messaging` prints; each block of a log is a trial.
pub fn perf_messaging(content: &str) -> Result<Vec<ImportedTrial>, Fault> {
    let starts: Vec<usize> = content.match_indices(PERF_BEGIN).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([content.len()]);
    let blocks = starts.iter().zip(ends);
    blocks.map(|(&start, end)| perf_block(content, start, &content[start..end])).collect()
}

fn perf_block(content: &str, start: usize, block: &str) -> Result<ImportedTrial, Fault> {
    let line = content[..start].matches('\n').count() + 1;
    let reported =
        model::parsers::parse("perf-bench-sched", block, "").map_err(|why| Fault::at(line, why))?;
    let about = "perf bench sched messaging: groups that chat";
    let mut imported = ImportedTrial::new("perf_messaging", about, &["completion_ns"]);
    imported.reported(&reported);
    // `# 20 groups == 800 threads run`
    let groups = block.lines().find_map(|line| line.strip_prefix("# ")?.split_once(" groups == "));
    let groups = groups.and_then(|(groups, _)| groups.parse().ok());
    imported.workload.parameters.extend(groups.map(|groups| ("groups".to_owned(), groups)));
    Ok(imported)
}

/// schbench's names of quantiles, and Fairground's.
const SCHBENCH_STATISTICS: [(&str, &str); 5] = [
    ("pct50.0", "p50"),
    ("pct90.0", "p90"),
    ("pct99.0", "p99"),
    ("pct99.9", "p999"),
    ("max", "max"),
];

/// `schbench -j FILE`: quantiles of wake-up and request latency in microseconds, and requests per
/// second. It keeps no histogram, so its quantiles become single numbers.
pub fn schbench(content: &str) -> Result<Vec<ImportedTrial>, Fault> {
    let document: Value = serde_json::from_str(content)?;
    let numbers = document.get("int").ok_or("`int` is missing")?;
    let about = "schbench: messages wake workers, workers serve requests";
    let mut imported = ImportedTrial::new("schbench", about, &["wakeup_latency_ns.p99"]);
    for (theirs, ours) in
        [("wakeup_latency", "wakeup_latency_ns"), ("request_latency", "response_time_ns")]
    {
        for (quantile, statistic) in SCHBENCH_STATISTICS {
            let Some(value) = numbers.get(format!("{theirs}_{quantile}")) else { continue };
            let us = value.as_f64().filter(|us| us.is_finite() && *us >= 0.0);
            let us = us.ok_or_else(|| format!("`{theirs}_{quantile}` is not a time"))?;
            imported.number(&format!("{ours}.{statistic}"), us * 1e3);
        }
    }
    if imported.measured.value("wakeup_latency_ns.p50", PROGRAM).is_none() {
        return Err("`int.wakeup_latency_pct50.0` is missing".into());
    }
    let rate = numbers.get("rps_pct50.0").and_then(Value::as_f64);
    if let Some(rate) = rate.filter(|rate| *rate > 0.0) {
        imported.number("iterations_per_second", rate);
    }
    // The loaded sched_ext scheduler, or `none`.
    let ops = text(&document, "/normal/sched_ext");
    imported.contestant = if ops == "none" { String::new() } else { ops.into() };
    let version = text(&document, "/normal/version");
    if !version.is_empty() {
        imported.provenance.programs.insert("schbench".into(), version.into());
    }
    imported.note(format!("its command: {}", text(&document, "/normal/cmdline")));
    imported.note("iterations_per_second is the median of its seconds");
    Ok(vec![imported])
}

/// `stress-ng --metrics --yaml FILE`: one trial for each stressor.
///
/// Its YAML has a key and a value a line. Its rate per second of CPU time is ignored: a stressor
/// whose children do the work has almost no CPU time of its own, and the rate becomes meaningless.
pub fn stress_ng(content: &str) -> Result<Vec<ImportedTrial>, Fault> {
    if content.lines().next_back().is_none_or(|line| line.trim_end() != "...") {
        let message = "the file is cut off: it does not end with `...`";
        return Err(Fault::at(content.lines().count(), message));
    }
    let mut facts = BTreeMap::new();
    let mut stressors: Vec<Vec<(usize, &str, &str)>> = Vec::new();
    for (index, line) in content.lines().enumerate() {
        let Some((key, value)) = line.trim_start_matches([' ', '-']).split_once(':') else {
            continue;
        };
        let value = value.trim().trim_matches(['\'', '"']);
        if key == "stressor" {
            stressors.push(Vec::new());
        }
        match stressors.last_mut() {
            Some(fields) => fields.push((index + 1, key, value)),
            None => drop(facts.insert(key, value)),
        }
    }
    stressors.iter().map(|fields| stressor(fields, &facts)).collect()
}

/// A stressor's fields, each with its line; the first is its name.
fn stressor(
    fields: &[(usize, &str, &str)],
    facts: &BTreeMap<&str, &str>,
) -> Result<ImportedTrial, Fault> {
    let (first, _, name) = fields[0];
    let number = |key: &str| {
        let field = fields.iter().find(|(_, found, _)| *found == key);
        let (line, _, value) =
            field.ok_or_else(|| Fault::at(first, format!("{name}: `{key}` is missing")))?;
        positive(value).map_err(|why| Fault::at(*line, format!("{name}: `{key}`: {why}")))
    };
    let about = "stress-ng: bogus operations per second";
    let workload = format!("stress_ng {name}");
    let mut imported = ImportedTrial::new(&workload, about, &["iterations_per_second"]);
    imported.number("iterations_per_second", number("bogo-ops")? / number("wall-clock-time")?);
    let fact = |key: &str| facts.get(key).copied().unwrap_or_default();
    imported.provenance.kernel_release = fact("release").into();
    imported.provenance.cpus = fact("cpus-online").parse().unwrap_or(0);
    if let Some(version) = facts.get("stress-ng-version") {
        imported.provenance.programs.insert("stress-ng".into(), (*version).into());
    }
    Ok(imported)
}
