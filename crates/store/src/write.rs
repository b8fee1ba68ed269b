// SPDX-License-Identifier: GPL-2.0-only
//! Appending: one record is one transaction.

use model::{Histogram, Record, Series};
use rusqlite::{Transaction, named_params, params};

use crate::{Session, Store, StoreError};

impl Store {
    /// Appends a session and returns its number.
    ///
    /// # Errors
    /// When the file is locked or full, or cannot be written.
    pub fn begin(&self, session: &Session) -> Result<i64, StoreError> {
        self.insert_session(session).map_err(|error| self.failed("append a session", error))
    }

    fn insert_session(&self, session: &Session) -> rusqlite::Result<i64> {
        self.connection.execute(
            "INSERT INTO sessions (session, family, experiment, plan, seed, command,
                                   experiment_json, started_unix_s, fairground)
             SELECT next, coalesce(:family, next), :experiment, :plan, :seed, :command,
                    :experiment_json, :started_unix_s, :fairground
             FROM (SELECT coalesce(max(session), 0) + 1 AS next FROM sessions)",
            named_params! {
                ":family": session.family,
                ":experiment": session.experiment.name,
                ":plan": session.plan,
                ":seed": session.seed.0.to_string(),
                ":command": session.command,
                ":experiment_json": json(&session.experiment)?,
                ":started_unix_s": integer(session.started_unix_s)?,
                ":fairground": session.fairground,
            },
        )?;
        Ok(self.connection.last_insert_rowid())
    }

    /// Appends a record with all its numbers; it is safely on the disk when this returns.
    ///
    /// # Errors
    /// When the file is locked or full, or cannot be written; then nothing of the record is in it.
    pub fn append(&self, session: i64, record: &Record) -> Result<(), StoreError> {
        self.insert_all(session, record).map_err(|error| self.failed("append a record", error))
    }

    fn insert_all(&self, session: i64, record: &Record) -> rusqlite::Result<()> {
        let transaction = self.connection.unchecked_transaction()?;
        insert_record(&transaction, session, record)?;
        let id = transaction.last_insert_rowid();
        insert_metrics(&transaction, id, record)?;
        for histogram in &record.measured.histograms {
            insert_histogram(&transaction, id, histogram)?;
        }
        for series in &record.measured.series {
            insert_series(&transaction, id, series)?;
        }
        if let Some(trace) = &record.trace {
            let sql = "INSERT INTO traces (record, trace) VALUES (?1, ?2)";
            transaction.execute(sql, params![id, json(trace)?])?;
        }
        transaction.commit()
    }
}

fn insert_record(
    transaction: &Transaction<'_>,
    session: i64,
    record: &Record,
) -> rusqlite::Result<()> {
    let Record { trial, outcome, measured, provenance, .. } = record;
    let mut insert = transaction.prepare_cached(
        "INSERT INTO records (session, trial_id, experiment, backend, contestant, workload, cell,
             machine, block, boot, boot_id, boot_position, position, seed, kernel_release, outcome,
             reason, measured_hash, trial, outcome_json, provenance)
         VALUES (:session, :trial_id, :experiment, :backend, :contestant, :workload, :cell,
             :machine, :block, :boot, :boot_id, :boot_position, :position, :seed, :kernel_release,
             :outcome, :reason, :measured_hash, :trial, :outcome_json, :provenance)",
    )?;
    insert.execute(named_params! {
        ":session": session,
        ":trial_id": trial.id(),
        ":experiment": trial.experiment,
        ":backend": json(&trial.backend)?.trim_matches('"'),
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

fn insert_metrics(transaction: &Transaction<'_>, id: i64, record: &Record) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO metrics (record, name, grp, value, missing) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for metric in &record.measured.metrics {
        insert.execute(params![id, metric.name, metric.group, metric.value, metric.missing])?;
    }
    Ok(())
}

fn insert_histogram(
    transaction: &Transaction<'_>,
    id: i64,
    histogram: &Histogram,
) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO histograms (record, name, grp, count, min, max, buckets)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    insert.execute(params![
        id,
        histogram.name,
        histogram.group,
        integer(histogram.count)?,
        integer(histogram.min)?,
        integer(histogram.max)?,
        json(&histogram.buckets)?,
    ])?;
    Ok(())
}

fn insert_series(transaction: &Transaction<'_>, id: i64, series: &Series) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO series (record, name, interval_ns, end_ns, points, missing)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    insert.execute(params![
        id,
        series.name,
        integer(series.interval_ns)?,
        integer(series.end_ns)?,
        json(&series.values)?,
        series.missing,
    ])?;
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
