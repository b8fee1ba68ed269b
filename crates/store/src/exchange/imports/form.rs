// SPDX-License-Identifier: GPL-2.0-only
//! Reads a text by its row in `formats.toml`, where the keys are explained.

use std::collections::BTreeMap;

use model::metric::PROGRAM;
use model::parsers::{self, positive};
use model::{Metric, Outcome, ReadFault, Record};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::Value;

use super::{Format, claimed, mangohud, phoronix};

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Form {
    has: Vec<Place>,
    lacks: Vec<Place>,
    ends: Option<(Place, String)>,
    pub json: bool,
    trial: Vec<Place>,
    none: Option<String>,
    each: Option<String>,
    values: Option<String>,
    exit_codes: String,
    workload: String,
    called: Option<Place>,
    groups: Option<Place>,
    parser: Option<String>,
    metric: Vec<MetricPlace>,
    facts: BTreeMap<String, Place>,
    notes: Vec<String>,
    note_unless: Option<(Place, String)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricPlace {
    name: String,
    from: Place,
    per: Option<Place>,
    times: Option<f64>,
    #[serde(default)]
    needed: bool,
    #[serde(default)]
    may_be_zero: bool,
}

impl Form {
    /// Whether a text looks like it, even if it is cut off.
    pub fn fits(&self, text: &str) -> bool {
        self.has.iter().all(|place| place.is_in(text))
            && !self.lacks.iter().any(|place| place.is_in(text))
    }

    pub fn read(&self, format: &Format, text: &str) -> Result<Vec<Record>, ReadFault> {
        if let Some((end, without)) = &self.ends
            && self.fits(text)
            && !end.is_in(text)
        {
            return Err(ReadFault::at_line(text.lines().count(), without));
        }
        match self.parser.as_deref() {
            Some("mangohud") => return mangohud::read(format, text),
            Some("phoronix") => return phoronix::read(format, text),
            _ => {}
        }
        let (line, json) = if self.json { (0, first_document(text)?) } else { (1, Value::Null) };
        let whole = Part { text, line, json };
        let blank = self.blank(format, &whole);
        let mut records = Vec::new();
        for part in self.parts(&whole)? {
            let record = self.record(format, &part, &blank)?;
            match &self.values {
                Some(values) => records.extend(self.of_command(values, &part, &record)?),
                None => records.push(self.measured(&part, record)?),
            }
        }
        Ok(records)
    }

    /// What all records of a file have in common.
    fn blank(&self, format: &Format, whole: &Part) -> Record {
        let mut record = format.record(&format.name);
        let fact = |name| {
            let (text, _) = whole.find(self.facts.get(name)?)?;
            (!text.is_empty()).then_some(text)
        };
        // schbench says `none` if no scheduler is loaded.
        if let Some(name) = fact("scheduler").filter(|name| name != "none") {
            record.trial.contestant = claimed(&name).into();
        }
        let provenance = &mut record.provenance;
        provenance.kernel_release = fact("kernel").unwrap_or_default();
        provenance.cpus = fact("cpus").and_then(|cpus| cpus.parse().ok()).unwrap_or(0);
        provenance.programs.extend(fact("version").map(|version| (format.name.clone(), version)));
        let command = fact("command").map(|command| format!("its command: {command}"));
        provenance.notes.extend(command);
        provenance.notes.extend(self.notes.iter().cloned());
        let note = self.note_unless.as_ref().filter(|(place, _)| !place.is_in(whole.text));
        provenance.notes.extend(note.map(|(_, note)| note.clone()));
        record
    }

    /// The trials of a text, or the commands of a document.
    fn parts<'a>(&self, whole: &'a Part) -> Result<Vec<Part<'a>>, ReadFault> {
        if let Some(each) = &self.each {
            let items = whole.list(each).ok_or_else(|| format!("there is nothing in `{each}`"))?;
            return Ok(items.iter().map(|item| whole.with(item)).collect());
        }
        let starts = self.trial.iter().map(|place| place.starts(whole.text));
        let starts = starts.into_iter().find(|starts| !starts.is_empty());
        match (starts, &self.none) {
            (Some(starts), _) => {
                let ends = starts[1..].iter().copied().chain([whole.text.len()]);
                let mut line = whole.line + whole.text[..starts[0]].matches('\n').count();
                let part = |(&start, end): (&usize, usize)| {
                    let part = Part { text: &whole.text[start..end], line, json: Value::Null };
                    line += part.text.matches('\n').count();
                    part
                };
                Ok(starts.iter().zip(ends).map(part).collect())
            }
            (None, Some(none)) if !self.trial.is_empty() => Err(none.clone().into()),
            (None, _) => Ok(vec![whole.clone()]),
        }
    }

    /// The record of a part with its name, and with what its program's own parser finds.
    fn record(&self, format: &Format, part: &Part, blank: &Record) -> Result<Record, ReadFault> {
        let mut record = blank.clone();
        let find = |place: &Option<Place>| Some(part.find(place.as_ref()?)?.0);
        let workload = &mut record.trial.workload;
        if let Some(called) = find(&self.called) {
            workload.name = self.workload.replace("{}", &called);
        }
        let groups = find(&self.groups).and_then(|groups| groups.parse().ok());
        workload.parameters.extend(groups.map(|groups| ("groups".to_owned(), groups)));
        let Some(parser) = &self.parser else { return Ok(record) };
        let reported = match parser.as_str() {
            // What cannot be measured again is kept without its tail.
            "cyclictest" => parsers::cyclictest::parse_cut(part.text),
            parser => parsers::parse(parser, part.text, ""),
        };
        let reported = reported.map_err(|why| fault(part.line, why))?;
        reported.add_to(&mut record.measured);
        let version = reported.version.map(|version| (format.name.clone(), version));
        record.provenance.programs.extend(version);
        Ok(record)
    }

    /// A record for each number of a command; a trial that ended with an error has failed.
    fn of_command(
        &self,
        values: &str,
        part: &Part,
        command: &Record,
    ) -> Result<Vec<Record>, ReadFault> {
        let (name, key) = (&command.trial.workload.name, values.trim_start_matches('/'));
        let numbers = part
            .list(values)
            .ok_or_else(|| format!("`{name}` has no `{key}`, and a mean alone proves nothing"))?;
        let codes = part.list(&self.exit_codes);
        if codes.is_some_and(|codes| codes.len() != numbers.len()) {
            return Err(format!("`{name}` has not as many `exit_codes` as `{key}`").into());
        }
        let trial = |(place, number): (usize, &Value)| {
            let mut record = command.clone();
            match codes.map(|codes| codes[place].as_i64()) {
                Some(Some(0)) => {}
                Some(code) => {
                    let how = code.map_or("a signal".into(), |code| format!("exit code {code}"));
                    let reason = format!("the command ended with {how}");
                    return Ok(Record { outcome: Outcome::Failed { reason }, ..record });
                }
                None => {
                    let note = "the file does not say whether the command succeeded";
                    record.provenance.notes.push(note.into());
                }
            }
            self.measured(&part.with(number), record)
        };
        numbers.iter().enumerate().map(trial).collect()
    }

    /// Adds the measures that the table names.
    fn measured(&self, part: &Part, mut record: Record) -> Result<Record, ReadFault> {
        let name = record.trial.workload.name.clone();
        for metric in &self.metric {
            let number = |place| self.number(metric, place, part, &name);
            let (from, per) = (number(&metric.from)?, metric.per.as_ref().map(number).transpose()?);
            if let Some(from) = from {
                let value = from / per.flatten().unwrap_or(1.0) * metric.times.unwrap_or(1.0);
                record.measured.metrics.push(Metric::number(&metric.name, PROGRAM, value));
            }
        }
        Ok(record)
    }

    fn number(
        &self,
        metric: &MetricPlace,
        place: &Place,
        part: &Part,
        workload: &str,
    ) -> Result<Option<f64>, ReadFault> {
        let name = place.name();
        match (part.find(place), &self.none) {
            (None, _) if !metric.needed => Ok(None),
            (None, Some(none)) => Err(none.clone().into()),
            (None, None) => Err(fault(part.line, format!("{workload}: `{name}` is missing"))),
            (Some((text, _)), _) if metric.may_be_zero && text.parse() == Ok(0.0) => Ok(Some(0.0)),
            (Some((text, _)), _) if !metric.needed && text.parse() == Ok(0.0) => Ok(None),
            (Some((text, line)), _) => positive(&text)
                .map(Some)
                .map_err(|why| fault(line, format!("{workload}: `{name}`: {why}"))),
        }
    }
}

/// A JSON pointer, or a regular expression whose group is the value; its last match counts. `^` and
/// `$` mean the beginning and the end of a line.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub enum Place {
    Pointer(String),
    Pattern(Regex),
}

impl TryFrom<String> for Place {
    type Error = regex::Error;

    fn try_from(text: String) -> Result<Place, regex::Error> {
        if text.is_empty() || text.starts_with('/') {
            return Ok(Place::Pointer(text));
        }
        RegexBuilder::new(&text).multi_line(true).crlf(true).build().map(Place::Pattern)
    }
}

impl Place {
    pub fn is_in(&self, text: &str) -> bool {
        matches!(self, Place::Pattern(pattern) if pattern.is_match(text))
    }

    /// Where a pattern begins to match.
    pub fn starts(&self, text: &str) -> Vec<usize> {
        match self {
            Place::Pointer(_) => Vec::new(),
            Place::Pattern(pattern) => pattern.find_iter(text).map(|found| found.start()).collect(),
        }
    }

    /// How a message names it: a group `bogo_ops` is the file's `bogo-ops`.
    pub fn name(&self) -> String {
        match self {
            Place::Pointer(pointer) => pointer.trim_start_matches('/').replace('/', "."),
            Place::Pattern(pattern) => {
                let group = pattern.capture_names().flatten().next();
                group.map_or_else(|| pattern.to_string(), |group| group.replace('_', "-"))
            }
        }
    }
}

/// A part of a file: the whole, a command, or a trial.
#[derive(Clone)]
pub struct Part<'a> {
    pub text: &'a str,
    /// Its first line; 0 in JSON, whose values have none.
    pub line: usize,
    pub json: Value,
}

impl Part<'_> {
    /// The value at a place, and its line.
    pub fn find(&self, place: &Place) -> Option<(String, usize)> {
        match place {
            Place::Pointer(pointer) => match self.value(pointer)? {
                Value::Null => None,
                Value::String(text) => Some((text.clone(), self.line)),
                value => Some((value.to_string(), self.line)),
            },
            Place::Pattern(pattern) => {
                let group = pattern.captures_iter(self.text).last()?.get(1)?;
                let before = self.text[..group.start()].matches('\n').count();
                let line = if self.line == 0 { 0 } else { self.line + before };
                Some((group.as_str().to_owned(), line))
            }
        }
    }

    /// The value of a pointer; cyclictest writes some of its keys with a colon inside the quotes.
    pub fn value(&self, pointer: &str) -> Option<&Value> {
        self.json.pointer(pointer).or_else(|| self.json.pointer(&format!("{pointer}:")))
    }

    pub fn list(&self, pointer: &str) -> Option<&Vec<Value>> {
        self.value(pointer)?.as_array().filter(|items| !items.is_empty())
    }

    pub fn with(&self, json: &Value) -> Self {
        Part { text: self.text, line: self.line, json: json.clone() }
    }
}

pub fn fault(line: usize, message: String) -> ReadFault {
    if line == 0 { message.into() } else { ReadFault::at_line(line, message) }
}

/// The first document; the same as text may follow it.
fn first_document(text: &str) -> Result<Value, ReadFault> {
    let documents = serde_json::Deserializer::from_str(&text[text.find('{').unwrap_or(0)..]);
    Ok(documents.into_iter().next().ok_or("there is no JSON")??)
}
