// SPDX-License-Identifier: GPL-2.0-only
//! Results of other programs → trials → records, so that they can be compared with ours.
//!
//! ```text
//! text ─► format (from its content, or as told) ─► trials ─► records ─► store
//! ```
//!
//! One format, one file: [`jitterdebugger`] and [`cyclictest`] (histograms), [`stress_ng`],
//! [`perf`], [`hyperfine`] (rates and times), [`schbench`] (quantiles), [`phoronix`] (anything),
//! [`mangohud`] (frames). [`record`] is what they have in common.
//! A reader that is not sure returns an error with its line. The scheduler that a file names is a
//! claim: no record made here says that it was verified.
//!
//! What is not here: reading files and the store, which the verb does.

mod cyclictest;
mod hyperfine;
mod jitterdebugger;
mod mangohud;
mod perf;
mod phoronix;
pub mod record;
mod schbench;
mod stress_ng;

use std::collections::BTreeMap;

use model::metric::PROGRAM;
use model::parsers::Reported;
use model::{Histogram, Measured, Metric, Outcome};
use serde_json::Value;

/// One trial that another program has measured.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedTrial {
    /// The workload, as the cell's name.
    pub workload: String,
    /// The workload's parameters, if the file separates them from the name.
    pub parameters: BTreeMap<String, i64>,
    /// One sentence about it.
    pub about: String,
    /// The headline measures.
    pub headline: Vec<String>,
    /// The scheduler or system that the file names; empty: none.
    pub contestant: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Its numbers.
    pub measured: Measured,
    /// `uname -r`; empty where the file does not say.
    pub kernel: String,
    /// The processor; empty where the file does not say.
    pub processor: String,
    /// CPUs; 0 where the file does not say.
    pub cpus: u32,
    /// Versions of programs that the file names.
    pub programs: BTreeMap<String, String>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

impl ImportedTrial {
    /// A trial without measures.
    fn new(workload: &str, about: &str) -> ImportedTrial {
        ImportedTrial {
            workload: workload.into(),
            parameters: BTreeMap::new(),
            about: about.into(),
            headline: Vec::new(),
            contestant: String::new(),
            outcome: Outcome::Ok,
            measured: Measured::default(),
            kernel: String::new(),
            processor: String::new(),
            cpus: 0,
            programs: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    fn number(&mut self, name: &str, value: f64) {
        self.measured.metrics.push(Metric::number(name, PROGRAM, value));
    }

    fn distribution(&mut self, name: &str, histogram: &Histogram) {
        let (name, group) = (name.to_owned(), PROGRAM.to_owned());
        self.measured.distribution(Histogram { name, group, ..histogram.clone() });
    }

    /// Adds the measurements of a parser of the live backend.
    fn reported(&mut self, reported: &Reported) {
        if let Some(completion_ns) = reported.completion_ns {
            self.number("completion_ns", completion_ns);
        }
        if let Some(rate) = reported.operations_per_second {
            self.number("iterations_per_second", rate);
        }
        if let Some(lateness) = &reported.timer_lateness {
            self.distribution("timer_lateness_ns", lateness);
        }
    }
}

/// Why a file cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1, where there is one.
    pub line: Option<usize>,
    /// What is wrong, and what would help.
    pub message: String,
}

impl Fault {
    fn at(line: usize, message: impl Into<String>) -> Fault {
        Fault { line: Some(line), message: message.into() }
    }
}

impl From<String> for Fault {
    fn from(message: String) -> Fault {
        Fault { line: None, message }
    }
}

impl From<&str> for Fault {
    fn from(message: &str) -> Fault {
        message.to_owned().into()
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Fault {
        let line = (error.line() > 0).then_some(error.line());
        let text = error.to_string();
        let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
        let cut = if error.is_eof() { "; the file is cut off" } else { "" };
        Fault { line, message: format!("{message}{cut}") }
    }
}

/// A format that can be imported.
pub struct Format {
    /// Its name for `--as`.
    pub name: &'static str,
    /// Whether a text looks like it, even if truncated.
    is: fn(&str) -> bool,
    /// Its reader.
    read: fn(&str) -> Result<Vec<ImportedTrial>, Fault>,
}

/// Every format, by name.
const FORMATS: [Format; 8] = [
    Format { name: "cyclictest", is: cyclictest::is, read: cyclictest::read },
    Format { name: "hyperfine", is: hyperfine::is, read: hyperfine::read },
    Format { name: "jitterdebugger", is: jitterdebugger::is, read: jitterdebugger::read },
    Format { name: "mangohud", is: mangohud::is, read: mangohud::read },
    Format { name: "perf", is: perf::is, read: perf::read },
    Format { name: "phoronix", is: phoronix::is, read: phoronix::read },
    Format { name: "schbench", is: schbench::is, read: schbench::read },
    Format { name: "stress-ng", is: stress_ng::is, read: stress_ng::read },
];

/// The formats' names, sorted.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    FORMATS.iter().map(|format| format.name)
}

/// The format of this name.
pub fn named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The only format that a text looks like.
///
/// # Errors
/// The text looks like none, or like several.
pub fn guessed(text: &str) -> Result<&'static Format, Fault> {
    let all = || names().collect::<Vec<_>>().join(", ");
    let like: Vec<&Format> = FORMATS.iter().filter(|format| (format.is)(text)).collect();
    match like.as_slice() {
        [format] => Ok(format),
        [] => Err(format!("in none of the known formats: {}", all()).into()),
        several => {
            let names: Vec<&str> = several.iter().map(|format| format.name).collect();
            Err(format!("could be {}; say which with --as", names.join(" or ")).into())
        }
    }
}

/// The trials in a text of this format; at least one.
///
/// # Errors
/// If a part of the text is not understood, or it has no trial.
pub fn read(format: &Format, text: &str) -> Result<Vec<ImportedTrial>, Fault> {
    let trials = (format.read)(text)?;
    if trials.is_empty() { Err("there is no result in it".into()) } else { Ok(trials) }
}

/// A member of a JSON object.
fn member<'a>(value: &'a Value, key: &str) -> Result<&'a Value, Fault> {
    value.get(key).ok_or_else(|| format!("`{key}` is missing").into())
}

/// A text in a JSON object; empty when there is none.
fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The number of a line that holds a byte of the text, from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}
