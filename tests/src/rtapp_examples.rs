// SPDX-License-Identifier: GPL-2.0-only
//! rt-app's own examples, as its Debian package installs them.

use std::path::{Path, PathBuf};

pub const FOLDER: &str = "/usr/share/doc/rt-app/examples";

/// All of its JSON files, sorted. Those in `merge` are parts in the grammar of before rt-app 1.0.
pub fn files() -> Result<Vec<PathBuf>, String> {
    let mut files = below(Path::new(FOLDER));
    files.sort();
    if files.is_empty() {
        return Err("rt-app is not installed (apt install rt-app)".into());
    }
    Ok(files)
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let files = paths.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect()
}
