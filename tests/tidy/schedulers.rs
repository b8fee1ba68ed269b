// SPDX-License-Identifier: GPL-2.0-only
//! Schedulers: headers that answer the same questions, functions that name their counterparts in
//! the original, files that are read alone, and no mention of what is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use compile::{Header, Source};

use crate::{File, expect_none, files};

#[test]
fn every_header_answers_every_question() {
    let mut complaints = Vec::new();
    for source in compile::builtin() {
        let missing = questions(&source.header).into_iter().filter(|(_, answer)| answer.is_empty());
        complaints.extend(missing.map(|(question, _)| format!("{}: {question}", source.path)));
    }
    expect_none(complaints);
}

fn questions(header: &Header) -> [(&'static str, &str); 11] {
    [
        ("title", &header.title),
        ("Idea", &header.idea),
        ("Good at", &header.good_at),
        ("Bad at", &header.bad_at),
        ("Origin", &header.origin),
        ("Family", header.lineage.as_ref().map_or("", |family| &family.author)),
        ("Queue", &header.queue),
        ("Slice", &header.slice),
        ("Wake-up", &header.wake_up),
        ("Balancing", &header.balancing),
        ("Differs", &header.differs),
    ]
}

#[test]
fn parents_exist_and_are_not_younger() {
    let all = compile::builtin();
    let year = |name: &str| {
        let found = all.iter().find(|source| source.name == name)?;
        Some(found.header.lineage.as_ref()?.year)
    };
    let mut complaints = Vec::new();
    for source in &all {
        let Some(family) = &source.header.lineage else { continue };
        for parent in &family.after {
            if year(parent).is_none_or(|born| born > family.year) {
                complaints.push(format!("{}: after {parent}?", source.path));
            }
        }
    }
    expect_none(complaints);
}

/// Files of these that mention a name mean something else by it, as the shell's `echo`.
const OTHER_LANGUAGES: [&str; 4] = [".sh", ".yml", ".xml", "Makefile"];

/// After a scheduler, a workload, a machine or an experiment is deleted, the definitions and the
/// oracles that need it are wrong. The message names their lines, and every other line that
/// mentions it.
#[test]
fn nothing_mentions_what_is_gone() {
    let builtin = compile::builtin();
    let exists = |file: &str, _: &Path| {
        let found = builtin.iter().find(|source| source.name == file);
        found.map(|source| (source.name.clone(), String::new())).ok_or_else(String::new)
    };
    let files = files();
    let mut gone: BTreeSet<String> =
        spec::mentions::missing(&exists).into_iter().map(|missing| missing.name).collect();
    let general = spec::care::GENERAL.map(str::to_owned).into_iter();
    let asked = asked(&files).chain(general);
    gone.extend(asked.filter(|name| exists(name, Path::new("")).is_err()));
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| !file.is(&OTHER_LANGUAGES)) {
        let lines = file.lines().filter_map(|(number, line)| {
            let name = gone.iter().find(|name| words(line).any(|word| word == *name))?;
            Some(format!("{}:{number}: there is no '{name}'", file.path))
        });
        complaints.extend(lines);
    }
    expect_none(complaints);
}

/// The schedulers that the oracles' tables run. `kernel:7` and `facts/NAME` are none.
fn asked(files: &[File]) -> impl Iterator<Item = String> {
    let tables = files.iter().filter(|file| file.path.starts_with("tests/oracles/tables/"));
    let values = tables.flat_map(|file| file.text.split("scheduler = \"").skip(1));
    let names = values.filter_map(|rest| rest.split([' ', '"']).next());
    names.filter(|name| !name.is_empty() && !name.contains([':', '/'])).map(str::to_owned)
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
}

/// Words of an `Origin:` that name a source.
const SOURCES: &[&str] = &["Linux", "FreeBSD", "Project C", "BFS", "MuQSS", "patches"];

/// What a comment says: `` (`counterpart`) ``, or that there is none, and why.
const NAMES: [&str; 2] = ["(`", "No counterpart"];

/// Readers who know the original find its functions: each function of a scheduler written after a
/// patch or a kernel's source names its counterpart there.
#[test]
fn functions_name_their_counterparts() {
    let after_a_source = compile::builtin()
        .into_iter()
        .filter(|source| SOURCES.iter().any(|word| source.header.origin.contains(word)));
    expect_none(after_a_source.flat_map(|source| complaints(&source)).collect());
}

fn complaints(source: &Source) -> Vec<String> {
    let lines: Vec<&str> = source.text.lines().collect();
    let functions = (0..lines.len()).filter(|at| is_definition(&lines[*at..]));
    functions
        .filter(|at| !NAMES.iter().any(|name| comment_above(&lines, *at).contains(name)))
        .map(|at| {
            format!(
                "{}:{}: name its counterpart in the original, (`name`), or say \"No counterpart\" \
                 and why",
                source.path,
                at + 1
            )
        })
        .collect()
}

/// Whether a function's body begins after this line, that of its name. Callbacks need no name:
/// their place is in the ops table.
fn is_definition(lines: &[&str]) -> bool {
    let [first, rest @ ..] = lines else { return false };
    if !first.starts_with("static ") || !first.contains('(') || first.contains('=') {
        return false;
    }
    let end = std::iter::once(first).chain(rest).find(|line| line.ends_with([')', ';']));
    end.is_some_and(|line| line.ends_with(')'))
}

/// The comment that ends just above a line, its lines joined.
fn comment_above(lines: &[&str], at: usize) -> String {
    let above = lines[..at].iter().rev();
    let mut comment: Vec<&str> = Vec::new();
    for line in above {
        if comment.is_empty() && !line.ends_with("*/") {
            break;
        }
        comment.push(line);
        if line.starts_with("/*") {
            break;
        }
    }
    let words = |line: &&str| line.trim_matches([' ', '*', '/']).to_owned();
    comment.iter().rev().map(words).collect::<Vec<_>>().join(" ")
}

#[test]
fn comments_and_definitions_are_found() {
    let text = "/* One.\n * Two (`x`). */\nstatic int f(int a,\n\t     int b)\n{\n}\n\n\
                static int g(void);\n";
    let lines: Vec<&str> = text.lines().collect();
    assert!(is_definition(&lines[2..]));
    assert!(!is_definition(&lines[7..]));
    assert_eq!(comment_above(&lines, 2), "One. Two (`x`).");
    assert_eq!(comment_above(&lines, 7), "");
}

/// The most lines, without empty ones, that a scheduler may have for itself: its file, and headers
/// that no other scheduler includes. What differs between its versions is read apart.
const PRIVATE_LINES: usize = 640;

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
