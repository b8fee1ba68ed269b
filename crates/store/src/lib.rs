// SPDX-License-Identifier: GPL-2.0-only
//! The store: records in one SQLite file. No other crate knows SQL.
//!
//! Goals: a record that was appended survives `kill -9` and a power cut; nothing is ever changed or
//! deleted; everything can be read with `sqlite3`, DuckDB, pandas or R, without this program.
//!
//! [`exchange`] is what travels: imported results, shared files, exports.
//!
//! Not here: statistics, and any knowledge of what a metric means.
//!
//! # The file
//!
//! `application_id` is `FAIR`, `user_version` is the schema's version ([`SCHEMA_VERSION`]); the
//! journal is a write-ahead log, so readers never wait for a running experiment. Every table
//! refuses UPDATE and DELETE.
//!
//! `schema.sql` has the tables and views; `docs/src/reference/store.md` says what each column is.
//!
//! # Trouble
//!
//! A record that is not what it was when it was appended is named and set aside ([`Damage`]), and
//! the others are read. [`check`] looks at everything and changes nothing. [`PlanLock`] keeps two
//! processes from running one plan.

mod check;
pub mod exchange;
mod lock;
mod read;
mod schema;
mod write;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use model::{Experiment, text};
use nix::libc::RLIM_INFINITY;
use nix::sys::resource::{Resource, getrlimit};
use rusqlite::ffi::ErrorCode;
use rusqlite::{Connection, OpenFlags};

pub use check::{Checked, check};
pub use lock::PlanLock;
pub use read::{Damage, Filter, Read};
pub use schema::SCHEMA_VERSION;
use schema::Steps;

/// How long to wait for another process that writes to the same file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to sleep between two attempts to open a file that is being made.
const AGAIN: Duration = Duration::from_millis(20);

/// One `fairground run`, or another verb that measures: its experiment and how it was started.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// Its number in the store; ignored by [`Store::begin`].
    pub id: i64,
    /// The first session of the same plan that this one resumes; `None` when it starts anew.
    pub campaign: Option<i64>,
    pub experiment: model::Experiment,
    /// The identity of the plan: equal plans have equal trials in equal order.
    pub plan: String,
    pub seed: model::Seed,
    /// The command line, so that reports can say how to repeat it.
    pub command: String,
    /// When it started, seconds since 1970.
    pub started_unix_s: u64,
    pub fairground: String,
    /// The origin of a shared session; `None`: measured by this store's owner.
    pub origin: Option<Origin>,
}

impl Session {
    /// The first session of those that resume each other: this one, if it started anew.
    pub fn first(&self) -> i64 {
        self.campaign.unwrap_or(self.id)
    }

    /// Why Fairground cannot have made this session of a stranger; `None` if it can.
    pub fn fault(&self) -> Option<String> {
        if !exchange::shell::is_plain_command(&self.command) {
            return Some("its command is no call of this program".into());
        }
        if self.started_unix_s > i64::MAX as u64 {
            return Some("its date is too large".into());
        }
        let Experiment { name, contestants, workloads, machines, .. } = &self.experiment;
        let names = [("experiment", name)].into_iter();
        let names = names.chain(contestants.iter().map(|is| ("contestant", &is.name)));
        let names = names.chain(workloads.iter().map(|is| ("workload", &is.name)));
        let mut names = names.chain(machines.iter().map(|is| ("machine", &is.name)));
        names.find_map(|(what, name)| model::check::name_fault(what, name))
    }

    pub fn record_fault(&self, record: &model::Record) -> Option<String> {
        let trial = record.trial.id();
        if record.trial.experiment != self.experiment.name {
            return Some(format!("trial {trial} is of another experiment than its session"));
        }
        let of_workload = || spec::check::numbers_of(&record.trial.workload).err();
        let fault = record.fault().or_else(of_workload)?;
        Some(format!("trial {trial} is no record: {fault}"))
    }
}

/// The origin of a session from a shared file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The name that the contributor gives, unchecked.
    pub by: String,
    /// The seal of the shared file: the SHA-256 of its content.
    pub seal: String,
}

/// The name of a recording's text among the files of a [`SchedulerSource`].
pub const TAPES: &str = "tapes";

/// A scheduler's text, as it was when it was compiled, or the tapes of a recording that was shared:
/// what trials name by SHA-256. The store keeps it and never compiles it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchedulerSource {
    /// The identity of the texts, as trials name it ([`model::trial::identity`]); of tapes the
    /// SHA-256.
    pub sha256: String,
    /// The scheduler's name, or the workload's.
    pub name: String,
    /// Names and texts: the file itself, then what it includes, in the order of inclusion.
    pub files: Vec<(String, String)>,
}

impl SchedulerSource {
    /// Why no trial can name this text of a stranger; `None` if one can.
    pub fn fault(&self) -> Option<String> {
        let name = text::line(&self.name);
        (!self.is_genuine()).then(|| format!("the text of {name} is not what its SHA-256 says"))
    }

    /// Whether the texts are those that the hash names.
    pub fn is_genuine(&self) -> bool {
        match &self.files[..] {
            [(name, text)] if name == TAPES => {
                model::trial::sha256_hex(text.as_bytes()) == self.sha256
            }
            files => {
                let files = files.iter().map(|(name, text)| (name.as_str(), text.as_str()));
                model::trial::identity(files) == self.sha256
            }
        }
    }
}

/// An open store. Dropping it folds the write-ahead log into the file.
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// The file's device and number when it was opened.
    identity: Option<(u64, u64)>,
    steps: Steps,
}

impl Store {
    /// Opens a store for reading and appending; creates the file if there is none.
    ///
    /// # Errors
    /// When the file is not a store of this version, is locked, or cannot be written.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        let began = Instant::now();
        loop {
            // Where another process is just making the file, SQLite does not always wait itself.
            match Store::open_once(path) {
                Err(StoreError::Locked { .. }) if began.elapsed() < BUSY_TIMEOUT => {
                    std::thread::sleep(AGAIN);
                }
                opened => return opened,
            }
        }
    }

    fn open_once(path: &Path) -> Result<Store, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let store = Store::connect(path, path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        schema::is_fresh(&store.connection, path)?;
        store.prepare_for_writing().map_err(|error| StoreError::new(path, "open", error))?;
        schema::create_if_fresh(&store.connection, path)?;
        Ok(store.identified())
    }

    /// Opens an existing store for reading only, also on a read-only medium.
    ///
    /// # Errors
    /// When the file is missing, or is not a store of this version.
    pub fn open_readonly(path: &Path) -> Result<Store, StoreError> {
        if !path.exists() {
            return Err(StoreError::Missing { path: path.into() });
        }
        // Opened for writing, so that the last one to close removes the write-ahead log. SQLite
        // falls back to reading where the file is read-only, and `query_only` prevents writing.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let store = Store::connect(path, path, flags)?;
        let read_only = store.connection.pragma_update(None, "query_only", true);
        read_only.map_err(|error| StoreError::new(path, "open", error))?;
        match schema::check(&store.connection, path) {
            Err(StoreError::Unwritable { .. }) => Store::open_immutable(path),
            checked => checked.map(|()| store.identified()),
        }
    }

    /// Notes which file it is; a new one exists from its first page on.
    fn identified(self) -> Store {
        Store { identity: identity(&self.path), ..self }
    }

    /// SQLite goes on writing to a file that has no name any more.
    fn refuse_gone(&self) -> Result<(), StoreError> {
        if identity(&self.path) == self.identity {
            return Ok(());
        }
        Err(StoreError::Gone { path: self.path.clone() })
    }

    /// A write-ahead log needs a writable folder even for reading, unless SQLite is told that there
    /// is no other writer; on a read-only medium there is none.
    fn open_immutable(path: &Path) -> Result<Store, StoreError> {
        let name = path.to_string_lossy();
        let name = name.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        let uri = format!("file:{name}?immutable=1");
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let store = Store::connect(path, Path::new(&uri), flags)?;
        schema::check(&store.connection, path)?;
        Ok(store.identified())
    }

    fn connect(path: &Path, name: &Path, flags: OpenFlags) -> Result<Store, StoreError> {
        spec::files::refuse_special(path).map_err(|fault| StoreError::NotAStore {
            path: path.into(),
            why: format!("it {fault}"),
        })?;
        let failed = |error| StoreError::new(path, "open", error);
        let mut connection = Connection::open_with_flags(name, flags).map_err(failed)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
        let steps = Steps::limited(&mut connection, path).map_err(failed)?;
        Ok(Store { connection, path: path.into(), identity: None, steps })
    }

    /// `synchronous = FULL` waits for the disk at the end of each transaction, some milliseconds; a
    /// power cut loses no more than `kill -9` does. A simulated trial may take no longer than the
    /// disk: `.cargo/config.toml` keeps that short.
    fn prepare_for_writing(&self) -> rusqlite::Result<()> {
        self.connection.pragma_update(None, "journal_mode", "WAL")?;
        self.connection.pragma_update(None, "synchronous", "FULL")?;
        self.connection.pragma_update(None, "foreign_keys", true)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, doing: &'static str, error: rusqlite::Error) -> StoreError {
        StoreError::new(&self.path, doing, error)
    }
}

/// The device and number of the file that has this name.
fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{path}: no such store; `fairground run` makes one, `--store FILE` names another",
        path = path.display())]
    Missing { path: PathBuf },
    #[error("{path}: not a Fairground store ({why}); choose another file with `--store FILE`",
        path = path.display())]
    NotAStore { path: PathBuf, why: String },
    /// Somebody has added or changed a table, view, trigger or index.
    #[error("{path}: its {kind} '{name}' is none of Fairground's, and could change what is read or \
        appended, so nothing was read; `DROP {} \"{name}\"` with sqlite3 removes it",
        kind.to_uppercase(), path = path.display())]
    Strange { path: PathBuf, kind: String, name: String },
    /// A query would not end, or not soon.
    #[error("{path}: a query takes more steps than any store of this size needs; the file is \
        damaged, or made to take time", path = path.display())]
    Endless { path: PathBuf },
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
    #[error("{path}: the file may not grow beyond the limit for files here (`ulimit -f`); nothing \
        was lost before this record. Raise the limit and go on with `--resume`",
        path = path.display())]
    FileLimit { path: PathBuf },
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
            Some(ErrorCode::OperationInterrupted) => StoreError::Endless { path },
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            Some(ErrorCode::SystemIoFailure) if writing_failed(code) && has_file_limit() => {
                StoreError::FileLimit { path }
            }
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

/// Whether SQLite's extended code is that of a write, of a growing file, or of its shared memory.
fn writing_failed(code: i32) -> bool {
    use rusqlite::ffi::{SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_WRITE};
    [SQLITE_IOERR_WRITE, SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_SHMSIZE].contains(&code)
}

/// Whether files of this process have a largest size. SQLite does not say which error of the system
/// it has met; a full disk has a code of its own.
fn has_file_limit() -> bool {
    getrlimit(Resource::RLIMIT_FSIZE).is_ok_and(|(most, _)| most != RLIM_INFINITY)
}

#[cfg(test)]
mod tests {
    mod damage;
    mod promises;
    mod sample;
}
