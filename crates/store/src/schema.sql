-- SPDX-License-Identifier: GPL-2.0-only
-- The tables and views of a store. docs/src/reference/store.md says what each column is; schema.rs
-- adds the triggers that refuse changes. Seeds are text: SQLite has no unsigned 64-bit integers.

CREATE TABLE sessions (
    session         INTEGER PRIMARY KEY,
    campaign        INTEGER NOT NULL,
    experiment      TEXT NOT NULL,
    plan            TEXT NOT NULL,
    seed            TEXT NOT NULL,
    command         TEXT NOT NULL,
    experiment_json TEXT NOT NULL,
    started_unix_s  INTEGER NOT NULL,
    fairground      TEXT NOT NULL,
    origin          TEXT
) STRICT;

CREATE TABLE sources (
    sha256   TEXT PRIMARY KEY,
    name     TEXT NOT NULL,
    files    TEXT NOT NULL
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

CREATE TABLE series (
    record       INTEGER NOT NULL REFERENCES records (record),
    name         TEXT NOT NULL,
    interval_ns  INTEGER NOT NULL,
    end_ns       INTEGER NOT NULL,
    points       TEXT NOT NULL,
    missing      TEXT
) STRICT;
CREATE INDEX series_by_record ON series (record);

CREATE TABLE traces (
    record   INTEGER PRIMARY KEY REFERENCES records (record),
    trace    TEXT NOT NULL
) STRICT;

-- A trial has one record in a campaign.
CREATE TABLE answers (
    campaign INTEGER NOT NULL,
    trial_id TEXT NOT NULL,
    record   INTEGER NOT NULL UNIQUE REFERENCES records (record),
    PRIMARY KEY (campaign, trial_id)
) STRICT, WITHOUT ROWID;

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

CREATE VIEW over_time AS
    SELECT record, name, point.key * interval_ns AS begin_ns, point.value AS value
    FROM series, json_each(series.points) AS point;
