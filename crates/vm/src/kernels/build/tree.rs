// SPDX-License-Identifier: GPL-2.0-only
//! One source with changing patches. Files that patches touch are kept beside it, and put back
//! before other patches are applied. All variants of a source thus have one path and one folder of
//! objects, and `make` compiles only what a patch changes.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use model::trial::sha256_hex;
use serde::{Deserialize, Serialize};

use crate::kernels::build::patches;
use crate::kernels::build::refused;

/// A text that is applied, and how many lines around a change may differ.
pub struct Change {
    /// Where it comes from, for messages.
    pub label: String,
    pub text: String,
    /// `patch --fuzz`.
    pub fuzz: u32,
}

/// What is applied now: it survives a build that was ended.
#[derive(Default, Serialize, Deserialize)]
struct State {
    /// SHA-256 of the texts; empty while it is not known.
    applied: Vec<String>,
    /// Each path that a patch touches, and whether the source has it.
    touched: BTreeMap<String, bool>,
    /// What `patch` placed although the lines around it differ.
    #[serde(default)]
    guessed: Vec<String>,
}

/// Makes the source in `folder/src` the pristine one with these changes. Returns which of their
/// parts were placed although the lines around them differ.
pub fn prepare(folder: &Path, changes: &[Change]) -> Result<Vec<String>> {
    let file = folder.join("applied.json");
    let state: State = match fs::read_to_string(&file) {
        Ok(text) => serde_json::from_str(&text)
            .with_context(|| format!("{} is damaged: remove its folder", file.display()))?,
        Err(_) => State::default(),
    };
    let wanted: Vec<String> = changes.iter().map(|c| sha256_hex(c.text.as_bytes())).collect();
    if state.applied == wanted && (!wanted.is_empty() || state.touched.is_empty()) {
        return Ok(state.guessed);
    }
    restore(folder, &state)?;
    let mut state = State { touched: keep(folder, changes)?, ..State::default() };
    write(&file, &state)?;
    for change in changes {
        match apply(&folder.join("src"), change) {
            Ok(guessed) => state.guessed.extend(guessed),
            Err(error) => {
                restore(folder, &state)?;
                write(&file, &State::default())?;
                return Err(error);
            }
        }
    }
    state.applied = wanted;
    write(&file, &state)?;
    Ok(state.guessed)
}

fn write(file: &Path, state: &State) -> Result<()> {
    fs::write(file, serde_json::to_vec_pretty(state)?)
        .with_context(|| format!("writing {}", file.display()))
}

/// Puts every touched file back, with a new time, so that `make` notices.
fn restore(folder: &Path, state: &State) -> Result<()> {
    for (path, was_there) in &state.touched {
        let target = folder.join("src").join(path);
        if *was_there {
            let text = fs::read(folder.join("saved").join(path))?;
            put(&target, &text)?;
        } else if target.exists() {
            fs::remove_file(&target).with_context(|| format!("removing {}", target.display()))?;
        }
    }
    Ok(())
}

/// Keeps the files that the changes touch, before they do.
fn keep(folder: &Path, changes: &[Change]) -> Result<BTreeMap<String, bool>> {
    let mut touched = BTreeMap::new();
    for path in changes.iter().flat_map(|change| patches::paths(&change.text)) {
        let is_inside =
            Path::new(&path).components().all(|part| matches!(part, Component::Normal(_)));
        if !is_inside {
            return Err(refused(format!("a patch names {path}, which is outside of the source")));
        }
        let source = folder.join("src").join(&path);
        if source.is_file() {
            put(&folder.join("saved").join(&path), &fs::read(&source)?)?;
        }
        touched.insert(path, source.is_file());
    }
    Ok(touched)
}

fn put(path: &PathBuf, bytes: &[u8]) -> Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).with_context(|| format!("creating {}", parent.display()))?;
    }
    fs::write(path, bytes).with_context(|| format!("writing {}", path.display()))
}

/// Returns what was placed by guess.
fn apply(tree: &Path, change: &Change) -> Result<Vec<String>> {
    let mut patch = Command::new("patch");
    patch.args(["--strip=1", "--batch", "--forward", "--no-backup-if-mismatch"]);
    patch.args(["--reject-file=-", &format!("--fuzz={}", change.fuzz)]).current_dir(tree);
    patch.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = patch.spawn().context("`patch` cannot be run")?;
    let mut input = child.stdin.take().context("patch has no input")?;
    let text = change.text.clone();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output()?;
    // A patch that ends early has said why.
    let _ = writer.join();
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        return Ok(lines_with(&said, &["with fuzz"]));
    }
    Err(refused(format!("{} does not apply: {}", change.label, failures(&said))))
}

/// Lines of `patch` that contain one of the words, each with the file that it is about.
fn lines_with(said: &str, words: &[&str]) -> Vec<String> {
    let mut file = "";
    let mut found = Vec::new();
    for line in said.lines() {
        if let Some(name) = line.strip_prefix("patching file ") {
            file = name;
        } else if words.iter().any(|word| line.contains(word)) {
            found.push(format!("{file}: {line}"));
        }
    }
    found
}

fn failures(said: &str) -> String {
    let mut failed = lines_with(said, &["FAILED", "can't find file"]);
    failed.truncate(5);
    if failed.is_empty() {
        said.lines().last().unwrap_or_default().into()
    } else {
        failed.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(text: &str) -> Change {
        Change { label: "x.patch".into(), text: text.into(), fuzz: 3 }
    }

    #[test]
    fn variants_of_a_source_follow_each_other_and_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("src");
        put(&source.join("a.c"), b"one\n").unwrap();
        let text = |name: &str| fs::read_to_string(source.join(name)).ok();
        let first = change("--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-one\n+two\n");
        let second = change("--- /dev/null\n+++ b/b/b.c\n@@ -0,0 +1 @@\n+new\n");
        prepare(folder.path(), &[first]).unwrap();
        assert_eq!(text("a.c").as_deref(), Some("two\n"));
        prepare(folder.path(), &[second]).unwrap();
        assert_eq!(
            (text("a.c").as_deref(), text("b/b.c").as_deref()),
            (Some("one\n"), Some("new\n"))
        );
        prepare(folder.path(), &[]).unwrap();
        assert_eq!((text("a.c").as_deref(), text("b/b.c")), (Some("one\n"), None));
    }

    #[test]
    fn what_is_placed_by_guess_is_said_each_time() {
        let folder = tempfile::tempdir().unwrap();
        put(&folder.path().join("src/a.c"), b"zero\none\nother\n").unwrap();
        let guess = || change("--- a/a.c\n+++ b/a.c\n@@ -1,3 +1,3 @@\n zero\n-one\n+two\n three\n");
        for _ in 0..2 {
            let guessed = prepare(folder.path(), &[guess()]).unwrap();
            assert_eq!(guessed, ["a.c: Hunk #1 succeeded at 1 with fuzz 1."]);
        }
        assert!(prepare(folder.path(), &[]).unwrap().is_empty());
    }

    #[test]
    fn a_patch_that_does_not_apply_names_the_place_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("src");
        put(&source.join("a.c"), b"one\n").unwrap();
        let good = change("--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-one\n+two\n");
        let bad = change("--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-three\n+four\n");
        let error = prepare(folder.path(), &[good, bad]).unwrap_err().to_string();
        assert!(error.starts_with("x.patch does not apply: a.c: Hunk #1 FAILED at 1"), "{error}");
        assert_eq!(fs::read_to_string(source.join("a.c")).unwrap(), "one\n");
        let outside = change("--- a/../a.c\n+++ b/../a.c\n@@ -1 +1 @@\n-one\n+two\n");
        assert!(prepare(folder.path(), &[outside]).unwrap_err().to_string().contains("outside"));
    }
}
