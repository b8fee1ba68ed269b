// SPDX-License-Identifier: GPL-2.0-only
//! Sources: what may stand in a line, how long functions and files may be, how modules are named,
//! and what tests that need a machine ask first.

use std::collections::BTreeMap;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::{File, expect_none, files};

const WIDTH: usize = 100;
const FILE_LINES: usize = 400;

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
    // `schedulers.rs` limits what is private to a scheduler, not a file's length.
    let is_scheduler = |file: &&File| file.is(&[".bpf.c"]) && file.path.starts_with("schedulers/");
    for file in files().iter().filter(|file| file.is(CODE) && !is_scheduler(file)) {
        let lines = file.text.lines().count();
        if lines > FILE_LINES {
            complaints.push(format!("{}: {lines} lines, the limit is {FILE_LINES}", file.path));
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

const LINES_MAX: usize = 70;
const LINES_MEDIAN_MAX: usize = 12;

struct Lengths {
    path: String,
    found: Vec<(usize, String)>,
}

impl Lengths {
    fn add(&mut self, name: &syn::Ident, span: proc_macro2::Span) {
        let lines = span.end().line - span.start().line + 1;
        self.found.push((lines, format!("{}:{}: {name}", self.path, span.start().line)));
    }
}

impl<'ast> Visit<'ast> for Lengths {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig.ident, function.block.span());
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig.ident, function.block.span());
        visit::visit_impl_item_fn(self, function);
    }
}

fn lengths() -> Vec<(usize, String)> {
    let mut all = Vec::new();
    for file in files().iter().filter(|file| file.is(&[".rs"])) {
        let parsed = syn::parse_file(&file.text).expect("the compiler accepts the file");
        let mut lengths = Lengths { path: file.path.clone(), found: Vec::new() };
        lengths.visit_file(&parsed);
        all.append(&mut lengths.found);
    }
    all.sort();
    all
}

#[test]
fn functions_do_one_thing() {
    let long = lengths().into_iter().filter(|(lines, _)| *lines > LINES_MAX);
    expect_none(long.map(|(lines, place)| format!("{place}: {lines} lines")).collect());
}

#[test]
fn most_functions_fit_in_the_eye() {
    let lengths = lengths();
    let median = lengths[lengths.len() / 2].0;
    assert!(median <= LINES_MEDIAN_MAX, "the median function has {median} lines");
}

/// File names that Rust or the tests prescribe; they do not say what is in the file.
const PRESCRIBED: [&str; 4] = ["lib", "main", "mod", "tests"];

#[test]
fn no_crate_has_two_modules_of_one_name() {
    let mut modules: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for file in files() {
        if let Some(module) = module(&file.path) {
            modules.entry(module).or_default().push(file.path);
        }
    }
    let twice = modules.into_values().filter(|paths| paths.len() > 1);
    let complaint = |paths: Vec<String>| format!("two modules of one name: {}", paths.join(", "));
    expect_none(twice.map(complaint).collect());
}

/// The crate and the name of the module in a file; `None` for tests, binaries and other files. A
/// `mod.rs` has the name of its folder.
fn module(path: &str) -> Option<(String, String)> {
    let (owner, file) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let parts: Vec<&str> = file.strip_suffix(".rs")?.split('/').collect();
    if parts.iter().any(|part| ["bin", "tests"].contains(part)) {
        return None;
    }
    let name = match parts.as_slice() {
        [.., folder, "mod"] => folder,
        [.., name] => name,
        [] => return None,
    };
    (!PRESCRIBED.contains(name)).then(|| (owner.to_owned(), (*name).to_owned()))
}

#[test]
fn a_module_has_the_name_of_its_file_or_folder() {
    let name = |path: &str| module(path).map(|(owner, name)| format!("{owner}: {name}"));
    assert_eq!(name("crates/sim/src/player/steps.rs").as_deref(), Some("sim: steps"));
    assert_eq!(name("crates/sim/src/player/mod.rs").as_deref(), Some("sim: player"));
    assert_eq!(name("crates/sim/src/lib.rs"), None);
    assert_eq!(name("crates/sim/src/player/tests/mod.rs"), None);
    assert_eq!(name("crates/sim/tests/it/steps.rs"), None);
}

#[test]
fn a_module_with_parts_is_in_its_folder() {
    let files = files();
    let has_parts = |path: &str| {
        let folder = format!("{}/", path.trim_end_matches(".rs"));
        path.contains("/src/") && files.iter().any(|other| other.path.starts_with(&folder))
    };
    let beside = files.iter().filter(|file| file.is(&[".rs"]) && has_parts(&file.path));
    expect_none(beside.map(|file| format!("{}: write it as mod.rs", file.path)).collect());
}

/// `cargo test` alone runs what needs no machine: what is below a module `full`, which
/// `make test-all` runs, begins by asking whether it was called for.
#[test]
fn what_is_full_asks_whether_it_was_called_for() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| file.is(&[".rs"]) && file.path != OWN) {
        let is_full = file.path.contains("/full/") || file.path.ends_with("/full.rs");
        let lines: Vec<(usize, &str)> = file.lines().collect();
        for (place, (number, line)) in lines.iter().enumerate() {
            if is_full && line.trim() == "#[test]" {
                let body =
                    lines[place..].iter().skip_while(|(_, line)| !line.ends_with('{')).nth(1);
                if !body.is_some_and(|(_, first)| first.contains("beyond_cargo_test!")) {
                    complaints.push(format!("{}:{number}: ask by `beyond_cargo_test!`", file.path));
                }
            }
        }
    }
    expect_none(complaints);
}

const OWN: &str = "tests/tidy/sources.rs";
