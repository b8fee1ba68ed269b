// SPDX-License-Identifier: GPL-2.0-only
//! Documents stay true: links lead somewhere, and each document has one title.

use std::path::Path;

use crate::{File, expect_none, files, root};

#[test]
fn links_lead_somewhere() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| is_document(file)) {
        let path = root().join(&file.path);
        for (number, line) in file.lines() {
            let wrong = links(line).filter_map(|link| broken(&path, link));
            complaints.extend(wrong.map(|why| format!("{}:{number}: {why}", file.path)));
        }
    }
    expect_none(complaints);
}

/// Expected output of tests is no document.
fn is_document(file: &File) -> bool {
    file.is(&[".md"]) && !file.path.contains("/golden/")
}

/// The targets of a line's Markdown links that are files or headings; code is not looked into.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split([')', ' ']).next()?;
        (!target.is_empty() && !target.contains("://")).then_some(target)
    })
}

/// Why a link leads nowhere; `None` if it leads somewhere.
fn broken(document: &Path, link: &str) -> Option<String> {
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => document.to_owned(),
        file => document.parent().expect("a file has a folder").join(file),
    };
    if !target.exists() {
        return Some(format!("{file} does not exist"));
    }
    if heading.is_empty() {
        return None;
    }
    let text = std::fs::read_to_string(&target).unwrap_or_default();
    let known = text.lines().filter(|line| line.starts_with('#')).any(|line| slug(line) == heading);
    (!known).then(|| format!("{link}: there is no such heading"))
}

/// A heading's name in links, as both mdBook and code hosts make it.
fn slug(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().chars();
    kept.filter_map(|character| match character {
        ' ' => Some('-'),
        '-' | '_' => Some(character),
        other => other.is_alphanumeric().then(|| other.to_ascii_lowercase()),
    })
    .collect()
}

#[test]
fn the_version_is_that_on_top_of_the_changelog() {
    let text = |name: &str| std::fs::read_to_string(root().join(name)).expect("the file exists");
    let manifest: toml::Table = text("Cargo.toml").parse().expect("cargo accepts the manifest");
    let version = manifest["workspace"]["package"]["version"].as_str().expect("a version");
    let changelog = text("CHANGELOG.md");
    let newest = changelog.lines().find_map(|line| line.strip_prefix("## ")).expect("an entry");
    assert_eq!(newest.split([',', ' ']).next(), Some(version), "Cargo.toml and CHANGELOG.md");
    let others = files()
        .into_iter()
        .filter(|file| file.path.starts_with("crates/") && file.is(&["/Cargo.toml"]));
    let others = others.filter(|file| !file.text.contains("\nversion.workspace = true\n"));
    expect_none(others.map(|file| format!("{}: version.workspace = true", file.path)).collect());
}

/// A row of the doors names the tests that guard it in its last column, each between backticks.
#[test]
fn every_door_has_a_test_that_exists() {
    let security = std::fs::read_to_string(root().join("SECURITY.md")).expect("the file exists");
    let (_, doors) = security.split_once("\n## The doors\n").expect("a heading");
    let rows = doors.split("\n## ").next().unwrap_or_default().lines();
    let rows: Vec<&str> = rows.filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() > 15, "the table was not understood");
    let sources: Vec<File> = files().into_iter().filter(|file| file.is(&[".rs"])).collect();
    let is_test = |name: &str| sources.iter().any(|file| declares_test(&file.text, name));
    let mut complaints = Vec::new();
    for row in rows {
        let guards = row.trim_end_matches([' ', '|']).rsplit(" | ").next().unwrap_or_default();
        let names: Vec<&str> = guards.split('`').skip(1).step_by(2).collect();
        if names.is_empty() {
            let door = row.split(" | ").next().unwrap_or_default();
            complaints.push(format!("SECURITY.md: no test guards this door: {door}"));
        }
        let absent = names.into_iter().filter(|name| !is_test(name));
        complaints.extend(absent.map(|name| format!("SECURITY.md: there is no test `{name}`")));
    }
    expect_none(complaints);
}

/// Whether a source has a test of this name. Further attributes may stand between.
fn declares_test(text: &str, name: &str) -> bool {
    let declared = format!("fn {name}(");
    text.match_indices(&declared).any(|(at, _)| {
        let attributes = text[..at].lines().rev().map(str::trim).filter(|line| !line.is_empty());
        attributes.take_while(|line| line.starts_with("#[")).any(|line| line == "#[test]")
    })
}

#[test]
fn headings_have_the_names_that_links_use() {
    assert_eq!(slug("## How a claim is judged"), "how-a-claim-is-judged");
    assert_eq!(slug("### `[[task]]`, a group"), "task-a-group");
}

#[test]
fn documents_have_one_title() {
    let titles = |file: &File| {
        let mut in_code = false;
        let mut titles = 0;
        for line in file.text.lines() {
            in_code ^= line.starts_with("```");
            titles += usize::from(!in_code && line.starts_with("# "));
        }
        titles
    };
    // The summary is the book's list of chapters, whose parts are titles; an included document
    // brings its own title.
    let documents = files().into_iter().filter(|file| {
        is_document(file) && !file.is(&["SUMMARY.md"]) && !file.text.starts_with("{{#include")
    });
    let wrong = documents.filter(|file| titles(file) != 1);
    expect_none(wrong.map(|file| format!("{}: one `# ` title, no more", file.path)).collect());
}
