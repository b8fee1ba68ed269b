// SPDX-License-Identifier: GPL-2.0-only
//! Looks at everything in a store: its pages, its schema, each hash, and what lies beside it.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::{Connection, Row};

use crate::damage::was_negative_zero;
use crate::read::{NumberedRow, Unread};
use crate::schema::{self, ANSWERS_SINCE};
use crate::{Damage, Filter, Store, StoreError, lock};

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is, in words.
    pub what: String,
    /// Whether [`crate::repair`] mends it without loss.
    pub mends: bool,
}

/// What a look at a store has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// The schema's version.
    pub version: i64,
    /// How many sessions are whole.
    pub sessions: usize,
    /// How many records are whole, and count.
    pub records: usize,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// Looks at a store. Nothing in it changes.
///
/// # Errors
/// When the file is missing, is no store, or was written by a newer program.
pub fn check(path: &Path) -> Result<Checked, StoreError> {
    let mut checked = match Store::open_readonly(path) {
        Ok(store) => store.check()?,
        Err(StoreError::Broken { doing, .. }) => {
            Checked { findings: vec![beyond(format!("cannot {doing}"))], ..Checked::default() }
        }
        Err(error) => return Err(error),
    };
    let left = lock::left_behind(path).into_iter();
    checked.findings.extend(left.map(|lock| {
        mendable(format!(
            "{}: the lock of a process that was killed; it locks nothing",
            lock.display()
        ))
    }));
    Ok(checked)
}

impl Store {
    fn check(&self) -> Result<Checked, StoreError> {
        let mut checked = Checked { version: self.version, ..Checked::default() };
        checked.findings.extend(self.pages());
        checked.findings.extend(self.missing_parts());
        match self.read_sessions() {
            Ok((sessions, damaged)) => {
                checked.sessions = sessions.len();
                checked.findings.extend(damaged.iter().map(|damage| beyond(damage.to_string())));
            }
            Err(error) => checked.findings.push(beyond(in_short(&error))),
        }
        match self.rows(&Filter::default()) {
            Ok(rows) => self.check_records(rows, &mut checked)?,
            Err(_) => checked.findings.push(beyond("the records cannot be listed".into())),
        }
        checked.findings.extend(self.surplus());
        checked.findings.extend(self.orphans());
        checked.findings.extend(self.changed_texts());
        Ok(checked)
    }

    fn check_records(
        &self,
        rows: Vec<NumberedRow>,
        checked: &mut Checked,
    ) -> Result<(), StoreError> {
        for (id, row) in rows {
            let hash = row.as_ref().map_or(String::new(), |row| row.measured_hash.clone());
            match self.record(id, row, true) {
                Ok(_) => checked.records += 1,
                Err(Unread::Damaged(damage)) => checked.findings.push(self.judged(&damage, &hash)),
                Err(Unread::Failed(error)) => return Err(self.failed("read a record", error)),
            }
        }
        Ok(())
    }

    fn judged(&self, damage: &Damage, hash: &str) -> Finding {
        if self.lost_only_a_sign(damage.id, hash) {
            let cause = "the sign of a zero was lost, which an earlier program had hashed";
            return mendable(format!("{damage}: {cause}"));
        }
        beyond(damage.to_string())
    }

    /// Whether a record is as it was measured but for the sign of zeros.
    pub(crate) fn lost_only_a_sign(&self, id: i64, hash: &str) -> bool {
        self.measured(id).is_ok_and(|measured| was_negative_zero(&measured, hash))
    }

    /// What SQLite itself finds.
    fn pages(&self) -> Vec<Finding> {
        let lines = self.texts("PRAGMA integrity_check(100)");
        let faults: Vec<String> = match lines {
            Ok(lines) => lines.into_iter().filter(|line| line != "ok").collect(),
            Err(_) => vec!["cannot be walked through".into()],
        };
        let of_index = |line: &&String| line.contains("index");
        let (index, other): (Vec<&String>, Vec<&String>) = faults.iter().partition(of_index);
        let index = (!index.is_empty()).then(|| {
            mendable(format!("an index does not agree with its table: {} faults", index.len()))
        });
        let other = (!other.is_empty())
            .then(|| beyond(format!("the file's pages are damaged: {} faults", other.len())));
        index.into_iter().chain(other).collect()
    }

    /// Tables, indexes, views and triggers that a store of this version has and this one lacks.
    fn missing_parts(&self) -> Vec<Finding> {
        let names = "SELECT type || ' ' || name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'";
        let here: BTreeSet<String> = self.texts(names).unwrap_or_default().into_iter().collect();
        let expected = schema::parts(self.version, names).unwrap_or_default();
        let missing = expected.into_iter().filter(|part| !here.contains(part));
        missing.map(|part| mendable(format!("the {part} is missing"))).collect()
    }

    /// Further records of a trial that has one.
    fn surplus(&self) -> Option<Finding> {
        let sql = match self.version < ANSWERS_SINCE {
            true => {
                "SELECT count(*) - count(DISTINCT family || ' ' || trial_id)
                 FROM records JOIN sessions USING (session)"
            }
            false => "SELECT (SELECT count(*) FROM records) - (SELECT count(*) FROM answers)",
        };
        let count = self.connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap_or(0);
        (count > 0).then(|| {
            mendable(format!("{count} records are of trials that had one; the first counts"))
        })
    }

    /// Rows that refer to what is not there.
    fn orphans(&self) -> Vec<Finding> {
        let orphans = || -> rusqlite::Result<Vec<String>> {
            let mut select = self.connection.prepare("PRAGMA foreign_key_check")?;
            let name = |row: &Row<'_>| Ok(format!("{} without {}", text(row, 0)?, text(row, 2)?));
            select.query_map([], name)?.collect()
        };
        let all = orphans().unwrap_or_default();
        let kinds: BTreeSet<&String> = all.iter().collect();
        let count = |kind: &String| all.iter().filter(|one| *one == kind).count();
        kinds.into_iter().map(|kind| mendable(format!("{kind}: {} rows", count(kind)))).collect()
    }

    fn changed_texts(&self) -> Vec<Finding> {
        let sources = self.sources().unwrap_or_default();
        let changed = sources.into_iter().filter(|source| !source.is_genuine());
        changed
            .map(|source| {
                beyond(format!("the text of {} is not what its SHA-256 says", source.name))
            })
            .collect()
    }

    fn texts(&self, sql: &str) -> rusqlite::Result<Vec<String>> {
        all_texts(&self.connection, sql)
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

fn mendable(what: String) -> Finding {
    Finding { what, mends: true }
}

fn beyond(what: String) -> Finding {
    Finding { what, mends: false }
}

fn in_short(error: &StoreError) -> String {
    match error {
        StoreError::Broken { doing, .. } => format!("cannot {doing}"),
        other => other.to_string(),
    }
}
