// SPDX-License-Identifier: GPL-2.0-only
//! Reading: records come back exactly as they went in. Those that do not are named and set aside,
//! and never make the others unreadable.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use model::shared::Seen;
use model::{
    ActiveScheduler, Contestant, Histogram, Machine, Measured, Metric, Name, Record, Seed, Series,
    Workload,
};
use rusqlite::{Row, ffi::ErrorCode, named_params, types::Type};

use crate::{SchedulerSource, Session, Store, StoreError};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub experiment: Option<String>,
    /// Only those of this session and of the sessions that resume it.
    pub campaign: Option<i64>,
    pub session: Option<i64>,
    /// Only this trial's (a prefix of its identity suffices).
    pub trial_id: Option<String>,
    /// Whether to load the event traces, which may be large.
    pub traces: bool,
}

const CHOSEN: &str = "
    FROM records JOIN sessions USING (session)
    WHERE (:experiment IS NULL OR records.experiment = :experiment)
      AND (:campaign IS NULL OR campaign = :campaign)
      AND (:session IS NULL OR session = :session)
      AND (:trial_id IS NULL OR substr(trial_id, 1, length(:trial_id)) = :trial_id)";

/// The named parameters of [`CHOSEN`]; they borrow, so a function cannot return them.
macro_rules! parameters {
    ($filter:expr) => {
        named_params! {
            ":experiment": $filter.experiment,
            ":campaign": $filter.campaign,
            ":session": $filter.session,
            ":trial_id": $filter.trial_id,
        }
    };
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Read {
    pub records: Vec<Record>,
    pub damaged: Vec<Damage>,
}

/// Of each trial of a campaign, one record counts.
const ANSWERS: &str = " AND record IN (SELECT record FROM answers)";

impl Store {
    /// The records that are whole, by campaign, then in the order of the plan.
    pub fn records(&self, filter: &Filter) -> Result<Vec<Record>, StoreError> {
        Ok(self.read(filter)?.records)
    }

    /// The records, by campaign, then in the order of the plan, and which of them are damaged.
    pub fn read(&self, filter: &Filter) -> Result<Read, StoreError> {
        let ids =
            self.record_ids(filter).map_err(|error| self.failed("read the records", error))?;
        let (mut read, mut alike) = (Read::default(), Alike::default());
        for id in ids {
            match self.record(id, filter.traces) {
                Ok(mut record) => {
                    alike.share(&mut record);
                    read.records.push(record);
                }
                Err(Unread::Damaged(damage)) => read.damaged.push(damage),
                Err(Unread::Failed(error)) => return Err(self.failed("read a record", error)),
            }
        }
        Ok(read)
    }

    /// The numbers of the chosen records.
    pub(crate) fn record_ids(&self, filter: &Filter) -> rusqlite::Result<Vec<i64>> {
        let sql = format!("SELECT record {CHOSEN} {ANSWERS} ORDER BY campaign, position, record");
        self.all(&sql, parameters!(filter), |row| row.get(0))
    }

    /// A row of `records`, not yet decoded, so that an error can name its trial.
    fn row(&self, id: i64) -> rusqlite::Result<[String; 5]> {
        let columns = "trial_id, trial, outcome_json, provenance, measured_hash";
        let sql = format!("SELECT {columns} FROM records WHERE record = ?1");
        let read =
            |row: &Row<'_>| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?]);
        self.all(&sql, [id], read)?.pop().ok_or(rusqlite::Error::QueryReturnedNoRows)
    }

    pub(crate) fn record(&self, id: i64, with_trace: bool) -> Result<Record, Unread> {
        let damaged = |trial_id: &str, why: String| {
            Unread::Damaged(Damage { what: "record", id, trial_id: trial_id.into(), why })
        };
        let unread_of = |trial_id: &str, error: rusqlite::Error| {
            if is_of_row(&error) {
                damaged(trial_id, reason(&error))
            } else {
                Unread::Failed(error)
            }
        };
        let row = self.row(id).map_err(|error| unread_of("", error))?;
        let [trial_id, trial, outcome, provenance, measured_hash] = &row;
        let unread = |error| unread_of(trial_id, error);
        let decode = || {
            let (trial, outcome) = (serde_json::from_str(trial)?, serde_json::from_str(outcome)?);
            let provenance = serde_json::from_str(provenance)?;
            serde_json::Result::Ok(Record::without_measurement(trial, outcome, provenance))
        };
        let mut record = decode().map_err(|error| damaged(trial_id, error.to_string()))?;
        record.measured = self.measured(id).map_err(unread)?;
        if record.measured.hash() != *measured_hash {
            let why = "its numbers are not the ones that were measured";
            return Err(damaged(trial_id, why.into()));
        }
        if with_trace {
            record.trace = self.trace(id).map_err(unread)?;
        }
        Ok(record)
    }

    /// The numbers of a record, whatever its hash.
    fn measured(&self, id: i64) -> rusqlite::Result<Measured> {
        Ok(Measured {
            metrics: self.metrics(id)?,
            histograms: self.histograms(id)?,
            series: self.series(id)?,
        })
    }

    fn metrics(&self, record: i64) -> rusqlite::Result<Vec<Metric>> {
        let sql = "SELECT name, grp, value, missing FROM metrics WHERE record = ?1 ORDER BY rowid";
        self.all(sql, [record], |row| {
            Ok(Metric {
                name: name(row, 0)?,
                group: name(row, 1)?,
                value: row.get(2)?,
                missing: optional_name(row, 3)?,
            })
        })
    }

    fn histograms(&self, record: i64) -> rusqlite::Result<Vec<Histogram>> {
        let sql = "SELECT name, grp, count, min, max, buckets FROM histograms
                   WHERE record = ?1 ORDER BY rowid";
        self.all(sql, [record], |row| {
            Ok(Histogram {
                name: name(row, 0)?,
                group: name(row, 1)?,
                count: unsigned(row, 2)?,
                min: unsigned(row, 3)?,
                max: unsigned(row, 4)?,
                buckets: decoded(row, 5)?,
            })
        })
    }

    fn series(&self, record: i64) -> rusqlite::Result<Vec<Series>> {
        let sql = "SELECT name, interval_ns, end_ns, points, missing FROM series
                   WHERE record = ?1 ORDER BY rowid";
        self.all(sql, [record], |row| {
            Ok(Series {
                name: name(row, 0)?,
                interval_ns: unsigned(row, 1)?,
                end_ns: unsigned(row, 2)?,
                values: decoded(row, 3)?,
                missing: optional_name(row, 4)?,
            })
        })
    }

    fn trace(&self, record: i64) -> rusqlite::Result<Option<model::Trace>> {
        let sql = "SELECT trace FROM traces WHERE record = ?1";
        Ok(self.all(sql, [record], |row| decoded(row, 0))?.pop())
    }

    pub(crate) fn all<T>(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        self.steps.begin();
        self.connection.prepare_cached(sql)?.query_map(parameters, read)?.collect()
    }

    /// The identities of the trials that have a record.
    pub fn trial_ids_done(&self, filter: &Filter) -> Result<BTreeSet<String>, StoreError> {
        let sql = format!("SELECT DISTINCT trial_id {CHOSEN}");
        let ids = self.all(&sql, parameters!(filter), |row| row.get(0));
        let ids = ids.map_err(|error| self.failed("read the records", error))?;
        Ok(ids.into_iter().collect())
    }

    /// The texts of schedulers, by name.
    pub fn sources(&self) -> Result<Vec<SchedulerSource>, StoreError> {
        let sql = "SELECT sha256, name, files FROM sources ORDER BY name, sha256";
        let sources = self.all(sql, [], |row| {
            Ok(SchedulerSource { sha256: row.get(0)?, name: row.get(1)?, files: decoded(row, 2)? })
        });
        sources.map_err(|error| self.failed("read the schedulers' texts", error))
    }

    /// Every session that is whole, oldest first.
    pub fn sessions(&self) -> Result<Vec<Session>, StoreError> {
        Ok(self.read_sessions()?.0)
    }

    /// Every session, oldest first, and which of them are damaged.
    pub fn read_sessions(&self) -> Result<(Vec<Session>, Vec<Damage>), StoreError> {
        let sql = "SELECT session, campaign, plan, seed, command, experiment_json, started_unix_s,
                          fairground, origin
                   FROM sessions ORDER BY session";
        let rows = self.all(sql, [], |row| Ok((row.get(0)?, session(row))));
        let rows = rows.map_err(|error| self.failed("read the sessions", error))?;
        let (mut whole, mut damaged) = (Vec::new(), Vec::new());
        for (id, session) in rows {
            match session {
                Ok(session) => whole.push(session),
                Err(error) => {
                    let (trial_id, why) = (String::new(), reason(&error));
                    damaged.push(Damage { what: "session", id, trial_id, why });
                }
            }
        }
        Ok((whole, damaged))
    }
}

/// A record, or a session, that was set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// `record` or `session`.
    pub what: &'static str,
    pub id: i64,
    /// The identity of its trial; empty for a session, and where that is what cannot be read.
    pub trial_id: String,
    pub why: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { what, id, trial_id, why } = self;
        let trial =
            if trial_id.is_empty() { String::new() } else { format!(" (trial {trial_id})") };
        write!(to, "{what} {id}{trial} is damaged: {why}")
    }
}

/// What a row that cannot be decoded is called; SQLite's own words are for programmers.
fn reason(error: &rusqlite::Error) -> String {
    use rusqlite::Error::{FromSqlConversionFailure, InvalidColumnType};
    match error {
        FromSqlConversionFailure(_, _, inner) => format!("a value is not what it was ({inner})"),
        InvalidColumnType(_, name, kind) => format!("its {name} is of type {kind}"),
        _ => "its part of the file cannot be read".into(),
    }
}

/// Whether an error is about what one row has, as opposed to the file being locked or unreadable.
fn is_of_row(error: &rusqlite::Error) -> bool {
    // A missing table or column has no code of its own.
    let code = error.sqlite_error_code();
    matches!(code, None | Some(ErrorCode::DatabaseCorrupt | ErrorCode::Unknown))
}

pub(crate) enum Unread {
    Damaged(Damage),
    Failed(rusqlite::Error),
}

/// What many records have alike is kept once: 100,000 trials of a cell have one workload.
#[derive(Default)]
struct Alike {
    contestants: Seen<Contestant>,
    workloads: Seen<Workload>,
    machines: Seen<Machine>,
    facts: Seen<BTreeMap<String, String>>,
    active: Seen<ActiveScheduler>,
}

impl Alike {
    fn share(&mut self, record: &mut Record) {
        let (trial, provenance) = (&mut record.trial, &mut record.provenance);
        self.contestants.share(&mut trial.contestant);
        self.workloads.share(&mut trial.workload);
        self.machines.share(&mut trial.machine);
        for facts in [&mut provenance.kernel_facts, &mut provenance.programs] {
            self.facts.share(facts);
        }
        for active in [&mut provenance.scheduler_before, &mut provenance.scheduler_after] {
            self.active.share(active);
        }
    }
}

fn session(row: &Row<'_>) -> rusqlite::Result<Session> {
    let id: i64 = row.get(0)?;
    let first: i64 = row.get(1)?;
    Ok(Session {
        id,
        campaign: (first != id).then_some(first),
        plan: row.get(2)?,
        seed: Seed(row.get::<_, String>(3)?.parse().map_err(|error| conversion(3, error))?),
        command: row.get(4)?,
        experiment: decoded(row, 5)?,
        started_unix_s: unsigned(row, 6)?,
        fairground: row.get(7)?,
        origin: row.get::<_, Option<String>>(8)?.map(|json| from_json(8, &json)).transpose()?,
    })
}

fn name(row: &Row<'_>, column: usize) -> rusqlite::Result<Name> {
    Ok(row.get_ref(column)?.as_str()?.into())
}

fn optional_name(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Name>> {
    Ok(row.get_ref(column)?.as_str_or_null()?.map(Name::from))
}

fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    u64::try_from(row.get::<_, i64>(column)?).map_err(|error| conversion(column, error))
}

fn decoded<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    from_json(column, row.get_ref(column)?.as_str()?)
}

fn from_json<T: serde::de::DeserializeOwned>(column: usize, json: &str) -> rusqlite::Result<T> {
    serde_json::from_str(json).map_err(|error| conversion(column, error))
}

fn conversion<E>(column: usize, error: E) -> rusqlite::Error
where
    E: std::error::Error + Send + Sync + 'static,
{
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}
