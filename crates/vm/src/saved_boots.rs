// SPDX-License-Identifier: GPL-2.0-only
//! Saved states of guests that are ready, in `<home>/boots/`, each in a file named by its key.
//!
//! The key is a hash of everything that the state follows from: so a state is never wrong, only
//! absent. A file is complete or absent, too, and one that was damaged is removed. The folder may
//! be deleted at any time.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};
use model::trial::sha256_hex;
use nix::sys::statvfs::statvfs;
use sha2::{Digest, Sha256};

/// What a state's file begins with, followed by the SHA-256 of the rest. Another version is another
/// key.
const MAGIC: &[u8; 16] = b"fairground boot1";
const HEAD: u64 = 16 + 32;
/// The space that all states together may take; those that were not used for the longest time go.
const SPACE_MAX: u64 = 4 << 30;
/// What a state leaves free on the disk.
const LEFT_MIN: u64 = 2 << 30;
/// A file that is written for longer belongs to a process that was killed.
const WRITTEN_MAX: Duration = Duration::from_secs(3600);
const KEY_LENGTH: usize = 64;
/// What begins the name of a file that is written.
const UNFINISHED: &str = ".new-";
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// The folder below a data folder.
pub fn folder(home: &Path) -> PathBuf {
    home.join("boots")
}

/// The number of states in a folder, and the bytes that they take.
pub fn space(folder: &Path) -> (usize, u64) {
    let files = files(folder);
    (files.len(), files.iter().map(|file| file.bytes).sum())
}

/// Removes all states of a folder; one in use is lost only for later boots.
pub fn clear(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A key, from everything that a state follows from.
pub(crate) fn key(parts: &[&str]) -> String {
    let mut all = MAGIC.to_vec();
    for part in parts {
        all.extend((part.len() as u64).to_le_bytes());
        all.extend(part.as_bytes());
    }
    sha256_hex(&all)
}

pub(crate) struct Place {
    folder: PathBuf,
    key: String,
    space_max: u64,
}

impl Place {
    pub fn new(folder: &Path, key: String) -> Place {
        Place { folder: folder.to_owned(), key, space_max: SPACE_MAX }
    }

    fn file(&self) -> PathBuf {
        self.folder.join(&self.key)
    }

    /// Makes sure that nobody else makes this state meanwhile, and waits for who does. `None` where
    /// that cannot be had, which costs time and harms nothing.
    pub fn lock(&self, patience: Duration, stop: &AtomicBool) -> Option<File> {
        fs::create_dir_all(&self.folder).ok()?;
        // Few files, which stay: one that is removed while somebody waits for it locks nothing.
        let lock = File::create(self.folder.join(format!("{}.lock", &self.key[..2]))).ok()?;
        let start = Instant::now();
        while lock.try_lock().is_err() {
            if start.elapsed() >= patience || stop.load(Ordering::Relaxed) {
                return None;
            }
            sleep(LOCK_PAUSE);
        }
        Some(lock)
    }

    /// The state, ready to be read; `None` if there is none. A damaged one is removed.
    pub fn find(&self) -> Option<File> {
        let mut file = File::open(self.file()).ok()?;
        if !matches!(is_whole(&mut file), Ok(true)) {
            self.remove();
            return None;
        }
        file.set_modified(SystemTime::now()).ok();
        Some(file)
    }

    pub fn remove(&self) {
        fs::remove_file(self.file()).ok();
    }

    /// Keeps a state, and makes room for it.
    pub fn keep(&self, state: &mut File) -> Result<()> {
        let writing = || format!("writing {}", self.file().display());
        fs::create_dir_all(&self.folder).with_context(writing)?;
        let bytes = state.metadata()?.len();
        if free(&self.folder).is_some_and(|free| free < bytes + LEFT_MIN) {
            bail!("{}: less than {} GiB would be free", self.folder.display(), LEFT_MIN >> 30);
        }
        let mut new = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempfile_in(&self.folder)
            .with_context(writing)?;
        new.write_all(MAGIC).with_context(writing)?;
        state.rewind()?;
        new.write_all(&sum(state)?).with_context(writing)?;
        state.rewind()?;
        io::copy(state, new.as_file_mut()).with_context(writing)?;
        new.persist(self.file()).with_context(writing)?;
        trim(&self.folder, self.space_max);
        Ok(())
    }
}

/// The free bytes of a folder's disk, where the system says it.
fn free(folder: &Path) -> Option<u64> {
    let disk = statvfs(folder).ok()?;
    Some(disk.blocks_available() as u64 * disk.fragment_size() as u64)
}

fn is_whole(file: &mut File) -> io::Result<bool> {
    let mut head = [0; HEAD as usize];
    file.read_exact(&mut head)?;
    let is_whole = head.starts_with(MAGIC) && head[MAGIC.len()..] == sum(file)?;
    file.seek(SeekFrom::Start(HEAD))?;
    Ok(is_whole)
}

/// The SHA-256 of the rest of a file.
fn sum(file: &mut File) -> io::Result<[u8; 32]> {
    let mut all = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(all.finalize().into()),
            length => all.update(&buffer[..length]),
        }
    }
}

struct Known {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

fn files(folder: &Path) -> Vec<Known> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().len() == KEY_LENGTH)
        .filter_map(|entry| {
            let known = entry.metadata().ok()?;
            Some(Known { path: entry.path(), bytes: known.len(), used: known.modified().ok()? })
        })
        .collect()
}

/// Removes the states that were not used for the longest time, until the rest takes no more than
/// `space_max`, and what killed processes left behind.
fn trim(folder: &Path, space_max: u64) {
    let mut states = files(folder);
    states.sort_by_key(|state| std::cmp::Reverse(state.used));
    let mut bytes = 0;
    for state in states {
        bytes += state.bytes;
        if bytes > space_max {
            fs::remove_file(&state.path).ok();
        }
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        let written = entry.metadata().and_then(|file| file.modified()).ok();
        let age = written.and_then(|time| time.elapsed().ok());
        if is_unfinished && age.is_some_and(|age| age > WRITTEN_MAX) {
            fs::remove_file(entry.path()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(content: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        file
    }

    fn place(folder: &Path, number: &str) -> Place {
        Place::new(folder, key(&[number]))
    }

    fn content(place: &Place) -> Option<Vec<u8>> {
        let mut content = Vec::new();
        place.find()?.read_to_end(&mut content).unwrap();
        Some(content)
    }

    #[test]
    fn every_part_counts_in_the_key_and_so_do_their_borders() {
        let keys = [key(&["ab", "c"]), key(&["a", "bc"]), key(&["ab", "d"]), key(&["ab"])];
        for (index, key) in keys.iter().enumerate() {
            assert_eq!(key.len(), KEY_LENGTH);
            assert!(!keys[..index].contains(key));
        }
        assert_eq!(keys[0], key(&["ab", "c"]));
    }

    #[test]
    fn a_state_is_kept_and_found() {
        let home = tempfile::tempdir().unwrap();
        let folder = folder(home.path());
        let place = place(&folder, "1");
        assert!(place.find().is_none());
        place.keep(&mut state(b"of a guest")).unwrap();
        assert_eq!(content(&place).unwrap(), b"of a guest");
        assert_eq!(space(&folder), (1, HEAD + 10));
        clear(&folder).unwrap();
        clear(&folder).unwrap();
        assert_eq!(space(&folder), (0, 0));
    }

    #[test]
    fn each_damage_is_noticed_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path(), "1");
        place.keep(&mut state(b"of a guest")).unwrap();
        let whole = fs::read(place.file()).unwrap();
        let flipped = |at: usize| {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            bytes
        };
        let damages = (0..whole.len()).map(flipped).chain([vec![], whole[..30].to_vec()]);
        for damaged in damages.chain([whole[..whole.len() - 1].to_vec()]) {
            fs::write(place.file(), &damaged).unwrap();
            assert!(place.find().is_none(), "{damaged:?}");
            assert!(!place.file().exists());
        }
    }

    #[test]
    fn what_was_not_used_for_the_longest_time_goes() {
        let folder = tempfile::tempdir().unwrap();
        let places = ["1", "2", "3"]
            .map(|number| Place { space_max: 3 * HEAD + 200, ..place(folder.path(), number) });
        let day = Duration::from_secs(86_400);
        for (age, place) in [(1, &places[0]), (2, &places[1])] {
            place.keep(&mut state(&[7; 100])).unwrap();
            let file = File::options().write(true).open(place.file()).unwrap();
            file.set_modified(SystemTime::now() - age * day).unwrap();
        }
        let left = folder.path().join(".new-killed");
        let file = File::create(&left).unwrap();
        file.set_modified(SystemTime::now() - day).unwrap();
        places[2].keep(&mut state(&[7; 100])).unwrap();
        let found = places.each_ref().map(|place| place.find().is_some());
        assert_eq!(found, [true, false, true]);
        assert!(!left.exists());
    }

    #[test]
    fn one_at_a_time_makes_a_state() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path(), "1");
        let (short, no) = (Duration::from_millis(1), AtomicBool::new(false));
        let first = place.lock(short, &no);
        assert!(first.is_some() && place.lock(short, &no).is_none());
        let stopped = AtomicBool::new(true);
        assert!(place.lock(Duration::from_secs(600), &stopped).is_none());
        drop(first);
        assert!(place.lock(short, &no).is_some());
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error_and_no_lock() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let place = place(file.path(), "1");
        assert!(place.lock(Duration::ZERO, &AtomicBool::new(false)).is_none());
        let why = format!("{:#}", place.keep(&mut state(b"x")).unwrap_err());
        assert!(why.contains(&file.path().display().to_string()), "{why}");
        assert!(place.find().is_none());
    }
}
