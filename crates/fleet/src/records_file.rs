// SPDX-License-Identifier: GPL-2.0-only
//! The records of a chunk: a file that grows by one line for each finished trial.
//!
//! A process that is killed leaves at most one line without its end; the next one removes it and
//! goes on. A reader takes whole lines only.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use model::Record;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use spec::files::{Fault, Lines};

use crate::refuse;

/// The longest line: a record with a long trace.
const LONGEST: usize = 1 << 30;
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// A file of records that this process alone writes.
#[derive(Debug)]
pub struct RecordsFile {
    file: Flock<File>,
    path: PathBuf,
}

impl RecordsFile {
    /// Opens a file or makes it, and reads what is there.
    pub fn resume(path: &Path) -> Result<(RecordsFile, Vec<Record>)> {
        spec::files::refuse_special(path)
            .map_err(|fault| refuse(format!("{}: {fault}", path.display())))?;
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).open(path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        let file = locked(file).map_err(|error| not_alone(path, error))?;
        let mut tail = Tail::new(path.to_owned());
        let records = tail.read()?;
        // What a process was writing when it was killed.
        file.set_len(tail.position).with_context(|| format!("cannot cut {}", path.display()))?;
        Ok((RecordsFile { file, path: path.to_owned() }, records))
    }

    pub fn append(&mut self, record: &Record) -> Result<()> {
        let line = line(record)?;
        // One call: a process that is killed leaves the whole line or its beginning.
        (&*self.file)
            .write_all(line.as_bytes())
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// Locks a file. Workers of a process that was killed have the lock until they notice.
fn locked(mut file: File) -> Result<Flock<File>, Errno> {
    for _ in 0..LOCK_TRIES {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Err((again, Errno::EWOULDBLOCK)) => file = again,
            other => return other.map_err(|(_, error)| error),
        }
        std::thread::sleep(LOCK_PAUSE);
    }
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| error)
}

fn not_alone(path: &Path, error: Errno) -> anyhow::Error {
    let path = path.display();
    match error {
        Errno::EWOULDBLOCK => {
            anyhow!("another process writes {path}; give each chunk its own file")
        }
        error => anyhow!("cannot lock {path}: {error}"),
    }
}

/// A record as its line, with what its receiver will keep of it.
pub fn line(record: &Record) -> Result<String> {
    let mut record = record.clone();
    record.settle();
    Ok(serde_json::to_string(&record)? + "\n")
}

/// Reads a file of records while it grows.
#[derive(Clone, Debug)]
pub struct Tail {
    path: PathBuf,
    position: u64,
    lines: usize,
}

impl Tail {
    /// Begins at the start of a file, which need not exist yet.
    pub fn new(path: PathBuf) -> Tail {
        Tail { path, position: 0, lines: 0 }
    }

    /// The records that were added since the last call.
    pub fn read(&mut self) -> Result<Vec<Record>> {
        let wrong = |fault: Fault| refuse(format!("{}: {fault}", self.path.display()));
        let lines = Lines::open(&self.path, spec::files::RECORDS, self.position, LONGEST);
        let mut lines = match lines {
            Err(fault) if fault.is_absence() => return Ok(Vec::new()),
            lines => lines.map_err(wrong)?,
        };
        let mut records = Vec::new();
        while let Some(line) = lines.next_line().map_err(wrong)? {
            // What a process was writing when it was killed has no end.
            if !line.ends_with(b"\n") {
                break;
            }
            self.lines += 1;
            records.push(self.record(line)?);
            self.position += line.len() as u64;
        }
        Ok(records)
    }

    fn record(&self, line: &[u8]) -> Result<Record> {
        let wrong = |why: String| {
            refuse(format!("{}:{}: not a record: {why}", self.path.display(), self.lines))
        };
        let record: Record =
            serde_json::from_slice(line).map_err(|error| wrong(error.to_string()))?;
        if let Some(fault) = record.fault() {
            return Err(wrong(fault));
        }
        spec::check::numbers_of(&record.trial.workload).map_err(wrong)?;
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use model::{Outcome, Provenance};

    use super::*;
    use crate::cut::tests::trials;

    fn records(count: usize) -> Vec<Record> {
        let record = |trial| Record::without_measurement(trial, Outcome::Ok, Provenance::default());
        trials(&vec![0; count]).into_iter().map(record).collect()
    }

    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records");
        (folder, path)
    }

    #[test]
    fn two_processes_do_not_write_one_file() {
        let (_folder, path) = place();
        let first = RecordsFile::resume(&path).unwrap();
        let said = RecordsFile::resume(&path).unwrap_err().to_string();
        assert!(said.starts_with("another process writes"), "{said}");
        drop(first);
        RecordsFile::resume(&path).unwrap();
    }

    #[test]
    fn a_reader_takes_each_record_once_and_only_whole() {
        let (_folder, path) = place();
        let mut tail = Tail::new(path.clone());
        assert_eq!(tail.read().unwrap(), []);
        let records = records(2);
        let lines: Vec<String> = records.iter().map(|record| line(record).unwrap()).collect();
        std::fs::write(&path, format!("{}{}", lines[0], &lines[1][..40])).unwrap();
        assert_eq!(tail.read().unwrap(), records[..1]);
        assert_eq!(tail.read().unwrap(), []);
        std::fs::write(&path, lines.concat()).unwrap();
        assert_eq!(tail.read().unwrap(), records[1..]);
    }

    #[test]
    fn another_file_is_refused_with_its_line() {
        let (_folder, path) = place();
        std::fs::write(&path, "{\"a\":1}\n").unwrap();
        let said = RecordsFile::resume(&path).unwrap_err().to_string();
        assert!(said.contains("records:1: not a record: "), "{said}");
    }
}
