// SPDX-License-Identifier: GPL-2.0-only
//! A scheduler is one file. What several share is in `schedulers/include/`, and nothing else is.

use std::collections::{BTreeMap, BTreeSet};

use crate::{expect_none, files};

/// The most lines, without empty ones, that a scheduler may have for itself: its file, and headers
/// that no other scheduler includes. What differs between its versions is read apart.
const PRIVATE_LINES: usize = 600;

/// The files of `schedulers/` that a scheduler includes, itself among them, by the scheduler's
/// path.
type Closures = BTreeMap<String, BTreeSet<String>>;

fn texts() -> BTreeMap<String, String> {
    let ours = files()
        .into_iter()
        .filter(|file| file.path.starts_with("schedulers/") && file.is(&[".bpf.c", ".h"]));
    ours.map(|file| (file.path["schedulers/".len()..].to_owned(), file.text)).collect()
}

fn closures(texts: &BTreeMap<String, String>) -> Closures {
    let schedulers = texts.keys().filter(|path| path.ends_with(".bpf.c"));
    schedulers
        .map(|path| {
            let mut found = BTreeSet::new();
            include(texts, path, &mut found);
            (path.clone(), found)
        })
        .collect()
}

fn include(texts: &BTreeMap<String, String>, path: &str, found: &mut BTreeSet<String>) {
    if !found.insert(path.to_owned()) {
        return;
    }
    let folder = path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let names = texts[path].lines().filter_map(|line| line.strip_prefix("#include \""));
    for name in names.filter_map(|rest| rest.strip_suffix('"')) {
        let beside = format!("{folder}{name}");
        let found_as = if texts.contains_key(&beside) { beside } else { name.to_owned() };
        include(texts, &found_as, found);
    }
}

/// What differs between the versions of a scheduler may be of use to it alone.
fn is_eras(path: &str) -> bool {
    path.ends_with("_eras.h")
}

/// The schedulers that include a file.
fn users<'a>(closures: &'a Closures, path: &str) -> Vec<&'a str> {
    let has = closures.iter().filter(|(_, included)| included.contains(path));
    has.map(|(scheduler, _)| scheduler.as_str()).collect()
}

#[test]
fn what_is_private_to_a_scheduler_fits_in_the_head() {
    let texts = texts();
    let closures = closures(&texts);
    let mut complaints = Vec::new();
    for (scheduler, included) in &closures {
        let is_private = |path: &&String| {
            !is_eras(path) && users(&closures, path) == [scheduler.as_str()] || *path == scheduler
        };
        let count = |path: &String| texts[path].lines().filter(|l| !l.trim().is_empty()).count();
        let lines: usize = included.iter().filter(is_private).map(count).sum();
        if lines > PRIVATE_LINES {
            complaints.push(format!(
                "schedulers/{scheduler}: {lines} lines of its own, the limit is {PRIVATE_LINES}"
            ));
        }
    }
    expect_none(complaints);
}

#[test]
fn a_header_serves_at_least_two_schedulers() {
    let texts = texts();
    let closures = closures(&texts);
    let headers = texts.keys().filter(|path| path.ends_with(".h") && !is_eras(path));
    let complaint = |path: &String| match users(&closures, path)[..] {
        [] => Some(format!("schedulers/{path}: no scheduler includes it")),
        [only] => Some(format!("schedulers/{path}: only {only} includes it, move it there")),
        _ => None,
    };
    expect_none(headers.filter_map(complaint).collect());
}

#[test]
fn a_header_begins_with_a_title() {
    let texts = texts();
    let mut complaints = Vec::new();
    for (path, text) in texts.iter().filter(|(path, _)| path.ends_with(".h")) {
        let lines: Vec<&str> = text.lines().skip(1).take(3).collect();
        let title = match lines[..] {
            ["/*", title, next] if next.trim_end() == " *" => title.strip_prefix(" * "),
            [line, ..] => line.strip_prefix("/* ").and_then(|line| line.strip_suffix(" */")),
            [] => None,
        };
        if !title.is_some_and(|title| title.ends_with('.')) {
            complaints.push(format!(
                "schedulers/{path}:2: begin with one line that ends in a full stop, then an \
                 empty one"
            ));
        }
    }
    expect_none(complaints);
}
