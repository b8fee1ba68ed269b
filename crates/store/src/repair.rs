// SPDX-License-Identifier: GPL-2.0-only
//! Repairs a store: what is whole goes into a new file, through the same door as at the first time.
//! The old file stays beside it, byte for byte.

use std::fs;
use std::path::{Path, PathBuf};

use model::Record;
use rusqlite::Transaction;

use crate::damage::Damage;
use crate::read::{RecordRow, Unread};
use crate::write::{insert_as, insert_session_as, insert_source};
use crate::{Filter, Store, StoreError, lock};

/// What a repair has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// Where the old file is.
    pub kept: PathBuf,
    /// How many records are in the new file.
    pub records: usize,
    /// Those of them whose hash is new, because it was of a zero with a sign.
    pub mended: usize,
    /// What could not be taken over and is in the old file only.
    pub lost: Vec<Damage>,
}

/// Makes a new file of all that is whole in a store, and puts it into its place.
///
/// # Errors
/// When a process is using the store, it cannot be read at all, or the new file cannot be written.
pub fn repair(path: &Path) -> Result<Repaired, StoreError> {
    if let Some(holder) = lock::in_use(path).first() {
        let why = format!("process {} is running a plan with it; end that first", holder.process);
        return Err(StoreError::File { path: path.into(), why });
    }
    let fresh = sibling(path, "repairing");
    let failed = |error: std::io::Error| StoreError::file(&fresh, &error);
    if fresh.exists() {
        fs::remove_file(&fresh).map_err(failed)?;
    }
    let mut repaired = copy(path, &fresh)?;
    fs::rename(path, &repaired.kept).map_err(failed)?;
    fs::rename(&fresh, path).map_err(failed)?;
    for file in lock::left_behind(path) {
        // A lock that cannot be removed locks nothing either.
        let _ = fs::remove_file(file);
    }
    repaired.lost.sort_by_key(|damage| (damage.what, damage.id));
    Ok(repaired)
}

/// A name beside the store that is free, but for what an interrupted repair has left.
fn sibling(path: &Path, mark: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{mark}"));
    path.with_file_name(name)
}

/// Where the old file goes: nothing is ever replaced.
fn kept(path: &Path) -> PathBuf {
    let first = sibling(path, "before-repair");
    let further = (2..).map(|number| sibling(path, &format!("before-repair-{number}")));
    std::iter::once(first).chain(further).find(|name| !name.exists()).unwrap_or_default()
}

fn copy(path: &Path, fresh: &Path) -> Result<Repaired, StoreError> {
    let old = Store::open_readonly(path)?;
    let new = Store::open(fresh)?;
    let failed = |error| StoreError::new(fresh, "write the repaired store", error);
    let transaction = new.begin_writing().map_err(failed)?;
    let mut repaired = Repaired { kept: kept(path), records: 0, mended: 0, lost: Vec::new() };
    for source in old.sources().unwrap_or_default().iter().filter(|source| source.is_genuine()) {
        insert_source(&transaction, source).map_err(failed)?;
    }
    let (sessions, damaged) = old.read_sessions()?;
    repaired.lost.extend(damaged);
    for session in &sessions {
        insert_session_as(&transaction, session).map_err(failed)?;
    }
    for session in sessions.iter().map(|session| session.id) {
        copy_records(&old, session, &transaction, &mut repaired)?;
    }
    transaction.commit().map_err(failed)?;
    Ok(repaired)
}

fn copy_records(
    old: &Store,
    session: i64,
    to: &Transaction<'_>,
    repaired: &mut Repaired,
) -> Result<(), StoreError> {
    let filter = Filter { session: Some(session), ..Filter::default() };
    let rows = old.rows(&filter).map_err(|error| old.failed("read the records", error))?;
    for (id, row) in rows {
        let signless = signless(old, id, row.as_ref().ok());
        let record = match (old.record(id, row, true), signless) {
            (Ok(record), _) => record,
            (_, Some(record)) => {
                repaired.mended += 1;
                record
            }
            (Err(Unread::Damaged(damage)), None) => {
                repaired.lost.push(damage);
                continue;
            }
            (Err(Unread::Failed(error)), None) => return Err(old.failed("read a record", error)),
        };
        insert_as(to, Some(id), session, &record)
            .map_err(|error| StoreError::new(&repaired.kept, "copy a record", error))?;
        repaired.records += 1;
    }
    Ok(())
}

/// A record that is as it was measured but for the sign of zeros; `None` for all others.
fn signless(old: &Store, id: i64, row: Option<&RecordRow>) -> Option<Record> {
    let row = row?;
    let measured = old.measured(id).ok()?;
    if measured.hash() == row.measured_hash || !old.lost_only_a_sign(id, &row.measured_hash) {
        return None;
    }
    Some(Record { measured, trace: old.trace(id).ok()?, ..row.decode().ok()? })
}
