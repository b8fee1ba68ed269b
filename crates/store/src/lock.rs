// SPDX-License-Identifier: GPL-2.0-only
//! Who runs which plan: a lock on a small file beside the store, one for each plan.
//!
//! It is a POSIX record lock. The kernel gives it back when its process ends in any way, forked
//! workers do not inherit it, and it says whose it is. The file is empty and removed at the end;
//! what `kill -9` leaves behind locks nothing.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;

use crate::{Store, StoreError};

const AGAIN: Duration = Duration::from_millis(50);

/// What the lock files' names have behind the store's name.
const MARK: &str = ".running-";

/// A plan that this process runs. Dropping it lets the next one go on.
#[derive(Debug)]
pub struct PlanLock {
    file: File,
    path: PathBuf,
}

impl Store {
    /// Waits until no other process runs the plan with this store, and keeps others from doing so.
    /// `waits` hears that process's number, again and again, and ends the waiting with `false`;
    /// then there is no lock.
    ///
    /// # Errors
    /// When the lock's file cannot be made, or the file system has no locks.
    pub fn lock_plan(
        &self,
        plan: &str,
        waits: &mut dyn FnMut(&str) -> bool,
    ) -> Result<Option<PlanLock>, StoreError> {
        let path = beside(self.path(), plan);
        let failed =
            |error: io::Error| StoreError::NoLock { path: path.clone(), why: words(&error) };
        loop {
            let file = open(&path).map_err(failed)?;
            if try_lock(&file).map_err(failed)? {
                if is_same(&file, &path) {
                    return Ok(Some(PlanLock { file, path }));
                }
                // Its last holder has removed it in between.
                continue;
            }
            if !waits(&holder(&file)) {
                return Ok(None);
            }
            std::thread::sleep(AGAIN);
        }
    }
}

impl Drop for PlanLock {
    fn drop(&mut self) {
        // Removed while it is locked: a process that opened it meanwhile sees that it is gone. A
        // file that stays behind locks nothing.
        if is_same(&self.file, &self.path) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// A name that is a pipe must not block, and no program that is started gets the file.
const FLAGS: i32 = OFlag::O_NONBLOCK.bits() | OFlag::O_CLOEXEC.bits() | OFlag::O_NOFOLLOW.bits();

fn beside(store: &Path, plan: &str) -> PathBuf {
    let mut name = store.file_name().unwrap_or_default().to_owned();
    name.push(format!("{MARK}{plan}"));
    store.with_file_name(name)
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(FLAGS)
        .open(path)
}

/// The lock of a whole file, for writing.
fn whole() -> libc::flock {
    libc::flock {
        l_type: libc::F_WRLCK as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

fn try_lock(file: &File) -> io::Result<bool> {
    match fcntl(file, FcntlArg::F_SETLK(&whole())) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The number of the process whose lock is in the way of ours, if it is one of this machine.
fn holder(file: &File) -> String {
    let mut lock = whole();
    match fcntl(file, FcntlArg::F_GETLK(&mut lock)) {
        Ok(_) if lock.l_pid > 0 => lock.l_pid.to_string(),
        _ => "unknown".into(),
    }
}

/// Whether the open file is still the one that has this name.
fn is_same(file: &File, path: &Path) -> bool {
    let identity = |data: std::fs::Metadata| (data.dev(), data.ino());
    let named = std::fs::symlink_metadata(path).map(identity);
    file.metadata().map(identity).is_ok_and(|open| named.is_ok_and(|named| named == open))
}

fn words(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOLCK | libc::ENOSYS | libc::EOPNOTSUPP | libc::EINVAL) => {
            "this file system has no locks; choose a store on another with `--store FILE`".into()
        }
        _ => error.to_string(),
    }
}
