// SPDX-License-Identifier: GPL-2.0-only
//! Appending: a record is in the file as a whole, or not at all.

use model::{Histogram, Metric, Record, Series};
use rusqlite::{Transaction, TransactionBehavior, named_params, params};

use crate::{SchedulerSource, Session, Store, StoreError};

impl Store {
    /// Appends a session and returns its number.
    pub fn begin(&self, session: &Session) -> Result<i64, StoreError> {
        let begin = || -> rusqlite::Result<i64> {
            let transaction = self.begin_writing()?;
            let id = self.insert_session(session)?;
            transaction.commit().map(|()| id)
        };
        begin().map_err(|error| self.failed("append a session", error))
    }

    fn insert_session(&self, session: &Session) -> rusqlite::Result<i64> {
        let sql = "SELECT coalesce(max(session), 0) + 1 FROM sessions";
        let id: i64 = self.connection.query_row(sql, [], |row| row.get(0))?;
        self.connection.execute(
            "INSERT INTO sessions (session, campaign, experiment, plan, seed, command,
                                   experiment_json, started_unix_s, fairground, origin)
             VALUES (:session, :campaign, :experiment, :plan, :seed, :command,
                     :experiment_json, :started_unix_s, :fairground, :origin)",
            named_params! {
                ":session": id,
                ":campaign": session.campaign.unwrap_or(id),
                ":experiment": session.experiment.name,
                ":plan": session.plan,
                ":seed": session.seed.0.to_string(),
                ":command": session.command,
                ":experiment_json": json(&session.experiment)?,
                ":started_unix_s": integer(session.started_unix_s)?,
                ":fairground": session.fairground,
                ":origin": session.origin.as_ref().map(json).transpose()?,
            },
        )?;
        Ok(id)
    }

    /// Appends a record with all its numbers, [settled](Record::settle); it is safely on the disk
    /// when this returns. A trial that has a record in the campaign keeps that one: appending twice
    /// is appending once.
    ///
    /// # Errors
    /// When the file is locked or full, was deleted, or cannot be written; then nothing of the
    /// record is in it.
    pub fn append(&self, session: i64, record: &Record) -> Result<(), StoreError> {
        self.append_all(session, std::slice::from_ref(record))
    }

    /// Appends records as [`append`](Store::append) does. Together they wait for the disk once.
    ///
    /// # Errors
    /// As for [`append`](Store::append); those before the first that cannot be appended are in the
    /// file.
    pub fn append_all(&self, session: i64, records: &[Record]) -> Result<(), StoreError> {
        self.refuse_gone()?;
        let mut done = self.insert_all(session, records);
        if done.is_err() && records.len() > 1 {
            // Each that fits is kept.
            let mut alone = records.chunks(1);
            done = alone.try_for_each(|record| self.insert_all(session, record));
        }
        done.map_err(|error| self.failed("append a record", error))
    }

    fn insert_all(&self, session: i64, records: &[Record]) -> rusqlite::Result<()> {
        let transaction = self.begin_writing()?;
        records.iter().try_for_each(|record| insert_whole(&transaction, session, record))?;
        transaction.commit()
    }

    /// A transaction that waits for other writers at its beginning, where waiting is possible.
    fn begin_writing(&self) -> rusqlite::Result<Transaction<'_>> {
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
    }

    /// Keeps the texts of schedulers that are not there yet.
    pub fn keep_sources(&self, sources: &[SchedulerSource]) -> Result<(), StoreError> {
        let keep = || -> rusqlite::Result<()> {
            let transaction = self.begin_writing()?;
            sources.iter().try_for_each(|source| insert_source(&transaction, source))?;
            transaction.commit()
        };
        keep().map_err(|error| self.failed("keep the schedulers' texts", error))
    }

    /// Appends sessions with their records, and schedulers' texts: all of it or nothing. A
    /// session's campaign is the index of an earlier one in the list. Returns the numbers of the
    /// sessions.
    ///
    /// # Errors
    /// When the file is locked or full, or cannot be written; then nothing of it is there.
    pub fn take_in(
        &self,
        sessions: &[(Session, Vec<Record>)],
        sources: &[SchedulerSource],
    ) -> Result<Vec<i64>, StoreError> {
        let take_in = || -> rusqlite::Result<Vec<i64>> {
            let transaction = self.begin_writing()?;
            sources.iter().try_for_each(|source| insert_source(&transaction, source))?;
            let mut ids = Vec::new();
            for (session, records) in sessions {
                let first =
                    session.campaign.and_then(|place| ids.get(usize::try_from(place).ok()?));
                let session = Session { campaign: first.copied(), ..session.clone() };
                let id = self.insert_session(&session)?;
                records.iter().try_for_each(|record| insert_whole(&transaction, id, record))?;
                ids.push(id);
            }
            transaction.commit().map(|()| ids)
        };
        take_in().map_err(|error| self.failed("append shared records", error))
    }
}

fn insert_source(transaction: &Transaction<'_>, source: &SchedulerSource) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO sources (sha256, name, files) VALUES (?1, ?2, ?3)";
    let files = json(&source.files)?;
    transaction.prepare_cached(sql)?.execute(params![source.sha256, source.name, files])?;
    Ok(())
}

/// The one way into the file for a record.
fn insert_whole(
    transaction: &Transaction<'_>,
    session: i64,
    record: &Record,
) -> rusqlite::Result<()> {
    let mut record = record.clone();
    record.settle();
    let trial = record.trial.id();
    let campaign = "(SELECT campaign FROM sessions WHERE session = ?1)";
    let sql = format!("SELECT 1 FROM answers WHERE campaign = {campaign} AND trial_id = ?2");
    if transaction.prepare_cached(&sql)?.exists(params![session, trial])? {
        return Ok(());
    }
    insert_record(transaction, session, &record)?;
    let id = transaction.last_insert_rowid();
    let sql =
        format!("INSERT INTO answers (campaign, trial_id, record) VALUES ({campaign}, ?2, ?3)");
    transaction.prepare_cached(&sql)?.execute(params![session, trial, id])?;
    insert_parts(transaction, id, &record)
}

/// What was measured, and the trace.
fn insert_parts(transaction: &Transaction<'_>, id: i64, record: &Record) -> rusqlite::Result<()> {
    let sql = "INSERT INTO metrics (record, name, grp, value, missing) VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut insert = transaction.prepare_cached(sql)?;
    for Metric { name, group, value, missing } in &record.measured.metrics {
        let (name, group, missing) = (name.as_str(), group.as_str(), missing.as_deref());
        insert.execute(params![id, name, group, value, missing])?;
    }
    let sql = "INSERT INTO histograms (record, name, grp, count, min, max, buckets)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let mut insert = transaction.prepare_cached(sql)?;
    for Histogram { name, group, count, min, max, buckets } in &record.measured.histograms {
        let (count, min, max) = (integer(*count)?, integer(*min)?, integer(*max)?);
        let (name, group) = (name.as_str(), group.as_str());
        insert.execute(params![id, name, group, count, min, max, json(buckets)?])?;
    }
    let sql = "INSERT INTO series (record, name, interval_ns, end_ns, points, missing)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut insert = transaction.prepare_cached(sql)?;
    for Series { name, interval_ns, end_ns, values, missing } in &record.measured.series {
        let (interval_ns, end_ns) = (integer(*interval_ns)?, integer(*end_ns)?);
        let (name, missing) = (name.as_str(), missing.as_deref());
        insert.execute(params![id, name, interval_ns, end_ns, json(values)?, missing])?;
    }
    if let Some(trace) = &record.trace {
        let sql = "INSERT INTO traces (record, trace) VALUES (?1, ?2)";
        transaction.execute(sql, params![id, json(trace)?])?;
    }
    Ok(())
}

fn insert_record(
    transaction: &Transaction<'_>,
    session: i64,
    record: &Record,
) -> rusqlite::Result<()> {
    let Record { trial, outcome, measured, provenance, .. } = record;
    let mut insert = transaction.prepare_cached(
        "INSERT INTO records (session, trial_id, experiment, backend, contestant, workload,
             cell, machine, block, boot, boot_id, boot_position, position, seed, kernel_release,
             outcome, reason, measured_hash, trial, outcome_json, provenance)
         VALUES (:session, :trial_id, :experiment, :backend, :contestant, :workload, :cell,
             :machine, :block, :boot, :boot_id, :boot_position, :position, :seed, :kernel_release,
             :outcome, :reason, :measured_hash, :trial, :outcome_json, :provenance)",
    )?;
    insert.execute(named_params! {
        ":session": session,
        ":trial_id": trial.id(),
        ":experiment": trial.experiment,
        ":backend": trial.backend.word(),
        ":contestant": trial.contestant.name,
        ":workload": trial.workload.name,
        ":cell": trial.workload.cell(),
        ":machine": trial.machine.name,
        ":block": trial.block,
        ":boot": trial.boot,
        ":boot_id": provenance.boot_id,
        ":boot_position": provenance.boot_position,
        ":position": trial.position,
        ":seed": trial.seed.0.to_string(),
        ":kernel_release": provenance.kernel_release,
        ":outcome": outcome.word(),
        ":reason": outcome.reason(),
        ":measured_hash": measured.hash(),
        ":trial": json(trial)?,
        ":outcome_json": json(outcome)?,
        ":provenance": json(provenance)?,
    })?;
    Ok(())
}

/// SQLite's integers are signed; 2⁶³ ns are 292 years, so a larger number is a mistake.
fn integer(value: u64) -> rusqlite::Result<i64> {
    i64::try_from(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

fn json<T: serde::Serialize>(value: &T) -> rusqlite::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}
