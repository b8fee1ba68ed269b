// SPDX-License-Identifier: GPL-2.0-only
//! Style as a test: what can be enforced is enforced here, so that nobody has to nag.
//!
//! `FAIRGROUND_BLESS=1 cargo test --release --test tidy` rewrites the generated parts of the
//! documents.

#[path = "tidy/documents.rs"]
mod documents;
#[path = "tidy/functions.rs"]
mod functions;
#[path = "tidy/layout.rs"]
mod layout;
#[path = "tidy/portable.rs"]
mod portable;
#[path = "tidy/schedulers.rs"]
mod schedulers;
#[path = "tidy/text.rs"]
mod text;

use std::path::{Path, PathBuf};
use std::process::Command;

/// One file that git knows, or would add.
pub struct File {
    /// Relative to the project's root, with `/`.
    pub path: String,
    /// Its text; empty for files that are not text.
    pub text: String,
}

impl File {
    /// The lines with their numbers from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Whether the path ends in one of these.
    pub fn is(&self, endings: &[&str]) -> bool {
        endings.iter().any(|ending| self.path.ends_with(ending))
    }
}

/// The project's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the project's root")
}

/// Every file that git tracks or would track.
pub fn files() -> Vec<File> {
    let listing = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the project's files");
    let names = String::from_utf8(listing.stdout).expect("file names are text");
    names.lines().filter_map(read).collect()
}

fn read(name: &str) -> Option<File> {
    let bytes = std::fs::read(root().join(name)).ok()?;
    Some(File { path: name.to_owned(), text: String::from_utf8(bytes).unwrap_or_default() })
}

/// Fails with every complaint at once, one per line.
pub fn expect_none(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
