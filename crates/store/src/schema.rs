// SPDX-License-Identifier: GPL-2.0-only
//! The schema: `schema.sql`, and triggers that refuse changes. A store may be damaged, or a
//! stranger's.
//!
//! A stranger's file can call a view `records`, and a trigger can change what is appended. So
//! everything that a file defines is compared with our definitions before any of it is used. It can
//! make a query that never ends, too: the steps of one have a limit.

use std::collections::BTreeSet;
use std::ffi::c_int;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use model::text;
use rusqlite::{Connection, Row, Transaction, TransactionBehavior};

use crate::StoreError;

/// The only version of the schema that this program reads and writes.
pub const SCHEMA_VERSION: i64 = 1;

/// `FAIR` in ASCII, which distinguishes a store from any other database.
const APPLICATION_ID: i64 = 0x4641_4952;

const TABLES_AND_VIEWS: &str = include_str!("schema.sql");

/// Every table only ever grows.
const APPEND_ONLY: [&str; 8] =
    ["sessions", "sources", "records", "metrics", "histograms", "series", "traces", "answers"];

/// Makes the schema in a file that has no tables yet.
pub(crate) fn create_if_fresh(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::new(path, "prepare the schema", error);
    // Another process may be making the same file.
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate);
    let transaction = transaction.map_err(failed)?;
    if is_fresh(&transaction, path)? {
        create(&transaction).map_err(failed)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION).map_err(failed)?;
    }
    transaction.commit().map_err(failed)
}

fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(TABLES_AND_VIEWS)?;
    for table in APPEND_ONLY {
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

/// What a file defines: its kind, its name, and the text that defines it, which SQLite keeps as it
/// was written; none for the indices that it makes itself.
type Definition = (String, String, Option<String>);

const DEFINITIONS: &str = "SELECT type, name, sql FROM sqlite_schema";

/// Figures about the tables that `ANALYZE` keeps.
const OF_ANALYZE: [&str; 2] = ["sqlite_stat1", "sqlite_stat4"];

fn ours() -> &'static BTreeSet<Definition> {
    static OURS: OnceLock<BTreeSet<Definition>> = OnceLock::new();
    OURS.get_or_init(|| {
        let made = || -> rusqlite::Result<BTreeSet<Definition>> {
            let connection = Connection::open_in_memory()?;
            create(&connection)?;
            let mut all = connection.prepare(DEFINITIONS)?;
            all.query_map([], definition)?.collect()
        };
        made().unwrap_or_default()
    })
}

fn definition(row: &Row<'_>) -> rusqlite::Result<Definition> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}

/// Refuses a file with anything that is not ours, and one that lacks what our queries need.
/// Triggers and views may be missing: nothing here reads them.
fn refuse_strange(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    const DOING: &str = "find all of its tables and indices";
    let failed = |error| StoreError::new(path, DOING, error);
    let mut missing: BTreeSet<&Definition> = ours().iter().collect();
    let mut all = connection.prepare(DEFINITIONS).map_err(failed)?;
    for found in all.query_map([], definition).map_err(failed)? {
        let found = found.map_err(failed)?;
        let (kind, name, _) = &found;
        let is_sqlites = kind == "table" && OF_ANALYZE.contains(&name.as_str());
        if !is_sqlites && !missing.remove(&found) {
            return Err(StoreError::Strange {
                path: path.into(),
                kind: text::line(kind),
                name: text::line(name),
            });
        }
    }
    if missing.iter().any(|(kind, ..)| kind == "table" || kind == "index") {
        return Err(StoreError::Broken { path: path.into(), doing: DOING });
    }
    Ok(())
}

/// Whether a file opened for reading is a store of this version.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    if is_fresh(connection, path)? {
        return Err(StoreError::NotAStore { path: path.into(), why: "it is empty".into() });
    }
    Ok(())
}

/// Whether the file has no tables. Refuses other programs' databases, stores of other versions, and
/// those with anything of somebody else, before any of it is used.
pub(crate) fn is_fresh(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    let failed = |error| StoreError::new(path, "read the schema's version", error);
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    if number("SELECT count(*) FROM sqlite_schema").map_err(failed)? == 0 {
        return Ok(true);
    }
    if number("PRAGMA application_id").map_err(failed)? != APPLICATION_ID {
        let why = "an SQLite database of another program".into();
        return Err(StoreError::NotAStore { path: path.into(), why });
    }
    let found = number("PRAGMA user_version").map_err(failed)?;
    if found != SCHEMA_VERSION {
        return Err(StoreError::OtherVersion { path: path.into(), found });
    }
    refuse_strange(connection, path).map(|()| false)
}

/// After this many instructions of its virtual machine SQLite asks whether to go on.
const ASKED_EVERY: c_int = 100_000;

/// The instructions that any query may take: seconds.
const FREE: u64 = 200_000_000;

/// Besides those for each byte of the file. The longest query, the check of all pages, takes less
/// than one.
const PER_BYTE: u64 = 20;

/// How often SQLite may still ask in the present query.
pub(crate) struct Steps {
    left: Arc<AtomicU64>,
    most: u64,
}

impl Steps {
    /// Limits all queries of a connection to a file.
    pub fn limited(connection: &mut Connection, path: &Path) -> rusqlite::Result<Steps> {
        let wal = std::path::PathBuf::from(format!("{}-wal", path.display()));
        let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |facts| facts.len());
        let bytes = bytes(path).saturating_add(bytes(&wal));
        Steps::at_most(connection, FREE.saturating_add(bytes.saturating_mul(PER_BYTE)))
    }

    fn at_most(connection: &mut Connection, instructions: u64) -> rusqlite::Result<Steps> {
        let most = instructions / ASKED_EVERY as u64;
        let left = Arc::new(AtomicU64::new(most));
        let counted = left.clone();
        let is_over = move || {
            let before = counted.load(Ordering::Relaxed);
            counted.store(before.saturating_sub(1), Ordering::Relaxed);
            before == 0
        };
        connection.progress_handler(ASKED_EVERY, Some(is_over))?;
        Ok(Steps { left, most })
    }

    pub fn begin(&self) {
        self.left.store(self.most, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_without_end_ends_and_the_next_one_runs() {
        let mut connection = Connection::open_in_memory().expect("a database");
        let steps = Steps::at_most(&mut connection, 2_000_000).expect("a limit");
        let count = |most: &str| {
            steps.begin();
            let sql = format!(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n {most})
                 SELECT count(*) FROM n"
            );
            connection.query_row(&sql, [], |row| row.get::<_, i64>(0))
        };
        let error = count("").expect_err("it has no end");
        let interrupted = rusqlite::ffi::ErrorCode::OperationInterrupted;
        assert_eq!(error.sqlite_error_code(), Some(interrupted));
        assert_eq!(count("WHERE i < 50000"), Ok(50_000));
        assert_eq!(count("WHERE i < 50000"), Ok(50_000));
    }
}
