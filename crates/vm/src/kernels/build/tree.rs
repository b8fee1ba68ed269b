// SPDX-License-Identifier: GPL-2.0-only
//! One source with changing patches. `patch` itself is asked which files it will touch; they are
//! kept beside the source, and put back before other patches are applied. All variants of a source
//! thus have one path and one folder of objects, and `make` compiles only what a patch changes.
//! What nobody touched is compared with what was unpacked (`pristine`).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Seek, Write};
use std::path::{Component, Path};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use model::trial::sha256_hex;
use serde::{Deserialize, Serialize};

use crate::kernels::build::source::Pristine;
use crate::kernels::build::{Interrupted, patches, refused};

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
///
/// # Errors
/// A change does not apply, or is more than a change of files in the source; the source differs
/// from `pristine`.
pub fn prepare(
    folder: &Path,
    changes: &[Change],
    pristine: Option<&Pristine>,
) -> Result<Vec<String>> {
    let source = folder.join("src");
    let check = |touched: &BTreeMap<String, bool>| match pristine {
        Some(pristine) => pristine.check(&source, touched),
        None => Ok(()),
    };
    let file = folder.join("applied.json");
    let state: State = match fs::read_to_string(&file) {
        Ok(text) => serde_json::from_str(&text)
            .with_context(|| format!("{} is damaged: remove its folder", file.display()))?,
        Err(_) => State::default(),
    };
    let wanted: Vec<String> = changes.iter().map(|c| sha256_hex(c.text.as_bytes())).collect();
    if state.applied == wanted && (!wanted.is_empty() || state.touched.is_empty()) {
        check(&state.touched)?;
        return Ok(state.guessed);
    }
    restore(folder, &state)?;
    let mut state = State::default();
    check(&state.touched)?;
    for change in changes {
        match apply_kept(folder, change, &mut state, &file) {
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
    check(&state.touched)?;
    Ok(state.guessed)
}

/// Keeps the files that a change touches, notes them in `file`, and applies it.
fn apply_kept(
    folder: &Path,
    change: &Change,
    state: &mut State,
    file: &Path,
) -> Result<Vec<String>> {
    let source = folder.join("src");
    let text = patches::unified(&change.text)
        .map_err(|why| refused(format!("{} does not apply: {why}", change.label)))?;
    let change = &Change { label: change.label.clone(), text, fuzz: change.fuzz };
    // A file that is patched twice fails here; it is named all the same.
    let (_, said, _) = patch(&source, change, &["--dry-run"])?;
    for path in touched(&said, change)? {
        if let Entry::Vacant(place) = state.touched.entry(path) {
            let was_there = keep(folder, place.key())?;
            place.insert(was_there);
        }
    }
    write(file, state)?;
    match patch(&source, change, &[])? {
        (true, said, _) => Ok(lines_with(&said, &["with fuzz"])),
        (false, said, errors) => {
            let why = failures(&said, &errors);
            Err(refused(format!("{} does not apply: {why}", change.label)))
        }
    }
}

fn write(file: &Path, state: &State) -> Result<()> {
    fs::write(file, serde_json::to_vec_pretty(state)?)
        .with_context(|| format!("writing {}", file.display()))
}

/// Puts every touched file back, with its rights and a new time, so that `make` notices.
fn restore(folder: &Path, state: &State) -> Result<()> {
    for (path, was_there) in &state.touched {
        let target = folder.join("src").join(path);
        if target.symlink_metadata().is_ok() {
            fs::remove_file(&target).with_context(|| format!("removing {}", target.display()))?;
        }
        if *was_there {
            copy(&folder.join("saved").join(path), &target)?;
        }
    }
    Ok(())
}

/// Keeps a file beside the source. Says whether there is one.
fn keep(folder: &Path, path: &str) -> Result<bool> {
    let source = folder.join("src").join(path);
    match source.symlink_metadata() {
        Ok(data) if data.is_file() => copy(&source, &folder.join("saved").join(path))?,
        Ok(_) => return Err(refused(format!("a patch changes {path}, which is no plain file"))),
        Err(_) => return Ok(false),
    }
    Ok(true)
}

/// Copies a file with its rights, and makes the folders above the copy.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).with_context(|| format!("creating {}", parent.display()))?;
    }
    fs::copy(from, to).map(drop).with_context(|| format!("writing {}", to.display()))
}

/// The files that `patch` names in a dry run: `checking file "a.c" (renamed from b.c)`.
fn touched(said: &str, change: &Change) -> Result<BTreeSet<String>> {
    let refuse = |what: &str| refused(format!("{}: {what}", change.label));
    let mut paths = BTreeSet::new();
    for line in said.lines() {
        if line.starts_with("checking symbolic link ") {
            return Err(refuse("a patch that makes or changes a symbolic link is not applied"));
        }
        let Some(rest) = line.strip_prefix("checking file ") else { continue };
        let (to, rest) = rest
            .strip_prefix('"')
            .and_then(|rest| rest.split_once('"'))
            .ok_or_else(|| refuse(&format!("`patch` says {line}")))?;
        let from = [" (renamed from ", " (copied from "];
        let from = from.iter().find_map(|words| rest.strip_prefix(words)?.strip_suffix(')'));
        for path in [Some(to), from].into_iter().flatten() {
            let is_inside =
                Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
            if !is_inside {
                return Err(refuse(&format!("{path} is outside of the source")));
            }
            if path.contains(['"', '\\']) || path.chars().any(char::is_whitespace) {
                return Err(refuse(&format!("{path} is no file name of a source")));
            }
            paths.insert(path.to_owned());
        }
    }
    Ok(paths)
}

/// Runs `patch`. Returns whether it succeeded, its words and its errors.
fn patch(tree: &Path, change: &Change, more: &[&str]) -> Result<(bool, String, String)> {
    let mut patch = Command::new("patch");
    patch.args(["--strip=1", "--batch", "--forward", "--no-backup-if-mismatch"]);
    patch.args(["--reject-file=-", "--quoting-style=c", &format!("--fuzz={}", change.fuzz)]);
    patch.args(more).current_dir(tree).env("LC_ALL", "C").env_remove("PATCH_GET");
    patch.env_remove("POSIXLY_CORRECT").env_remove("QUOTING_STYLE");
    let mut text = tempfile::tempfile()?;
    text.write_all(change.text.as_bytes())?;
    text.rewind()?;
    patch.stdin(text).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = process::spawn(&mut patch).context("`patch` cannot be run")?;
    let output = child.wait_with_output()?;
    if !output.status.success() && process::stop::is_asked_soon() {
        return Err(Interrupted.into());
    }
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((output.status.success(), words(&output.stdout), words(&output.stderr)))
}

/// Lines of `patch` that contain one of the words, each with the file that it is about.
fn lines_with(said: &str, words: &[&str]) -> Vec<String> {
    let mut file = "";
    let mut found = Vec::new();
    for line in said.lines() {
        let name = ["patching file ", "checking file "].iter().find_map(|w| line.strip_prefix(w));
        if let Some(name) = name {
            file = name.trim_matches('"');
        } else if words.iter().any(|word| line.contains(word)) {
            found.push(format!("{file}: {line}"));
        }
    }
    found
}

fn failures(said: &str, errors: &str) -> String {
    let mut failed = lines_with(said, &["FAILED", "can't find file"]);
    failed.truncate(5);
    if failed.is_empty() {
        let last = errors.lines().last().or(said.lines().last());
        last.unwrap_or_default().trim_start_matches("patch: ").trim_start_matches("**** ").into()
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

    fn put(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
        fs::create_dir_all(path.parent().expect("a folder"))?;
        fs::write(path, bytes)
    }

    #[test]
    fn variants_of_a_source_follow_each_other_and_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("src");
        put(&source.join("a.c"), b"one\n").unwrap();
        let text = |name: &str| fs::read_to_string(source.join(name)).ok();
        let first = change("--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-one\n+two\n");
        let second = change("--- /dev/null\n+++ b/b/b.c\n@@ -0,0 +1 @@\n+new\n");
        prepare(folder.path(), &[first], None).unwrap();
        assert_eq!(text("a.c").as_deref(), Some("two\n"));
        prepare(folder.path(), &[second], None).unwrap();
        assert_eq!(
            (text("a.c").as_deref(), text("b/b.c").as_deref()),
            (Some("one\n"), Some("new\n"))
        );
        prepare(folder.path(), &[], None).unwrap();
        assert_eq!((text("a.c").as_deref(), text("b/b.c")), (Some("one\n"), None));
    }

    #[test]
    fn what_is_placed_by_guess_is_said_each_time() {
        let folder = tempfile::tempdir().unwrap();
        put(&folder.path().join("src/a.c"), b"zero\none\nother\n").unwrap();
        let guess = || change("--- a/a.c\n+++ b/a.c\n@@ -1,3 +1,3 @@\n zero\n-one\n+two\n three\n");
        for _ in 0..2 {
            let guessed = prepare(folder.path(), &[guess()], None).unwrap();
            assert_eq!(guessed, ["a.c: Hunk #1 succeeded at 1 with fuzz 1."]);
        }
        assert!(prepare(folder.path(), &[], None).unwrap().is_empty());
    }

    #[test]
    fn a_patch_that_does_not_apply_names_the_place_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("src");
        put(&source.join("a.c"), b"one\n").unwrap();
        let good = change("--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-one\n+two\n");
        let bad = change("--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-three\n+four\n");
        let error = prepare(folder.path(), &[good, bad], None).unwrap_err().to_string();
        assert!(error.starts_with("x.patch does not apply: a.c: Hunk #1 FAILED at 1"), "{error}");
        assert_eq!(fs::read_to_string(source.join("a.c")).unwrap(), "one\n");
        let outside = change("--- a/../a.c\n+++ b/../a.c\n@@ -1 +1 @@\n-one\n+two\n");
        put(&folder.path().join("a.c"), b"one\n").unwrap();
        assert!(prepare(folder.path(), &[outside], None).is_err());
        assert_eq!(fs::read_to_string(folder.path().join("a.c")).unwrap(), "one\n");
    }

    /// Ways to change a second file: without a header of `git`, by another name, by its rights.
    const SECOND_FILES: &[&str] = &[
        "--- a/b.c\n+++ b/b.c\n@@ -1 +1 @@\n-safe\n+changed\n",
        "diff --git a/b.c b/c.c\nsimilarity index 100%\nrename from b.c\nrename to c.c\n",
        "diff --git a/b.c b/c.c\nsimilarity index 50%\nrename from b.c\nrename to c.c\n\
         --- a/b.c\n+++ b/c.c\n@@ -1 +1 @@\n-safe\n+changed\n",
        "diff --git a/b.c b/c.c\nsimilarity index 100%\ncopy from b.c\ncopy to c.c\n",
        "diff --git a/b.c b/b.c\nold mode 100644\nnew mode 100755\n",
        "diff --git a/b.c b/b.c\ndeleted file mode 100644\n--- a/b.c\n+++ /dev/null\n\
         @@ -1 +0,0 @@\n-safe\n",
        "diff --git a/d/e.c b/d/e.c\nnew file mode 100644\n--- /dev/null\n+++ b/d/e.c\n\
         @@ -0,0 +1 @@\n+new\n",
    ];

    #[test]
    fn each_file_that_a_patch_touches_is_put_back() {
        const FIRST: &str =
            "diff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-one\n+two\n";
        for second in SECOND_FILES {
            let folder = tempfile::tempdir().unwrap();
            let source = folder.path().join("src");
            put(&source.join("a.c"), b"one\n").unwrap();
            put(&source.join("b.c"), b"safe\n").unwrap();
            let pristine = Pristine::open(folder.path()).unwrap();
            let build = |changes: &[Change]| prepare(folder.path(), changes, Some(&pristine));
            let both = build(&[change(&(FIRST.to_owned() + second))]);
            both.unwrap_or_else(|error| panic!("{second}: {error}"));
            assert!(pristine.check(&source, &BTreeMap::new()).is_err(), "{second}");
            build(&[]).unwrap_or_else(|error| panic!("{second}: {error}"));
            // A patch may undo what one before it did, or fail.
            let _ = build(&[change(FIRST), change(second), change(second)]);
            build(&[]).unwrap_or_else(|error| panic!("{second} twice: {error}"));
        }
    }

    #[test]
    fn a_file_that_is_patched_twice_is_put_back() {
        let folder = tempfile::tempdir().unwrap();
        put(&folder.path().join("src/a.c"), b"one\n").unwrap();
        let step = |from: &str, to: &str| {
            format!("diff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-{from}\n+{to}\n")
        };
        let series = step("one", "two") + &step("two", "three");
        prepare(folder.path(), &[change(&series)], None).unwrap();
        let text = || fs::read_to_string(folder.path().join("src/a.c")).unwrap();
        assert_eq!(text(), "three\n");
        prepare(folder.path(), &[], None).unwrap();
        assert_eq!(text(), "one\n");
    }

    #[test]
    fn a_source_that_somebody_changed_is_not_built() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("src");
        put(&source.join("a.c"), b"one\n").unwrap();
        put(&source.join("b.c"), b"safe\n").unwrap();
        let pristine = Pristine::open(folder.path()).unwrap();
        put(&source.join("b.c"), b"changed\n").unwrap();
        let good = change("--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-one\n+two\n");
        for changes in [&[][..], &[good]] {
            let error = prepare(folder.path(), changes, Some(&pristine)).unwrap_err().to_string();
            assert!(error.contains("not as it was unpacked: b.c; remove "), "{error}");
        }
    }

    #[test]
    fn what_is_no_plain_change_of_files_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        put(&folder.path().join("src/a.c"), b"one\n").unwrap();
        for (text, words) in [
            (
                "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n\
                 +/etc/passwd\n\\ No newline at end of file\n",
                "symbolic link",
            ),
            (
                "diff --git \"a/x y\" \"b/x y\"\nnew file mode 100644\n--- /dev/null\n\
                 +++ \"b/x y\"\n@@ -0,0 +1 @@\n+x\n",
                "no file name of a source",
            ),
            ("--- a/a.c\n+++ b/a.c\n1c\ntwo\n.\nw e.c\n", "does not apply"),
        ] {
            let error = prepare(folder.path(), &[change(text)], None).unwrap_err().to_string();
            assert!(error.starts_with("x.patch") && error.contains(words), "{error}");
            assert_eq!(fs::read_dir(folder.path().join("src")).unwrap().count(), 1);
        }
    }
}
