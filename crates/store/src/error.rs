// SPDX-License-Identifier: GPL-2.0-only
//! Errors of the store's file; each message says what to do.

use std::path::{Path, PathBuf};

use rusqlite::ffi::ErrorCode;

/// An error of the store. Every message names the file and the next step.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such file.
    #[error("{path}: no such store; `fairground run` makes one, `--store FILE` names another",
        path = path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a store.
    #[error("{path}: not a Fairground store ({why}); choose another file with `--store FILE`",
        path = path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// What shows it.
        why: String,
    },
    /// A newer program wrote the file.
    #[error("{path}: its schema is version {found}, this program knows up to {known}; \
        use the fairground that wrote it, or a newer one", path = path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The file's version.
        found: i64,
        /// [`crate::SCHEMA_VERSION`].
        known: i64,
    },
    /// Another process keeps writing.
    #[error("{path}: locked by another process for more than 10 s; wait for it, or use another \
        file with `--store FILE`", path = path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// No space left.
    #[error("{path}: the disk is full; nothing was lost before this record. Free some space and go \
        on with `--resume`", path = path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The file or its folder cannot be written.
    #[error("{path}: cannot be opened or written ({why}); the file and its folder must exist and \
        be writable, or choose another with `--store FILE`", path = path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// SQLite's message.
        why: String,
    },
    /// A damaged row.
    #[error("{path}: record {record} is damaged: {why}", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The row's number.
        record: i64,
        /// What shows it.
        why: String,
    },
    /// Anything else that SQLite reports.
    #[error("{path}: cannot {doing}", path = path.display())]
    Sql {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// SQLite's error.
        source: rusqlite::Error,
    },
}

impl StoreError {
    /// Translates SQLite's error code.
    pub(crate) fn new(path: &Path, doing: &'static str, source: rusqlite::Error) -> StoreError {
        let path = path.to_owned();
        let why = source.to_string();
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                StoreError::Locked { path }
            }
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                StoreError::Unwritable { path, why }
            }
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                StoreError::NotAStore { path, why }
            }
            _ => StoreError::Sql { path, doing, source },
        }
    }
}
