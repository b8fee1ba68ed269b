// SPDX-License-Identifier: GPL-2.0-only
//! Results of other programs → trials → records, so that they can be compared with ours.
//!
//! ```text
//! text ─► format (from its content, or as told) ─► trials ─► records ─► store
//! ```
//!
//! [`FORMATS`] has a row for each format: how it is recognised, how it is read. [`programs`] has
//! the readers, [`mangohud`] and [`phoronix`] the longest of them; [`record`] is what all have in
//! common. A reader that is not sure returns an error with its line. The scheduler that a file
//! names is a claim: no record made here says that it was verified.
//!
//! What is not here: reading files and the store, which the verb does.

mod mangohud;
mod phoronix;
mod programs;
pub mod record;

use model::metric::PROGRAM;
use model::parsers::Reported;
use model::{Histogram, Measured, Metric, Outcome, Provenance, Workload};

/// A format that can be imported.
pub struct Format {
    /// Its name for `--as`.
    pub name: &'static str,
    /// Whether a text looks like it, even if truncated.
    is: fn(&str) -> bool,
    read: fn(&str) -> Result<Vec<ImportedTrial>, Fault>,
}

const FORMATS: [Format; 8] = [
    Format {
        name: "cyclictest",
        is: |text| has_all(text, &["\"num_threads\"", "\"thread\""]),
        read: programs::cyclictest,
    },
    Format {
        name: "hyperfine",
        is: |text| has_all(text, &["\"results\"", "\"command\"", "\"mean\""]),
        read: programs::hyperfine,
    },
    Format {
        name: "jitterdebugger",
        is: |text| {
            has_all(text, &["\"histogram\"", "\"cpu\""]) && !text.contains("\"num_threads\"")
        },
        read: programs::jitterdebugger,
    },
    Format {
        name: "mangohud",
        is: |text| text.lines().any(|line| line.starts_with("fps,frametime,")),
        read: mangohud::read,
    },
    Format {
        name: "perf",
        is: |text| text.contains(programs::PERF_BEGIN),
        read: programs::perf_messaging,
    },
    Format {
        name: "phoronix",
        is: |text| text.contains("<PhoronixTestSuite"),
        read: phoronix::read,
    },
    Format {
        name: "schbench",
        is: |text| text.contains("\"wakeup_latency_pct"),
        read: programs::schbench,
    },
    Format {
        name: "stress-ng",
        is: |text| has_all(text, &["\nmetrics:", "bogo-ops:"]),
        read: programs::stress_ng,
    },
];

fn has_all(text: &str, parts: &[&str]) -> bool {
    parts.iter().all(|part| text.contains(part))
}

/// The formats' names, sorted.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    FORMATS.iter().map(|format| format.name)
}

pub fn named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The only format that a text looks like.
///
/// # Errors
/// The text looks like none, or like several.
pub fn guessed(text: &str) -> Result<&'static Format, Fault> {
    let like: Vec<&Format> = FORMATS.iter().filter(|format| (format.is)(text)).collect();
    let list = |names: Vec<&str>, between: &str| names.join(between);
    match like.as_slice() {
        [format] => Ok(format),
        [] => {
            let all = list(names().collect(), ", ");
            Err(format!("in none of the known formats: {all}").into())
        }
        several => {
            let names = list(several.iter().map(|format| format.name).collect(), " or ");
            Err(format!("could be {names}; say which with --as").into())
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

/// One trial that another program has measured.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedTrial {
    /// The scheduler or system that the file names; empty: none.
    pub contestant: String,
    pub workload: Workload,
    pub outcome: Outcome,
    pub measured: Measured,
    /// What the file says of kernel, processor, CPUs and programs; notes for the reader.
    pub provenance: Provenance,
}

impl ImportedTrial {
    /// A trial without measures. The headlines are measures of the program.
    fn new(workload: &str, about: &str, headlines: &[&str]) -> ImportedTrial {
        let headline = headlines.iter().map(|name| format!("{name} {PROGRAM}")).collect();
        let (name, about) = (workload.into(), about.into());
        ImportedTrial {
            contestant: String::new(),
            workload: Workload { name, about, headline, ..Workload::default() },
            outcome: Outcome::Ok,
            measured: Measured::default(),
            provenance: Provenance::default(),
        }
    }

    fn number(&mut self, name: &str, value: f64) {
        self.measured.metrics.push(Metric::number(name, PROGRAM, value));
    }

    fn distribution(&mut self, name: &str, histogram: &Histogram) {
        let (name, group) = (name.to_owned(), PROGRAM.to_owned());
        self.measured.distribution(Histogram { name, group, ..histogram.clone() });
    }

    fn note(&mut self, note: impl Into<String>) {
        self.provenance.notes.push(note.into());
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
