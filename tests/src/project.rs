// SPDX-License-Identifier: GPL-2.0-only
//! The project's files, for the tests that read them.

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

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the project's root")
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

/// Whether generated parts are to be rewritten instead of compared.
pub fn is_blessing() -> bool {
    std::env::var_os("FAIRGROUND_BLESS").is_some()
}

/// The part of a document between `<!-- generated: NAME; COMMAND -->` and `<!-- end -->` must equal
/// `expected`. COMMAND rewrites it; `tests` chooses its test: `--test book`.
pub fn expect_generated(document: &str, name: &str, tests: &str, expected: &str) {
    let bless = format!("FAIRGROUND_BLESS=1 cargo test --release {tests}");
    let path = root().join(document);
    let text = std::fs::read_to_string(&path).expect("the document exists");
    let opening = format!("<!-- generated: {name}; {bless} -->\n");
    let (head, rest) = text
        .split_once(&opening)
        .unwrap_or_else(|| panic!("{document} lacks the line {}", opening.trim_end()));
    let (part, tail) = rest.split_once("<!-- end -->").expect("the document has the closing mark");
    if is_blessing() {
        std::fs::write(&path, format!("{head}{opening}{expected}<!-- end -->{tail}"))
            .expect("the document can be written");
    } else {
        assert_eq!(part, expected, "{document} is out of date: {bless}");
    }
}
