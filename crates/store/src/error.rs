// SPDX-License-Identifier: GPL-2.0-only
//! Errors of the store's file; each message says what to do.

use std::path::{Path, PathBuf};

use rusqlite::ffi::ErrorCode;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{path}: no such store; `fairground run` makes one, `--store FILE` names another",
        path = path.display())]
    Missing { path: PathBuf },
    #[error("{path}: not a Fairground store ({why}); choose another file with `--store FILE`",
        path = path.display())]
    NotAStore { path: PathBuf, why: String },
    #[error("{path}: its schema is version {found}, and this program reads version {known} only; \
        use the fairground that wrote it, or choose another file with `--store FILE`",
        path = path.display(), known = crate::SCHEMA_VERSION)]
    OtherVersion { path: PathBuf, found: i64 },
    #[error("{path}: locked by another process for more than 10 s; wait for it, or use another \
        file with `--store FILE`", path = path.display())]
    Locked { path: PathBuf },
    #[error("{path}: cannot be locked, so two processes could run one plan at once: {why}",
        path = path.display())]
    NoLock { path: PathBuf, why: String },
    #[error("{path}: the disk is full; nothing was lost before this record. Free some space and go \
        on with `--resume`", path = path.display())]
    Full { path: PathBuf },
    #[error("{path}: cannot be opened or written ({why}); the file and its folder must exist and \
        be writable, or choose another with `--store FILE`", path = path.display())]
    Unwritable { path: PathBuf, why: &'static str },
    #[error("{path}: was deleted or replaced while it was being written; nothing that was \
        measured since is in it", path = path.display())]
    Gone { path: PathBuf },
    /// The file is damaged beyond single records.
    #[error("{path}: damaged: cannot {doing}; `fairground doctor store FILE` says what is wrong, \
        and `sqlite3 FILE .recover | sqlite3 NEW` saves what can be read", path = path.display())]
    Broken { path: PathBuf, doing: &'static str },
    /// Anything else that SQLite reports: the memory or the disk of this machine.
    #[error("{path}: cannot {doing} (SQLite's error {code})", path = path.display())]
    Sql { path: PathBuf, doing: &'static str, code: i32 },
}

impl StoreError {
    /// Finds the words for SQLite's error code. Its own texts are for programmers.
    pub(crate) fn new(path: &Path, doing: &'static str, source: rusqlite::Error) -> StoreError {
        let path = path.to_owned();
        let code = source.sqlite_error().map_or(0, |error| error.extended_code);
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                StoreError::Locked { path }
            }
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            Some(ErrorCode::ReadOnly) => StoreError::Unwritable { path, why: "it is read-only" },
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                let folder = path.parent().filter(|folder| *folder != Path::new(""));
                let no_folder = folder.is_some_and(|folder| !folder.is_dir());
                let why = if no_folder { "its folder does not exist" } else { "access is denied" };
                StoreError::Unwritable { path, why }
            }
            Some(ErrorCode::NotADatabase) => {
                StoreError::NotAStore { path, why: "it does not begin as SQLite's files do".into() }
            }
            // A missing table or column has no code of its own.
            None | Some(ErrorCode::DatabaseCorrupt | ErrorCode::Unknown) => {
                StoreError::Broken { path, doing }
            }
            Some(_) => StoreError::Sql { path, doing, code },
        }
    }
}
