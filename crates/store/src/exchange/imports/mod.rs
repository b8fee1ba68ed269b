// SPDX-License-Identifier: GPL-2.0-only
//! Results of other programs → records, so that they can be compared with ours.
//!
//! ```text
//! text ─► format (from its content or as told) ─► records of the file ─► labelled records ─► store
//! ```
//!
//! `formats.toml` says of each format how it is recognised and where its numbers are; [`form`]
//! reads any text by it. A text that is not understood is an error with its line. The scheduler
//! that a file names is a claim: no record made here says that it was verified.
//!
//! What is not here: reading files and the store, which the verb does.

mod form;
mod labels;
mod mangohud;
mod phoronix;

use std::sync::LazyLock;

use model::metric::PROGRAM;
use model::{
    Backend, Contestant, Machine, Outcome, Provenance, ReadFault, Record, SchedulerChoice, Seed,
    Trial, Workload,
};
use serde::Deserialize;

use crate::exchange::shell;
use form::{Form, Place};
pub use labels::{ImportedFile, Labels, experiment, labelled};

static TABLE: LazyLock<Table> =
    LazyLock::new(|| toml::from_str(include_str!("formats.toml")).expect("a table of formats"));

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    format: Vec<Format>,
    refused: Vec<RefusedFormat>,
}

/// What the keys mean is in `formats.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Format {
    pub name: String,
    wanted: String,
    about: String,
    headline: Vec<String>,
    form: Vec<Form>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RefusedFormat {
    begins: Option<String>,
    #[serde(default)]
    has: Vec<Place>,
    what: String,
    help: String,
}

/// The formats' names, sorted.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    TABLE.format.iter().map(|format| format.name.as_str())
}

/// Whether a text describes the workload of one of the formats.
pub fn is_about(text: &str) -> bool {
    TABLE.format.iter().any(|format| format.about == text)
}

pub fn named(name: &str) -> Option<&'static Format> {
    TABLE.format.iter().find(|format| format.name == name)
}

/// The only format that a text looks like.
///
/// # Errors
/// The text looks like none, or like several.
pub fn guessed(text: &str) -> Result<&'static Format, ReadFault> {
    let alike: Vec<_> =
        TABLE.format.iter().filter(|format| format.form_of(text).is_some()).collect();
    match alike.as_slice() {
        [format] => Ok(format),
        [] => {
            let known = names().collect::<Vec<_>>().join(", ");
            Err(format!("in none of the known formats: {known}").into())
        }
        several => {
            let names: Vec<&str> = several.iter().map(|format| format.name.as_str()).collect();
            Err(format!("could be {}; say which with --as", names.join(" or ")).into())
        }
    }
}

/// What a file is that is not read, by its first bytes, and what helps.
pub fn refused_beginning(file: &str, bytes: &[u8]) -> Option<String> {
    let characters: String = bytes.iter().map(|&byte| char::from(byte)).collect();
    let begins = |begin: &String| characters.starts_with(begin);
    refusal(file, |row| row.begins.as_ref().is_some_and(begins))
}

/// The same by its text, unless that looks like a format that is read.
pub fn refused_text(file: &str, text: &str) -> Option<String> {
    let is_read = TABLE.format.iter().any(|format| format.form_of(text).is_some());
    let has = |row: &RefusedFormat| row.has.iter().any(|place| place.is_in(text));
    refusal(file, |row| !is_read && has(row))
}

fn refusal(file: &str, is: impl Fn(&RefusedFormat) -> bool) -> Option<String> {
    let RefusedFormat { what, help, .. } = TABLE.refused.iter().find(|row| is(row))?;
    Some(format!("{file}: {what}; {}", help.replace("FILE", &shell::quoted(file))))
}

impl Format {
    fn form_of(&self, text: &str) -> Option<&Form> {
        self.form.iter().find(|form| form.fits(text))
    }

    /// The records in a text of this format; at least one.
    ///
    /// # Errors
    /// If a part of the text is not understood, or it has no trial.
    pub fn read(&self, text: &str) -> Result<Vec<Record>, ReadFault> {
        let known = self.form_of(text);
        let is_json = text.trim_start().starts_with('{');
        let likely = || self.form.iter().find(|form| form.json == is_json);
        let form = known.or_else(likely).unwrap_or(&self.form[0]);
        let records = form.read(self, text).and_then(|records| {
            if records.is_empty() { Err("there is no result in it".into()) } else { Ok(records) }
        });
        records.map_err(|fault| match known {
            Some(_) => fault,
            None => {
                let message = format!("{}; what is read is {}", fault.message, self.wanted);
                ReadFault { message, ..fault }
            }
        })
    }

    /// A record without measures, of a scheduler that the file does not name.
    fn record(&self, workload: &str) -> Record {
        let workload = Workload {
            name: workload.into(),
            about: self.about.clone(),
            headline: self.headline.iter().map(|name| format!("{name} {PROGRAM}")).collect(),
            ..Workload::default()
        };
        let trial = Trial {
            backend: Backend::Imported,
            contestant: claimed("unnamed").into(),
            workload: workload.into(),
            machine: Machine { name: "unknown".into(), ..Machine::default() }.into(),
            seed: Seed(0),
            timeout_ms: 0,
            probes: false,
            ..Trial::default()
        };
        Record::without_measurement(trial, Outcome::Ok, Provenance::default())
    }
}

fn claimed(name: &str) -> Contestant {
    Contestant::new(name, SchedulerChoice::Claimed { name: name.into() })
}
