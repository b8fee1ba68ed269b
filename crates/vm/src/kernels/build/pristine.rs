// SPDX-License-Identifier: GPL-2.0-only
//! What a source was when it was unpacked: the SHA-256 of each file. Before each build, what no
//! patch touches is compared with it, so that nothing which one build leaves behind, by whatever
//! way, gets into the next one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use model::trial::sha256_hex;

use crate::kernels::build::go_on;

/// The file beside the source.
const FILE: &str = "pristine.txt";

/// How many differences are named.
const NAMED: usize = 5;

pub struct Pristine {
    /// What each path has, by its path below the source.
    files: BTreeMap<String, String>,
    /// The SHA-256 of all paths with what they have.
    pub sha256: String,
}

impl Pristine {
    /// Reads what was noted of `folder/src`, or notes it.
    pub fn open(folder: &Path) -> Result<Pristine> {
        let file = folder.join(FILE);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(_) => {
                let lines = files(&folder.join("src"))?;
                let lines = lines.iter().map(|(path, content)| format!("{content} {path}\n"));
                let text: String = lines.collect();
                fs::write(&file, &text).with_context(|| format!("writing {}", file.display()))?;
                text
            }
        };
        let line = |line: &str| {
            let (content, path) = line.split_once(' ')?;
            Some((path.to_owned(), content.to_owned()))
        };
        let files = text.lines().filter_map(line).collect();
        Ok(Pristine { files, sha256: sha256_hex(text.as_bytes()) })
    }

    /// Whether it was noted when `folder/src` was unpacked.
    pub fn is_noted(folder: &Path) -> bool {
        folder.join(FILE).is_file()
    }

    /// Compares the source with what was unpacked, without the paths that patches touch.
    ///
    /// # Errors
    /// Something else differs.
    pub fn check(&self, source: &Path, touched: &BTreeMap<String, bool>) -> Result<()> {
        let now = files(source)?;
        let all: BTreeSet<&String> = self.files.keys().chain(now.keys()).collect();
        let differs = |path: &&String| {
            !touched.contains_key(*path) && self.files.get(*path) != now.get(*path)
        };
        let different: Vec<&str> =
            all.into_iter().filter(differs).map(String::as_str).take(NAMED).collect();
        if different.is_empty() {
            return Ok(());
        }
        let folder = source.parent().unwrap_or(source).display();
        bail!(
            "{}: not as it was unpacked: {}; remove {folder} and build again",
            source.display(),
            different.join(", ")
        );
    }
}

/// All files and links below a folder: the path, and kind, rights and content.
fn files(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        go_on()?;
        let reading = || format!("reading {}", next.display());
        for entry in fs::read_dir(&next).with_context(reading)? {
            let path = entry.with_context(reading)?.path();
            let data = path.symlink_metadata().with_context(reading)?;
            let content = if data.is_dir() {
                folders.push(path);
                continue;
            } else if data.is_symlink() {
                let to = fs::read_link(&path).with_context(reading)?;
                format!("link-{}", sha256_hex(to.as_os_str().as_encoded_bytes()))
            } else if data.is_file() {
                let runs = if data.permissions().mode() & 0o111 == 0 { "file" } else { "program" };
                let bytes =
                    fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
                format!("{runs}-{}", sha256_hex(&bytes))
            } else {
                "other".to_owned()
            };
            let name = path.strip_prefix(folder).unwrap_or(&path).as_os_str();
            found.insert(name.as_encoded_bytes().escape_ascii().to_string(), content);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named_and_what_is_touched_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("src");
        fs::create_dir_all(source.join("d")).unwrap();
        fs::write(source.join("d/a.c"), "one").unwrap();
        assert!(!Pristine::is_noted(folder.path()));
        let first = Pristine::open(folder.path()).unwrap();
        assert!(Pristine::is_noted(folder.path()));
        let touched =
            |paths: &[&str]| paths.iter().map(|path| ((*path).to_owned(), true)).collect();
        first.check(&source, &touched(&[])).unwrap();
        fs::write(source.join("d/a.c"), "two").unwrap();
        std::os::unix::fs::symlink("a.c", source.join("d/l")).unwrap();
        let again = Pristine::open(folder.path()).unwrap();
        assert_eq!(again.sha256, first.sha256);
        let error = again.check(&source, &touched(&[])).unwrap_err().to_string();
        assert!(error.contains("not as it was unpacked: d/a.c, d/l; remove "), "{error}");
        again.check(&source, &touched(&["d/a.c", "d/l"])).unwrap();
    }
}
