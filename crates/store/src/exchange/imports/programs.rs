// SPDX-License-Identifier: GPL-2.0-only
//! Readers of what one program has written, each in some ten lines.

use std::collections::BTreeMap;

use model::metric::PROGRAM;
use model::parsers::{Reported, positive};
use model::{Histogram, Outcome, ReadFault, Record};
use serde::Deserialize;
use serde_json::Value;

use super::{Format, add_number, text};

/// Adds the measurements that a parser of the live backend has found.
fn add_reported(record: &mut Record, reported: &Reported) {
    if let Some(completion_ns) = reported.completion_ns {
        add_number(record, "completion_ns", completion_ns);
    }
    if let Some(rate) = reported.operations_per_second {
        add_number(record, "iterations_per_second", rate);
    }
    if let Some(lateness) = &reported.timer_lateness {
        let (name, group) = ("timer_lateness_ns".into(), PROGRAM.into());
        record.measured.distribution(Histogram { name, group, ..lateness.clone() });
    }
}

/// `cyclictest --json`, or its text. Values from its `-h` on are counted there but not in the
/// histogram; without `-h` all are.
pub fn cyclictest(format: &Format, content: &str) -> Result<Vec<Record>, ReadFault> {
    // After the document the text form of the same may follow.
    let document = match content.find('{') {
        Some(start) => {
            let documents = serde_json::Deserializer::from_str(&content[start..]);
            documents.into_iter::<Value>().next().ok_or("there is no JSON")??
        }
        None => Value::Null,
    };
    let command = ["/cmdline", "/cmdline:"].map(|key| text(&document, key)).concat();
    if !command.is_empty() && !command.contains("cyclictest") {
        return Err(format!("it is of `{command}`, and not of cyclictest").into());
    }
    let reported = model::parsers::cyclictest::parse_cut(content)?;
    let mut record = format.record("cyclictest");
    add_reported(&mut record, &reported);
    let provenance = &mut record.provenance;
    provenance.kernel_release = text(&document, "/sysinfo/release").into();
    let version = reported.version.map(|version| ("cyclictest".to_owned(), version));
    provenance.programs.extend(version);
    if !command.is_empty() {
        provenance.notes.push(format!("its command: {command}"));
    }
    if document.is_null() {
        let note = "its numbers are taken for microseconds: the text does not tell of option -N";
        provenance.notes.push(note.into());
    }
    if !command.contains("--policy=other") {
        let note = "its threads may be SCHED_FIFO: the command does not say --policy=other";
        provenance.notes.push(note.into());
    }
    Ok(vec![record])
}

/// jitterdebugger's `results.json`. Values from 1,000 on are counted there but not in the
/// histogram.
pub fn jitterdebugger(format: &Format, content: &str) -> Result<Vec<Record>, ReadFault> {
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
pub fn hyperfine(format: &Format, content: &str) -> Result<Vec<Record>, ReadFault> {
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

/// The line with which each trial of `perf bench sched` begins, up to the name of its benchmark.
pub const PERF_BEGIN: &str = "# Running 'sched/";

/// What a program prints, read by the parser with which it is measured. A log may hold several
/// runs: each begins with the first of these beginnings of lines that is in the text.
pub fn printed(
    format: &Format,
    content: &str,
    parser: &str,
    beginnings: &[&str],
) -> Result<Vec<Record>, ReadFault> {
    let lines = || (1..).zip(content.split_inclusive('\n'));
    let begin = beginnings.iter().find(|begin| lines().any(|(_, line)| line.starts_with(**begin)));
    let mut runs: Vec<(usize, String)> = Vec::new();
    for (number, line) in lines() {
        let begins = begin.is_none_or(|begin| line.starts_with(begin));
        match runs.last_mut() {
            Some((_, run)) if begin.is_none() || !begins => run.push_str(line),
            _ if begins => runs.push((number, line.to_owned())),
            // What stands before the first run.
            _ => {}
        }
    }
    runs.iter().map(|(line, run)| printed_once(format, run, parser, *line)).collect()
}

fn printed_once(
    format: &Format,
    run: &str,
    parser: &str,
    line: usize,
) -> Result<Record, ReadFault> {
    let reported =
        model::parsers::parse(parser, run, "").map_err(|why| ReadFault::at_line(line, why))?;
    let of_perf = run.strip_prefix(PERF_BEGIN).and_then(|rest| rest.split_once('\''));
    let name = of_perf.map_or(format.name.into(), |(name, _)| format!("{}_{name}", format.name));
    let mut record = format.record(&name);
    add_reported(&mut record, &reported);
    // `# 20 groups == 800 threads run`, `Running in threaded mode with 1 groups using 40 file …`
    let before = run.lines().find_map(|line| Some(line.split_once(" groups ")?.0));
    let groups = before.and_then(|before| before.rsplit(' ').next()?.parse().ok());
    let parameter = groups.map(|groups| ("groups".to_owned(), groups));
    record.trial.workload.parameters.extend(parameter);
    let version = reported.version.map(|version| (format.name.to_owned(), version));
    record.provenance.programs.extend(version);
    Ok(record)
}

/// `stress-ng --metrics`, with `--yaml FILE` or as it prints it: one trial for each stressor.
///
/// Its YAML has a key and a value a line. Its rate per second of CPU time is ignored: a stressor
/// whose children do the work has almost no CPU time of its own, and the rate becomes meaningless.
pub fn stress_ng(format: &Format, content: &str) -> Result<Vec<Record>, ReadFault> {
    if content.contains("stress-ng: ") {
        let rates = model::parsers::stress_ng_rates(content)?;
        return Ok(rates.iter().map(|(name, rate)| stressor_record(format, name, *rate)).collect());
    }
    if content.lines().next_back().is_none_or(|line| line.trim_end() != "...") {
        let message = "the file is cut off: it does not end with `...`";
        return Err(ReadFault::at_line(content.lines().count(), message));
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
) -> Result<Record, ReadFault> {
    let (first, _, name) = fields[0];
    let number = |key: &str| {
        let field = fields.iter().find(|(_, found, _)| *found == key);
        let (line, _, value) = field
            .ok_or_else(|| ReadFault::at_line(first, format!("{name}: `{key}` is missing")))?;
        positive(value).map_err(|why| ReadFault::at_line(*line, format!("{name}: `{key}`: {why}")))
    };
    let rate = number("bogo-ops")? / number("wall-clock-time")?;
    let mut record = stressor_record(format, name, rate);
    let fact = |key: &str| facts.get(key).copied().unwrap_or_default();
    record.provenance.kernel_release = fact("release").into();
    record.provenance.cpus = fact("cpus-online").parse().unwrap_or(0);
    let version = fact("stress-ng-version");
    if !version.is_empty() {
        record.provenance.programs.insert("stress-ng".into(), version.into());
    }
    Ok(record)
}

fn stressor_record(format: &Format, name: &str, rate: f64) -> Record {
    let mut record = format.record(&format!("stress_ng {name}"));
    add_number(&mut record, "iterations_per_second", rate);
    record
}
