// SPDX-License-Identifier: GPL-2.0-only
//! The inside of a shared file: one JSON object a line, definitions before what refers to them.

use std::collections::{BTreeMap, BTreeSet};

use crate::{SchedulerSource, Session};
use anyhow::Result;
use model::trial::hex16;
use model::{Experiment, Measured, Outcome, Provenance, Record, Seed, Trace};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::{About, Shared};
use crate::exchange::Refused;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    /// The first line.
    About(About),
    Source(SchedulerSource),
    /// A contestant, workload, machine or experiment, named by its content.
    Definition {
        id: String,
        is: Box<RawValue>,
    },
    /// One session of an experiment; its records follow.
    Session(SessionLine),
    /// A record of the session above.
    Record(Box<RecordLine>),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SessionLine {
    /// The place, from 0, of the session that this one resumes. The first files called it `family`.
    #[serde(alias = "family")]
    campaign: Option<i64>,
    /// A definition; its contestants, workloads and machines are definitions too.
    experiment: String,
    plan: String,
    seed: Seed,
    command: String,
    started_unix_s: u64,
    fairground: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordLine {
    /// [`model::Trial::id`].
    id: String,
    /// A trial whose contestant, workload and machine are definitions.
    trial: Box<RawValue>,
    outcome: Outcome,
    measured: Measured,
    /// [`Measured::hash`].
    hash: String,
    provenance: Provenance,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trace: Option<Trace>,
}

/// The largest definition, in bytes; an experiment of a hundred schedulers has some 10,000.
const VALUE_MAX: usize = 4 << 20;

/// The parts of a trial that are definitions.
const OF_TRIAL: [&str; 3] = ["contestant", "workload", "machine"];

/// The lists of an experiment whose members are definitions.
const OF_EXPERIMENT: [&str; 3] = ["contestants", "workloads", "machines"];

/// Fails if a record could not be read back; the error names the trial.
pub fn write(shared: &Shared) -> Result<String> {
    let mut writer = LineWriter::default();
    writer.line(&Line::About(shared.about.clone()))?;
    for source in &shared.sources {
        writer.line(&Line::Source(source.clone()))?;
    }
    for (session, records) in &shared.sessions {
        writer.session(session)?;
        for record in records {
            writer.record(record)?;
        }
    }
    Ok(writer.text)
}

#[derive(Default)]
struct LineWriter {
    text: String,
    defined: BTreeSet<String>,
}

impl LineWriter {
    fn line(&mut self, line: &Line) -> Result<()> {
        self.text += &serde_json::to_string(line)?;
        self.text.push('\n');
        Ok(())
    }

    /// Writes a definition once, and replaces it by its name.
    fn define(&mut self, place: &mut Value) -> Result<()> {
        let id = hex16(place);
        let is = std::mem::replace(place, Value::String(id.clone()));
        if self.defined.insert(id.clone()) {
            self.line(&Line::Definition { id, is: to_raw_value(&is)? })?;
        }
        Ok(())
    }

    fn session(&mut self, session: &Session) -> Result<()> {
        let mut experiment = serde_json::to_value(&session.experiment)?;
        for list in OF_EXPERIMENT {
            let members = experiment.get_mut(list).and_then(Value::as_array_mut);
            for member in members.into_iter().flatten() {
                self.define(member)?;
            }
        }
        self.define(&mut experiment)?;
        self.line(&Line::Session(SessionLine {
            campaign: session.campaign,
            experiment: experiment.as_str().unwrap_or_default().into(),
            plan: session.plan.clone(),
            seed: session.seed,
            command: session.command.clone(),
            started_unix_s: session.started_unix_s,
            fairground: session.fairground.clone(),
        }))
    }

    fn record(&mut self, record: &Record) -> Result<()> {
        let id = record.trial.id();
        if let Some(fault) = record.fault() {
            return Err(Refused(format!("trial {id} cannot be shared: {fault}")).into());
        }
        let mut trial = serde_json::to_value(&record.trial)?;
        for part in OF_TRIAL {
            self.define(&mut trial[part])?;
        }
        self.line(&Line::Record(Box::new(RecordLine {
            id,
            trial: to_raw_value(&trial)?,
            outcome: record.outcome.clone(),
            measured: record.measured.clone(),
            hash: record.measured.hash(),
            provenance: record.provenance.clone(),
            trace: record.trace.clone(),
        })))
    }
}

/// Reads a file's content, which is untrusted.
///
/// # Errors
/// What is wrong, and in which line below the seal's.
pub fn read(body: &str) -> Result<Shared, String> {
    let mut reader = Reader::default();
    for (index, line) in body.lines().enumerate() {
        // The seal is line 1 of the file.
        let place = |fault: String| format!("line {}: {fault}", index + 2);
        let line: Line = serde_json::from_str(line).map_err(|error| place(error.to_string()))?;
        reader.line(line, index == 0).map_err(place)?;
    }
    if reader.shared.records().next().is_none() {
        return Err("there is no record in it".into());
    }
    Ok(reader.shared)
}

#[derive(Default)]
struct Reader {
    shared: Shared,
    definitions: BTreeMap<String, Value>,
}

impl Reader {
    fn line(&mut self, line: Line, first: bool) -> Result<(), String> {
        match line {
            Line::About(about) if first => self.shared.about = about.into_lines(),
            Line::About(_) => return Err("it says twice what it is about".into()),
            _ if first => return Err("it does not say what it is about".into()),
            Line::Source(source) => self.source(source)?,
            Line::Definition { id, is } => {
                let is = value_of(&is)?;
                if hex16(&is) != id {
                    return Err(format!("definition {id} is not what its name says"));
                }
                self.definitions.insert(id, is);
            }
            Line::Session(session) => self.session(session)?,
            Line::Record(record) => self.record(*record)?,
        }
        Ok(())
    }

    fn source(&mut self, source: SchedulerSource) -> Result<(), String> {
        source.fault().map_or(Ok(()), Err)?;
        self.shared.sources.push(source);
        Ok(())
    }

    /// Replaces a name by its definition.
    fn resolve(&self, place: &mut Value) -> Result<(), String> {
        let id = place.as_str().ok_or("a definition's name is missing")?;
        let found = self.definitions.get(id);
        *place = found.ok_or_else(|| format!("definition {id} does not stand above"))?.clone();
        Ok(())
    }

    fn session(&mut self, line: SessionLine) -> Result<(), String> {
        let mut experiment = Value::String(line.experiment);
        self.resolve(&mut experiment)?;
        for list in OF_EXPERIMENT {
            let members = experiment.get_mut(list).and_then(Value::as_array_mut);
            for member in members.ok_or_else(|| format!("an experiment without {list}"))? {
                self.resolve(member)?;
            }
        }
        let before = self.shared.sessions.len() as i64;
        if line.campaign.is_some_and(|first| !(0..before).contains(&first)) {
            return Err("it resumes a session that does not stand above".into());
        }
        let session = Session {
            id: before,
            campaign: line.campaign,
            experiment: deserialised::<Experiment>(experiment)?,
            plan: line.plan,
            seed: line.seed,
            command: line.command,
            started_unix_s: line.started_unix_s,
            fairground: line.fairground,
            origin: None,
        };
        session.fault().map_or(Ok(()), Err)?;
        self.shared.sessions.push((session, Vec::new()));
        Ok(())
    }

    fn record(&mut self, line: RecordLine) -> Result<(), String> {
        let RecordLine { id, trial, outcome, measured, hash, provenance, trace } = line;
        let mut trial = value_of(&trial)?;
        for part in OF_TRIAL {
            self.resolve(trial.get_mut(part).ok_or_else(|| format!("a trial without {part}"))?)?;
        }
        let record = Record { trial: deserialised(trial)?, outcome, measured, provenance, trace };
        if record.trial.id() != id {
            return Err(format!("trial {id} is not what its identity says"));
        }
        if record.measured.hash() != hash {
            return Err(format!("the numbers of trial {id} are not the ones that were measured"));
        }
        let (session, records) =
            self.shared.sessions.last_mut().ok_or("a record stands above every session")?;
        session.record_fault(&record).map_or(Ok(()), Err)?;
        records.push(record);
        Ok(())
    }
}

/// A value whose form is not known while it is read: it may need many times its size.
fn value_of(text: &RawValue) -> Result<Value, String> {
    let size = text.get().len();
    if size > VALUE_MAX {
        return Err(format!("a definition of {size} bytes; {VALUE_MAX} are the most"));
    }
    serde_json::from_str(text.get()).map_err(|error| error.to_string())
}

fn deserialised<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}
