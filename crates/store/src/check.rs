// SPDX-License-Identifier: GPL-2.0-only
//! Looks at everything in a store: its pages, its schema, each hash, and what lies beside it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Row};

use crate::read::{NumberedRow, Unread};
use crate::{Filter, Store, StoreError, lock, schema};

/// What a look at a store has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    pub sessions: usize,
    /// How many records are whole, and count.
    pub records: usize,
    /// What is wrong with the file, in words.
    pub damage: Vec<String>,
    /// Locks of processes that were killed; they lock nothing.
    pub locks: Vec<PathBuf>,
}

/// Looks at a store. Nothing in it changes.
///
/// # Errors
/// When the file is missing, or is no store of this version.
pub fn check(path: &Path) -> Result<Checked, StoreError> {
    let mut checked = match Store::open_readonly(path) {
        Ok(store) => store.check()?,
        Err(StoreError::Broken { doing, .. }) => {
            Checked { damage: vec![format!("cannot {doing}")], ..Checked::default() }
        }
        Err(error) => return Err(error),
    };
    checked.locks = lock::left_behind(path);
    Ok(checked)
}

impl Store {
    fn check(&self) -> Result<Checked, StoreError> {
        let mut checked = Checked { damage: self.damaged_pages(), ..Checked::default() };
        checked.damage.extend(self.missing_parts());
        match self.read_sessions() {
            Ok((sessions, damaged)) => {
                checked.sessions = sessions.len();
                checked.damage.extend(damaged.iter().map(ToString::to_string));
            }
            Err(StoreError::Broken { doing, .. }) => checked.damage.push(format!("cannot {doing}")),
            Err(error) => checked.damage.push(error.to_string()),
        }
        match self.rows(&Filter::default()) {
            Ok(rows) => self.check_records(rows, &mut checked)?,
            Err(_) => checked.damage.push("the records cannot be listed".into()),
        }
        checked.damage.extend(self.records_without_answers());
        checked.damage.extend(self.orphans());
        checked.damage.extend(self.changed_texts());
        Ok(checked)
    }

    fn check_records(
        &self,
        rows: Vec<NumberedRow>,
        checked: &mut Checked,
    ) -> Result<(), StoreError> {
        for (id, row) in rows {
            match self.record(id, row, true) {
                Ok(_) => checked.records += 1,
                Err(Unread::Damaged(damage)) => checked.damage.push(damage.to_string()),
                Err(Unread::Failed(error)) => return Err(self.failed("read a record", error)),
            }
        }
        Ok(())
    }

    /// What SQLite itself finds.
    fn damaged_pages(&self) -> Vec<String> {
        let Ok(lines) = all_texts(&self.connection, "PRAGMA integrity_check(100)") else {
            return vec!["the file's pages cannot be walked through".into()];
        };
        let faults = lines.iter().filter(|line| *line != "ok");
        let (of_index, of_pages): (Vec<&String>, Vec<&String>) =
            faults.partition(|line| line.contains("index"));
        [
            ("an index does not agree with its table", of_index.len()),
            ("the file's pages are damaged", of_pages.len()),
        ]
        .into_iter()
        .filter(|(_, faults)| *faults > 0)
        .map(|(what, faults)| format!("{what}: {faults} faults"))
        .collect()
    }

    /// Tables, indexes, views and triggers that a store has and this one lacks.
    fn missing_parts(&self) -> Vec<String> {
        let names = "SELECT type || ' ' || name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'";
        let here = all_texts(&self.connection, names).unwrap_or_default();
        let expected = schema::parts(names).unwrap_or_default();
        let missing = expected.into_iter().filter(|part| !here.contains(part));
        missing.map(|part| format!("the {part} is missing")).collect()
    }

    fn records_without_answers(&self) -> Option<String> {
        let sql = "SELECT count(*) FROM records WHERE record NOT IN (SELECT record FROM answers)";
        let count = self.connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap_or(0);
        (count > 0).then(|| format!("{count} records are not in `answers` and do not count"))
    }

    /// Rows that refer to what is not there.
    fn orphans(&self) -> Vec<String> {
        let orphans = || -> rusqlite::Result<Vec<String>> {
            let mut select = self.connection.prepare("PRAGMA foreign_key_check")?;
            let name = |row: &Row<'_>| Ok(format!("{} without {}", text(row, 0)?, text(row, 2)?));
            select.query_map([], name)?.collect()
        };
        let all = orphans().unwrap_or_default();
        let kinds: BTreeSet<&String> = all.iter().collect();
        let count = |kind: &String| all.iter().filter(|orphan| *orphan == kind).count();
        kinds.into_iter().map(|kind| format!("{kind}: {} rows", count(kind))).collect()
    }

    fn changed_texts(&self) -> Vec<String> {
        let sources = self.sources().unwrap_or_default();
        let changed = sources.into_iter().filter(|source| !source.is_genuine());
        changed
            .map(|source| format!("the text of {} is not what its SHA-256 says", source.name))
            .collect()
    }
}

/// The first column of all rows.
pub(crate) fn all_texts(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    let mut select = connection.prepare(sql)?;
    select.query_map([], |row| text(row, 0))?.collect()
}

fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    row.get(column)
}
