// SPDX-License-Identifier: GPL-2.0-only
//! The schema: `schema.sql`, and triggers that refuse changes.

use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};

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

/// Whether a file opened for reading is a store of this version.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    if is_fresh(connection, path)? {
        return Err(StoreError::NotAStore { path: path.into(), why: "it is empty".into() });
    }
    Ok(())
}

/// Whether the file has no tables. Refuses other programs' databases and stores of other versions
/// before anything in them is touched.
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
    Ok(false)
}
