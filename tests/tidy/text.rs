// SPDX-License-Identifier: GPL-2.0-only
//! What may stand in a line, and how many lines may stand in a file.

use crate::{File, expect_none, files};

const WIDTH: usize = 100;
const FILE_LINES: usize = 400;
const FILE_LINES_NEVER: usize = 800;

/// Files that may be longer than [`FILE_LINES`], each with its reason.
const LONG_FILES: &[(&str, &str)] = &[];

const CODE: &[&str] = &[".rs", ".c", ".h", ".sh", ".js", ".css"];

/// Licence texts and lock files: not ours to shape.
const FOREIGN: &[&str] = &["COPYING", "Cargo.lock", ".json"];

#[test]
fn every_source_file_names_its_licence() {
    let unlicensed = files().into_iter().filter(|file| {
        let first_lines: Vec<_> = file.text.lines().take(3).collect();
        let must =
            (file.is(CODE) || file.is(&[".toml", "Makefile"])) && !file.path.contains("/golden/");
        must && !first_lines.join("\n").contains("SPDX-License-Identifier: GPL-2.0-only")
    });
    expect_none(
        unlicensed.map(|file| format!("{}:1: add the SPDX line on top", file.path)).collect(),
    );
}

#[test]
fn lines_fit_the_width() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| file.is(CODE)) {
        for (number, line) in file.lines() {
            let width = line.chars().count();
            if width > WIDTH && !is_unbreakable(file, line) {
                complaints.push(format!("{}:{number}: {width} columns, break it", file.path));
            }
        }
    }
    expect_none(complaints);
}

/// Recorded output and expected errors keep their lines as they are.
fn is_unbreakable(file: &File, line: &str) -> bool {
    file.path.contains("/tests/") || line.contains("://")
}

#[test]
fn files_fit_in_the_head() {
    let mut complaints = Vec::new();
    // `closure.rs` limits schedulers: not a file's length, but what is private to one.
    let is_scheduler = |file: &&File| file.is(&[".bpf.c"]) && file.path.starts_with("schedulers/");
    for file in files().iter().filter(|file| file.is(CODE) && !is_scheduler(file)) {
        let lines = file.text.lines().count();
        let limit = if LONG_FILES.iter().any(|(path, _)| *path == file.path) {
            FILE_LINES_NEVER
        } else {
            FILE_LINES
        };
        if lines > limit {
            complaints.push(format!("{}: {lines} lines, the limit is {limit}", file.path));
        }
    }
    expect_none(complaints);
}

#[test]
fn nothing_unfinished_is_left() {
    // Spelled in halves, so that this file does not complain about itself.
    let leftovers = [
        ["todo", "!("],
        ["unimplemented", "!("],
        ["dbg", "!("],
        ["#[ign", "ore"],
        ["FIX", "ME"],
        ["XX", "X"],
        ["TO", "DO"],
    ];
    expect_none(find(CODE, &leftovers, "finish it or say it otherwise"));
}

#[test]
fn nothing_names_a_machine_or_a_package_host() {
    let private = [
        ["/wo", "rk/"],
        ["/fa", "rm/"],
        ["/ro", "ot/"],
        ["deb.deb", "ian.org"],
        ["crates", ".io/"],
        ["pypi", ".org"],
        ["registry.np", "mjs"],
    ];
    let everywhere = [".rs", ".c", ".h", ".sh", ".js", ".css", ".md", ".toml", "Makefile", "run"];
    expect_none(find(&everywhere, &private, "name no host and no machine's path"));
}

fn find(endings: &[&str], halves: &[[&str; 2]], advice: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| file.is(endings) && !file.is(FOREIGN)) {
        for (number, line) in file.lines() {
            for needle in halves.iter().map(|half| half.concat()) {
                if starts_somewhere(line, &needle) {
                    complaints.push(format!("{}:{number}: {needle}: {advice}", file.path));
                }
            }
        }
    }
    complaints
}

/// Whether the line has the needle where no longer word or path leads up to it: `/sys/x/home/` has
/// no `/home/` in this sense.
fn starts_somewhere(line: &str, needle: &str) -> bool {
    line.match_indices(needle).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|before| before.is_alphanumeric() || before == '_')
    })
}
