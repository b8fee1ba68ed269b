// SPDX-License-Identifier: GPL-2.0-only
//! Looks at everything in a store: its pages, as SQLite checks them, each session, and each hash.

use std::collections::BTreeMap;
use std::path::Path;

use crate::read::Unread;
use crate::{Filter, Store, StoreError};

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
        let mut checked = Checked { damage: self.faults(), ..Checked::default() };
        match self.read_sessions() {
            Ok((sessions, damaged)) => {
                checked.sessions = sessions.len();
                checked.damage.extend(damaged.iter().map(ToString::to_string));
            }
            Err(StoreError::Broken { doing, .. }) => checked.damage.push(format!("cannot {doing}")),
            Err(error) => checked.damage.push(error.to_string()),
        }
        let Ok(ids) = self.record_ids(&Filter::default()) else {
            checked.damage.push("the records cannot be listed".into());
            return Ok(checked);
        };
        for id in ids {
            match self.record(id, true) {
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

    /// What SQLite finds: damaged pages and indexes, and rows that refer to what is not there.
    fn faults(&self) -> Vec<String> {
        let found = self.all("PRAGMA integrity_check(100)", [], |row| row.get::<_, String>(0));
        let Ok(found) = found else {
            return vec!["the file's pages cannot be walked through".into()];
        };
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for fault in found.iter().filter(|fault| *fault != "ok") {
            let what = if fault.contains("index") {
                "an index does not agree with its table"
            } else {
                "the file's pages are damaged"
            };
            *counts.entry(what.into()).or_default() += 1;
        }
        let orphans = self.all("PRAGMA foreign_key_check", [], |row| {
            Ok(format!("{} without {}", row.get::<_, String>(0)?, row.get::<_, String>(2)?))
        });
        for orphan in orphans.unwrap_or_default() {
            *counts.entry(orphan).or_default() += 1;
        }
        counts.into_iter().map(|(what, count)| format!("{what}: {count} faults")).collect()
    }
}
