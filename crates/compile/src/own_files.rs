// SPDX-License-Identifier: GPL-2.0-only
//! Where a scheduler's own files are: beside it, above it, and in the folders of headers that
//! people give to their compiler.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::identity::{folder_of, places, plain};
use crate::scan::Include;
use crate::source::brought;

/// The most bytes of an included file: some bring a `vmlinux.h`.
const LONGEST: u64 = 16 << 20;
/// The most bytes of all included files and further sources of a scheduler.
pub const MOST: usize = 64 << 20;
/// What a file counts at least, so that there are thousands of them at most.
const LEAST: usize = 32 << 10;

/// How a file ends that a scheduler may include: others would be published with it.
const ENDINGS: &[&str] = &["h", "c", "inc", "def"];

/// Folders of headers, from the scheduler's folder or one above it.
const HEADERS: [&str; 3] = ["include", "scheds/include", "."];

/// How many folders above the scheduler's are looked at.
const MOST_ABOVE: usize = 5;

/// Headers of the system: those that Fairground brings are used, whatever lies about.
const OF_THE_SYSTEM: &[&str] = &["bpf/", "asm/", "asm-generic/", "linux/", "sys/"];

/// The own files of a scheduler in a folder.
pub struct OwnFiles<'a> {
    folder: &'a Path,
    /// Folders of headers, relative to the scheduler's.
    folders: Vec<String>,
    used: RefCell<Vec<String>>,
    size: Cell<usize>,
    conditional: Cell<bool>,
}

impl<'a> OwnFiles<'a> {
    pub fn new(folder: &'a Path) -> OwnFiles<'a> {
        let (used, size, conditional) = Default::default();
        OwnFiles { folder, folders: folders(folder), used, size, conditional }
    }

    /// What a text in this folder includes, if it is the scheduler's own or one of ours that has
    /// an identity of its own.
    pub fn find(&self, beside: &str, include: &Include) -> Option<(String, String)> {
        let mut quoted = places(beside, &include.name).into_iter().filter(|_| include.quoted);
        let found = quoted.find_map(|name| {
            let own = self.read(&name);
            if own.is_some() && include.conditional {
                self.conditional.set(true);
            }
            let text = own.or_else(|| brought(&name))?;
            Some((name, text))
        });
        found.or_else(|| self.in_folders(include))
    }

    fn in_folders(&self, include: &Include) -> Option<(String, String)> {
        let name = &include.name;
        let of_the_system = OF_THE_SYSTEM.iter().any(|folder| name.starts_with(folder));
        if of_the_system || crate::refusal::OF_C.contains(&name.as_str()) || name.contains("..") {
            return None;
        }
        let above = |folder: &str| folder.ends_with("..");
        let mut folders =
            self.folders.iter().filter(|folder| name.contains('/') || !above(folder.as_str()));
        folders.find_map(|folder| {
            let place = plain(&format!("{folder}/{name}"));
            let text = self.read(&place)?;
            if include.conditional {
                self.conditional.set(true);
            }
            let mut used = self.used.borrow_mut();
            if !used.contains(folder) {
                used.push(folder.clone());
            }
            Some((place, text))
        })
    }

    /// An own file, if it exists and may be included.
    pub fn read(&self, name: &str) -> Option<String> {
        let path = self.folder.join(name);
        let text = may_be_included(&path).then(|| read_text(&path, LONGEST).ok())??;
        self.has_room_for(&text).then_some(text)
    }

    /// Whether a text is one that the scheduler may have besides those before.
    pub fn has_room_for(&self, text: &str) -> bool {
        self.size.set(self.size.get().saturating_add(text.len().max(LEAST)));
        !self.is_too_much()
    }

    pub fn is_too_much(&self) -> bool {
        self.size.get() > MOST
    }

    /// Whether an own file was found that stands below a condition.
    pub fn has_conditions(&self) -> bool {
        self.conditional.get()
    }

    /// The folders in which headers were found, in the order of search.
    pub fn used_folders(&self) -> Vec<String> {
        let used = self.used.borrow();
        self.folders.iter().filter(|folder| used.contains(folder)).cloned().collect()
    }
}

/// Whether a file is a text that a scheduler may include: its own name and that of the file that a
/// link leads to end like those of headers.
pub fn may_be_included(path: &Path) -> bool {
    let ends_well = |path: &Path| {
        let ending = path.extension().map(|ending| ending.to_string_lossy().into_owned());
        ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
    };
    let real = path.canonicalize();
    real.is_ok_and(|real| ends_well(&real) && real.is_file()) && ends_well(path)
}

/// The folders of headers that exist, relative to the scheduler's folder: those in it come first,
/// then those above it, as far as its repository reaches.
fn folders(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let Ok(mut at) = folder.canonicalize() else { return found };
    let mut up = String::new();
    for _ in 0..=MOST_ABOVE {
        if is_common(&at) {
            break;
        }
        let there = HEADERS.iter().filter(|name| at.join(name).is_dir());
        found.extend(there.map(|name| match plain(&format!("{up}{name}")) {
            own if own.is_empty() => ".".to_owned(),
            other => other,
        }));
        if at.join(".git").exists() || !at.pop() {
            break;
        }
        up.push_str("../");
    }
    found
}

/// Whether a folder belongs to no project: everybody may write there, or everything lies below it.
fn is_common(folder: &Path) -> bool {
    let home = std::env::var_os("HOME").is_some_and(|home| Path::new(&home) == folder);
    let is_open = folder.metadata().map_or(true, |facts| facts.mode() & 0o002 != 0);
    home || is_open || folder.parent().is_none()
}

/// The names of files that lie outside the scheduler's folder, or are links that lead there.
pub fn outside<'a>(folder: &Path, included: &'a [(String, String)]) -> Vec<&'a str> {
    let root = folder.canonicalize().unwrap_or_default();
    let leads_out =
        |name: &str| folder.join(name).canonicalize().is_ok_and(|real| !real.starts_with(&root));
    let names = included.iter().map(|(name, _)| name.as_str());
    names.filter(|name| name.starts_with("../") || leads_out(name)).collect()
}

/// How many folders above the scheduler's a name reaches.
pub fn levels_above(name: &str) -> usize {
    folder_of(name).split('/').take_while(|part| *part == "..").count()
}

/// Reads a file of text; a pipe or a device would never end.
pub fn read_text(path: &Path, longest: u64) -> Result<String, String> {
    let wrong = |error: std::io::Error| error.to_string();
    let mut options = File::options();
    let file = options.read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(wrong)?;
    let facts = file.metadata().map_err(wrong)?;
    if !facts.is_file() {
        return Err("it is no regular file; copy the text into one".into());
    }
    let mut text = String::new();
    file.take(longest + 1).read_to_string(&mut text).map_err(wrong)?;
    if text.len() as u64 > longest {
        Err(format!("it has more than {} MiB; a scheduler is shorter", longest >> 20))
    } else {
        Ok(text)
    }
}
