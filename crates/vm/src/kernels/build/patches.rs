// SPDX-License-Identifier: GPL-2.0-only
//! Patches: found by their SHA-256 in a folder of downloads or in the cache, else downloaded from
//! their address; and made to fit.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use model::trial::sha256_hex;

use crate::kernels::build::definition::{Patch, Replacement};
use crate::kernels::build::{BuildEvent, Interrupted, OnBuildEvent, refused};

/// The largest file that is taken for a patch.
const PATCH: spec::files::FileKind = spec::files::FileKind { noun: "a patch", most: 64 << 20 };

/// A patch's text as its author published it.
pub fn find(
    patch: &Patch,
    downloads: Option<&Path>,
    cache: &Path,
    hear: &mut OnBuildEvent<'_>,
) -> Result<String> {
    if let Some(folder) = downloads {
        if !folder.is_dir() {
            let folder = folder.display();
            return Err(refused(format!("--downloads: there is no folder {folder}")));
        }
        if let Some(text) = in_folder(folder, &patch.sha256) {
            return Ok(text);
        }
    }
    let kept = cache.join(format!("{}.patch", patch.sha256));
    if let Some(text) = with_hash(&kept, &patch.sha256) {
        return Ok(text);
    }
    hear(BuildEvent::Note(&format!("downloading {}", patch.address)));
    download(patch, &kept)?;
    with_hash(&kept, &patch.sha256).with_context(|| {
        format!("{} is not the file with the SHA-256 {}", patch.address, patch.sha256)
    })
}

pub fn read(file: &Path) -> Result<String> {
    spec::files::text(file, PATCH).map_err(|fault| refused(format!("{}: {fault}", file.display())))
}

fn in_folder(folder: &Path, sha256: &str) -> Option<String> {
    let entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| is_patch(path)).collect();
    paths.sort();
    paths.iter().find_map(|path| with_hash(path, sha256))
}

fn is_patch(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "patch" || end == "diff")
}

fn with_hash(path: &Path, sha256: &str) -> Option<String> {
    let text = spec::files::text(path, PATCH).ok()?;
    (sha256_hex(text.as_bytes()) == sha256).then_some(text)
}

/// By curl, because no other part of the program needs a library for it.
fn download(patch: &Patch, into: &Path) -> Result<()> {
    let advice = "name a folder that holds the file with --downloads or FAIRGROUND_DOWNLOADS";
    if let Some(folder) = into.parent() {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    }
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--silent", "--show-error", "--location", "--proto", "=https"]);
    curl.args(["--max-time", "120", "--output"]).arg(into).arg(&patch.address);
    let output = match process::stop::output(&mut curl) {
        Err(error) if error.kind() == ErrorKind::Interrupted => return Err(Interrupted.into()),
        output => output.with_context(|| format!("curl cannot be run; {advice}"))?,
    };
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        bail!("downloading {} failed: {words}; {advice}", patch.address);
    }
    Ok(())
}

/// The text that is applied to the source in `tree`: replacements made, unwanted files left out.
pub fn adapted(text: &str, patch: &Patch, tree: &Path) -> Result<String> {
    let mut text = text.to_owned();
    for replacement in &patch.replace {
        if is_due(replacement, tree)? {
            if !text.contains(&replacement.old) {
                let old = &replacement.old;
                return Err(refused(format!("the patch {} holds no '{old}'", patch.address)));
            }
            text = text.replace(&replacement.old, &replacement.new);
        }
    }
    let wanted =
        |path: &str| patch.only.is_empty() || patch.only.iter().any(|o| path.starts_with(o));
    Ok(sections(&text).into_iter().filter(|s| wanted(path_of(s).unwrap_or(""))).collect())
}

fn is_due(replacement: &Replacement, tree: &Path) -> Result<bool> {
    let path = tree.join(&replacement.file);
    let text = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
    Ok(String::from_utf8_lossy(&text).contains(&replacement.has))
}

/// Lines of a unified diff besides hunks, by their beginnings.
const HEADERS: &[&str] = &[
    "diff --git ",
    "index ",
    "old mode ",
    "new mode ",
    "new file mode ",
    "deleted file mode ",
    "similarity index ",
    "dissimilarity index ",
    "rename from ",
    "rename to ",
    "copy from ",
    "copy to ",
    "--- ",
    "+++ ",
];

/// The unified diff in a text, without what stands around it. `patch` takes other forms, too, and
/// runs one of them as a script of an editor; it never sees them.
///
/// # Errors
/// The text holds another form, with the number of its line, or no diff.
pub fn unified(text: &str) -> Result<String, String> {
    let mut diff = String::new();
    let (mut old, mut new) = (0_u64, 0_u64);
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        if old > 0 || new > 0 {
            let (is_old, is_new) = match line.as_bytes()[0] {
                b' ' | b'\n' | b'\r' => (true, true),
                b'-' => (true, false),
                b'+' => (false, true),
                b'\\' => (false, false),
                _ => return Err(format!("line {number}: the hunk ends too early")),
            };
            (old, new) = (old.saturating_sub(is_old.into()), new.saturating_sub(is_new.into()));
        } else if let Some(lengths) = hunk(line) {
            (old, new) = lengths;
        } else if is_of_another_form(line) {
            return Err(format!("line {number}: this is no unified diff; make one by `git diff`"));
        } else if !HEADERS.iter().chain(&["\\"]).any(|header| line.starts_with(header)) {
            continue;
        }
        diff.push_str(line);
    }
    if diff.is_empty() { Err("it holds no unified diff".into()) } else { Ok(diff) }
}

/// How many lines of the old and of the new text stand below `@@ -1,2 +1,3 @@`.
fn hunk(line: &str) -> Option<(u64, u64)> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let length = |range: &str| match range.split_once(',') {
        Some((_, length)) => length.parse().ok(),
        None => Some(1),
    };
    Some((length(old)?, length(new)?))
}

/// Whether a line begins a change in a form that is no unified diff: `***`, `@@@`, a binary one, or
/// a command such as `3,5c` or `3c7`.
fn is_of_another_form(line: &str) -> bool {
    let line = line.trim();
    let is_command = line.starts_with(|first: char| first.is_ascii_digit())
        && line.contains(['a', 'c', 'd', 'i', 's'])
        && line
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, ',' | 'a' | 'c' | 'd' | 'i' | 's'));
    let begins =
        ["***************", "@@", "GIT binary patch"].iter().any(|mark| line.starts_with(mark));
    is_command || begins || (line.starts_with("Binary files ") && line.ends_with(" differ"))
}

/// The parts of a patch, one for each file.
fn sections(text: &str) -> Vec<&str> {
    let by_git = text.lines().any(|line| line.starts_with("diff --git "));
    let start = if by_git { "diff --git " } else { "--- " };
    let mut starts = vec![0];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        // A removed line of a hunk may look like a header; a header is followed by another one.
        let next = &text[at + line.len()..];
        if at > 0 && line.starts_with(start) && (by_git || next.starts_with("+++ ")) {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(&from, to)| &text[from..to]).collect()
}

/// The path, relative to the source, that a part of a patch is about.
fn path_of(section: &str) -> Option<&str> {
    let path = |marker: &str| {
        let line = section.lines().find_map(|line| line.strip_prefix(marker))?;
        let path = line.split('\t').next()?.trim();
        path.split_once('/').map(|(_, rest)| rest).filter(|_| path != "/dev/null")
    };
    path("+++ ").or_else(|| path("--- "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "From: a\n\ndiff --git a/kernel/a.c b/kernel/a.c\n--- a/kernel/a.c\n\
        +++ b/kernel/a.c\n@@ -1 +1 @@\n-old_name();\n+new();\ndiff --git a/drivers/b.c \
        b/drivers/b.c\n--- /dev/null\n+++ b/drivers/b.c\n@@ -0,0 +1 @@\n+x\n";

    fn patch(sha256: &str) -> Patch {
        let address = "https://example.invalid/a.patch".to_owned();
        Patch { address, sha256: sha256.into(), fuzz: 3, only: Vec::new(), replace: Vec::new() }
    }

    #[test]
    fn a_patch_is_found_by_what_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b.patch"), TEXT).unwrap();
        fs::write(folder.path().join("a.patch"), "another").unwrap();
        let wanted = patch(&sha256_hex(TEXT.as_bytes()));
        let cache = folder.path().join("cache");
        let found = find(&wanted, Some(folder.path()), &cache, &mut |_| ()).unwrap();
        assert_eq!(found, TEXT);
        let none = folder.path().join("none");
        let error = find(&wanted, Some(&none), &cache, &mut |_| ()).unwrap_err().to_string();
        assert!(error.starts_with("--downloads: there is no folder"), "{error}");
    }

    #[test]
    fn a_cached_file_that_was_changed_is_not_used() {
        let cache = tempfile::tempdir().unwrap();
        let wanted = patch(&sha256_hex(TEXT.as_bytes()));
        let kept = cache.path().join(format!("{}.patch", wanted.sha256));
        fs::write(&kept, "changed").unwrap();
        assert_eq!(with_hash(&kept, &wanted.sha256), None);
        fs::write(&kept, TEXT).unwrap();
        assert_eq!(find(&wanted, None, cache.path(), &mut |_| ()).unwrap(), TEXT);
    }

    #[test]
    fn a_patch_is_made_to_fit() {
        let tree = tempfile::tempdir().unwrap();
        fs::write(tree.path().join("a.c"), "newer_name();").unwrap();
        let replacement = |has: &str| Replacement {
            old: "old_name".into(),
            new: "newer_name".into(),
            file: "a.c".into(),
            has: has.into(),
        };
        let only = vec!["kernel/".to_owned()];
        let due = Patch { only, replace: vec![replacement("newer_name")], ..patch("") };
        let text = adapted(TEXT, &due, tree.path()).unwrap();
        assert!(text.contains("-newer_name();") && !text.contains("drivers"), "{text}");
        let undue = Patch { replace: vec![replacement("newest_name")], ..patch("") };
        assert_eq!(adapted(TEXT, &undue, tree.path()).unwrap(), TEXT);
    }

    #[test]
    fn only_unified_diffs_are_left() {
        let hunk = "--- a/a.c\n+++ b/a.c\n@@ -1,2 +1,2 @@\n one\n-3d\n+1c\n";
        let mail = format!("From: a\nSubject: b\n---\n a.c | 2 +-\n\n{hunk}-- \n2.39\n");
        assert_eq!(unified(&mail).unwrap(), hunk);
        assert_eq!(unified(TEXT).unwrap(), TEXT.strip_prefix("From: a\n\n").unwrap());
        for (text, words) in [
            (format!("{hunk}--- a/a.c\n+++ b/a.c\n1c\ntwo\n.\nw e.c\n"), "line 9: this is no"),
            (format!("{hunk}  1d\n"), "line 7: this is no"),
            (format!("{hunk}3,4s/x/y/\n!touch x\n"), "ok"),
            ("*** a/a.c\n--- b/a.c\n***************\n*** 1 ****\n".into(), "line 3: this is no"),
            ("--- a/a.c\n+++ b/a.c\n@@ -1,2 +1 @@\n-a\nb\n".into(), "line 5: the hunk ends"),
            ("words\n".into(), "it holds no unified diff"),
        ] {
            match unified(&text) {
                Ok(diff) => assert_eq!((diff.as_str(), words), (hunk, "ok")),
                Err(why) => assert!(why.starts_with(words), "{text}: {why}"),
            }
        }
    }
}
