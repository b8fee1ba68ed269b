// SPDX-License-Identifier: GPL-2.0-only
//! The schema and its migrations.

use std::path::Path;

use rusqlite::Connection;

use crate::StoreError;
use crate::check::all_texts;

/// The version of the schema that this program writes: the number of migrations.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// `FAIR` in ASCII, which distinguishes a store from any other database.
const APPLICATION_ID: i64 = 0x4641_4952;

/// Migration *n* brings version *n* to *n* + 1. Old ones are never edited.
const MIGRATIONS: &[&str] = &[VERSION_1, VERSION_2, VERSION_3, VERSION_4];

const VERSION_1: &str = "
CREATE TABLE sessions (
    session         INTEGER PRIMARY KEY,
    family          INTEGER NOT NULL,
    experiment      TEXT NOT NULL,
    plan            TEXT NOT NULL,
    seed            TEXT NOT NULL,
    command         TEXT NOT NULL,
    experiment_json TEXT NOT NULL,
    started_unix_s  INTEGER NOT NULL,
    fairground      TEXT NOT NULL
) STRICT;
CREATE TABLE records (
    record          INTEGER PRIMARY KEY,
    session         INTEGER NOT NULL REFERENCES sessions (session),
    trial_id        TEXT NOT NULL,
    experiment      TEXT NOT NULL,
    backend         TEXT NOT NULL,
    contestant      TEXT NOT NULL,
    workload        TEXT NOT NULL,
    cell            TEXT NOT NULL,
    machine         TEXT NOT NULL,
    block           INTEGER NOT NULL,
    boot            INTEGER NOT NULL,
    boot_id         TEXT NOT NULL,
    boot_position   INTEGER NOT NULL,
    position        INTEGER NOT NULL,
    seed            TEXT NOT NULL,
    kernel_release  TEXT NOT NULL,
    outcome         TEXT NOT NULL,
    reason          TEXT NOT NULL,
    measured_hash   TEXT NOT NULL,
    trial           TEXT NOT NULL,
    outcome_json    TEXT NOT NULL,
    provenance      TEXT NOT NULL
) STRICT;
CREATE INDEX records_by_session ON records (session, position);
CREATE TABLE metrics (
    record   INTEGER NOT NULL REFERENCES records (record),
    name     TEXT NOT NULL,
    grp      TEXT NOT NULL,
    value    REAL,
    missing  TEXT
) STRICT;
CREATE INDEX metrics_by_record ON metrics (record);
CREATE TABLE histograms (
    record   INTEGER NOT NULL REFERENCES records (record),
    name     TEXT NOT NULL,
    grp      TEXT NOT NULL,
    count    INTEGER NOT NULL,
    min      INTEGER NOT NULL,
    max      INTEGER NOT NULL,
    buckets  TEXT NOT NULL
) STRICT;
CREATE INDEX histograms_by_record ON histograms (record);
CREATE TABLE traces (
    record   INTEGER PRIMARY KEY REFERENCES records (record),
    trace    TEXT NOT NULL
) STRICT;
CREATE VIEW results AS
    SELECT record, session, experiment, backend, contestant, kernel_release, cell, machine,
           block, boot, position, outcome, name, grp, value, missing
    FROM records JOIN metrics USING (record);
CREATE VIEW buckets AS
    SELECT record, name, grp, bucket.value ->> 0 AS value, bucket.value ->> 1 AS samples
    FROM histograms, json_each(histograms.buckets) AS bucket;
CREATE VIEW percentiles AS
    WITH quantiles (quantile) AS (VALUES (0.5), (0.9), (0.95), (0.99), (0.999)),
         running AS (
             SELECT record, name, grp, value,
                    sum(samples) OVER (PARTITION BY record, name, grp ORDER BY value) AS seen
             FROM buckets)
    SELECT h.record, h.name, h.grp, q.quantile,
           (SELECT max(h.min, min(h.max, r.value)) FROM running AS r
            WHERE r.record = h.record AND r.name = h.name AND r.grp = h.grp
              AND r.seen >= q.quantile * h.count
            ORDER BY r.value LIMIT 1) AS value
    FROM histograms AS h, quantiles AS q WHERE h.count > 0;
";

/// Series: numbers over the time of a trial.
const VERSION_2: &str = "
CREATE TABLE series (
    record       INTEGER NOT NULL REFERENCES records (record),
    name         TEXT NOT NULL,
    interval_ns  INTEGER NOT NULL,
    end_ns       INTEGER NOT NULL,
    points       TEXT NOT NULL,
    missing      TEXT
) STRICT;
CREATE INDEX series_by_record ON series (record);
CREATE VIEW over_time AS
    SELECT record, name, point.key * interval_ns AS begin_ns, point.value AS value
    FROM series, json_each(series.points) AS point;
";

/// Shared results, and the texts of schedulers.
const VERSION_3: &str = "
ALTER TABLE sessions ADD COLUMN origin TEXT;
CREATE TABLE sources (
    sha256   TEXT PRIMARY KEY,
    name     TEXT NOT NULL,
    files    TEXT NOT NULL
) STRICT;
";

/// A trial has one record in a campaign. Where earlier programs have kept several, the first
/// counts; the others stay.
const VERSION_4: &str = "
CREATE TABLE answers (
    family   INTEGER NOT NULL,
    trial_id TEXT NOT NULL,
    record   INTEGER NOT NULL UNIQUE REFERENCES records (record),
    PRIMARY KEY (family, trial_id)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO answers
    SELECT family, trial_id, record FROM records JOIN sessions USING (session) ORDER BY record;
";

/// The first version with series.
pub(crate) const SERIES_SINCE: i64 = 2;
/// The first version with shared results and schedulers' texts.
pub(crate) const SHARED_SINCE: i64 = 3;
/// The first version that keeps a trial from having two records.
pub(crate) const ANSWERS_SINCE: i64 = 4;

/// The tables that each version brings; they only ever grow.
const APPEND_ONLY: &[&[&str]] = &[
    &["sessions", "records", "metrics", "histograms", "traces"],
    &["series"],
    &["sources"],
    &["answers"],
];

/// Makes or updates the schema, in one transaction per version.
pub(crate) fn migrate(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::new(path, "prepare the schema", error);
    loop {
        connection.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
        let step = step(connection, path);
        let end = if matches!(step, Ok(true)) { "COMMIT" } else { "ROLLBACK" };
        connection.execute_batch(end).map_err(failed)?;
        if !step? {
            return Ok(());
        }
    }
}

/// One version up; `false` when there is nothing left to do.
fn step(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    let failed = |error| StoreError::new(path, "prepare the schema", error);
    let (version, fresh) = version(connection, path)?;
    let Some(migration) = MIGRATIONS.get(version as usize) else { return Ok(false) };
    connection.execute_batch(migration).map_err(failed)?;
    if fresh {
        connection.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    }
    forbid_changes(connection, APPEND_ONLY[version as usize]).map_err(failed)?;
    connection.pragma_update(None, "user_version", version + 1).map_err(failed)?;
    Ok(true)
}

/// What a store of a version has, as a query over `sqlite_schema` answers.
pub(crate) fn parts(version: i64, names: &str) -> rusqlite::Result<Vec<String>> {
    let connection = Connection::open_in_memory()?;
    let migrations = MIGRATIONS.iter().zip(APPEND_ONLY).take(version as usize);
    for (migration, tables) in migrations {
        connection.execute_batch(migration)?;
        forbid_changes(&connection, tables)?;
    }
    all_texts(&connection, names)
}

fn forbid_changes(connection: &Connection, tables: &[&str]) -> rusqlite::Result<()> {
    for table in tables {
        for change in ["UPDATE", "DELETE"] {
            connection.execute_batch(&format!(
                "CREATE TRIGGER {table}_no_{verb} BEFORE {change} ON {table}
                 BEGIN SELECT RAISE(ABORT, 'the store is append-only'); END;",
                verb = change.to_lowercase(),
            ))?;
        }
    }
    Ok(())
}

/// Refuses another program's database before anything in it is touched.
pub(crate) fn refuse_foreign(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    version(connection, path).map(drop)
}

/// Whether a file opened for reading is a store of a known version. An older one is read as it is:
/// reading never changes a file.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    match version(connection, path)? {
        (_, true) => Err(StoreError::NotAStore { path: path.into(), why: "it is empty".into() }),
        (_, false) => Ok(()),
    }
}

/// The version of an open store's file.
pub(crate) fn version_of(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    version(connection, path).map(|(version, _)| version)
}

/// The file's schema version, and whether the file is fresh (has no tables).
fn version(connection: &Connection, path: &Path) -> Result<(i64, bool), StoreError> {
    let failed = |error| StoreError::new(path, "read the schema's version", error);
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let fresh = number("SELECT count(*) FROM sqlite_schema").map_err(failed)? == 0;
    let id = number("PRAGMA application_id").map_err(failed)?;
    let found = number("PRAGMA user_version").map_err(failed)?;
    if !fresh && id != APPLICATION_ID {
        let why = "an SQLite database of another program".into();
        return Err(StoreError::NotAStore { path: path.into(), why });
    }
    if !(0..=SCHEMA_VERSION).contains(&found) {
        return Err(StoreError::Newer { path: path.into(), found, known: SCHEMA_VERSION });
    }
    Ok((found, fresh))
}
