// SPDX-License-Identifier: GPL-2.0-only
//! Looks at everything in a store: its pages, as SQLite checks them, each session, and each hash.

use std::path::Path;

use crate::read::Unread;
use crate::{Filter, Store, StoreError};

/// Pages and indexes, and rows that refer to what is not there.
const FAULTS: [&str; 2] = [
    "SELECT what || ': ' || count(*) || ' faults' FROM (
         SELECT CASE WHEN integrity_check LIKE '%index%'
                THEN 'an index does not agree with its table'
                ELSE 'the file''s pages are damaged' END AS what
         FROM pragma_integrity_check(100) WHERE integrity_check <> 'ok')
     GROUP BY what",
    "SELECT \"table\" || ' without ' || parent || ': ' || count(*) || ' rows'
     FROM pragma_foreign_key_check GROUP BY \"table\", parent",
];

/// What a look at a store has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    pub sessions: usize,
    /// How many records are whole, and count.
    pub records: usize,
    /// What is wrong with the file, in words.
    pub damage: Vec<String>,
}

/// Looks at a store. Nothing in it changes.
///
/// # Errors
/// When the file is missing, or is no store of this version.
pub fn check(path: &Path) -> Result<Checked, StoreError> {
    match Store::open_readonly(path) {
        Ok(store) => store.check(),
        Err(StoreError::Broken { doing, .. }) => {
            Ok(Checked { damage: vec![format!("cannot {doing}")], ..Checked::default() })
        }
        Err(error) => Err(error),
    }
}

impl Store {
    fn check(&self) -> Result<Checked, StoreError> {
        let mut checked = Checked::default();
        for sql in FAULTS {
            match self.texts(sql) {
                Ok(faults) => checked.damage.extend(faults),
                Err(_) => checked.damage.push("the file's pages cannot be walked through".into()),
            }
        }
        match self.read_sessions() {
            Ok((sessions, damaged)) => {
                checked.sessions = sessions.len();
                checked.damage.extend(damaged.iter().map(ToString::to_string));
            }
            Err(StoreError::Broken { doing, .. }) => checked.damage.push(format!("cannot {doing}")),
            Err(error) => checked.damage.push(error.to_string()),
        }
        let Ok(rows) = self.rows(&Filter::default()) else {
            checked.damage.push("the records cannot be listed".into());
            return Ok(checked);
        };
        for (id, row) in rows {
            match self.record(id, row, true) {
                Ok(_) => checked.records += 1,
                Err(Unread::Damaged(damage)) => checked.damage.push(damage.to_string()),
                Err(Unread::Failed(error)) => return Err(self.failed("read a record", error)),
            }
        }
        for source in self.sources().unwrap_or_default() {
            if !source.is_genuine() {
                let name = &source.name;
                checked.damage.push(format!("the text of {name} is not what its SHA-256 says"));
            }
        }
        Ok(checked)
    }

    /// The first column of all rows.
    fn texts(&self, sql: &str) -> rusqlite::Result<Vec<String>> {
        let mut select = self.connection.prepare(sql)?;
        select.query_map([], |row| row.get(0))?.collect()
    }
}
