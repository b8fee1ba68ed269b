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
    /// A plan cannot be locked.
    #[error("{path}: cannot be locked, so two processes could run one plan at once: {why}",
        path = path.display())]
    NoLock {
        /// The lock's file.
        path: PathBuf,
        /// What the system says.
        why: String,
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
        /// What is in the way.
        why: &'static str,
    },
    /// The file was deleted or replaced while it was open.
    #[error("{path}: was deleted or replaced while it was being written; nothing that was \
        measured since is in it", path = path.display())]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged beyond single records.
    #[error("{path}: damaged: cannot {doing}; `fairground store check FILE` says what is wrong, \
        and `--repair` saves what can be read", path = path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
    },
    /// A file beside the store cannot be written or read.
    #[error("{path}: {why}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// Anything else that SQLite reports: the memory or the disk of this machine.
    #[error("{path}: cannot {doing} (SQLite's error {code})", path = path.display())]
    Sql {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// SQLite's number for it.
        code: i32,
    },
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

    /// An error of a file beside the store.
    pub(crate) fn file(path: &Path, error: &std::io::Error) -> StoreError {
        StoreError::File { path: path.into(), why: error.to_string() }
    }
}
