// SPDX-License-Identifier: GPL-2.0-only
//! Who may know whom, and what must not be where.

use std::collections::{BTreeMap, BTreeSet};

use crate::{File, expect_none, files, root};

/// What a crate may know besides `model`; `fairground` may know all.
const MAY_ALSO_KNOW: &[(&str, &[&str])] = &[
    ("live", &["compile", "recording", "process"]),
    ("sim", &["compile", "process"]),
    // A chunk is a file that carries schedulers' texts, its records go where those of local trials
    // go.
    ("fleet", &["compile", "process", "spec", "store"]),
    // The compiler reads a stranger's text.
    ("compile", &["process"]),
    // A report is a function of a comparison, whose type the statistics define.
    ("report", &["stats"]),
    // The definition of a kernel that is built is a file like the others.
    ("vm", &["process", "spec"]),
    // A store, an imported result and a shared file can be a stranger's.
    ("store", &["spec"]),
];

/// Crates that measure or compute: they emit events and return values, they never print.
const SILENT: &[&str] = &[
    "model",
    "spec",
    "compile",
    "process",
    "live",
    "vm",
    "sim",
    "fleet",
    "store",
    "stats",
    "report",
    "recording",
];

/// The backends: what links libbpf, QEMU's side of a boot, or native schedulers.
const BACKENDS: &[&str] = &["live", "vm", "sim"];

/// Pure crates: no files, clocks, threads, processes, or order that differs from run to run.
const PURE: &[&str] = &["model", "stats", "report", "sim"];

/// A native scheduler may crash or hang, so it runs in a process of its own with a time limit.
const IMPURE: &str = "crates/sim/src/native/";

fn crate_of(file: &File) -> Option<&str> {
    file.path.strip_prefix("crates/")?.split('/').next()
}

fn manifests() -> BTreeMap<String, toml::Table> {
    let manifests = files().into_iter().filter(|file| {
        file.path.starts_with("crates/")
            && file.path.matches('/').count() == 2
            && file.is(&["Cargo.toml"])
    });
    manifests
        .map(|file| {
            let name = crate_of(&file).expect("a crate's folder").to_owned();
            (name, file.text.parse().expect("cargo accepts the manifest"))
        })
        .collect()
}

#[test]
fn the_law_of_the_star_holds() {
    let manifests = manifests();
    let mut complaints = Vec::new();
    for (name, manifest) in manifests.iter().filter(|(name, _)| *name != "fairground") {
        let allowed = MAY_ALSO_KNOW.iter().find(|(who, _)| who == name).map_or(&[][..], |(_, w)| w);
        let foreign = known(manifest, &manifests)
            .filter(|sibling| *sibling != "model" && !allowed.contains(sibling));
        complaints
            .extend(foreign.map(|sibling| format!("crates/{name} may not know crates/{sibling}")));
    }
    expect_none(complaints);
}

#[test]
fn reading_a_file_links_no_backend() {
    let manifests = manifests();
    let (mut reached, mut open) = (BTreeSet::new(), vec!["spec"]);
    while let Some(name) = open.pop() {
        if reached.insert(name) {
            open.extend(known(&manifests[name], &manifests));
        }
    }
    assert!(reached.contains("model"), "the manifests were not understood: {reached:?}");
    let backends = reached.iter().filter(|name| BACKENDS.contains(name));
    expect_none(backends.map(|name| format!("crates/spec depends on crates/{name}")).collect());
}

/// The crates of this workspace that a crate is built with, its tests left out.
fn known<'a>(
    manifest: &'a toml::Table,
    manifests: &'a BTreeMap<String, toml::Table>,
) -> impl Iterator<Item = &'a str> {
    let sections = ["dependencies", "build-dependencies"].map(|section| manifest.get(section));
    let names = sections.into_iter().flatten().filter_map(|names| names.as_table()).flatten();
    names.map(|(name, _)| name.as_str()).filter(|name| manifests.contains_key(*name))
}

const BUILD_SCRIPT: [&str; 2] =
    ["crates/compile/src/build.rs:", "crates/compile/src/build_native.rs:"];

#[test]
fn measuring_and_computing_never_print() {
    let prints = ["println!(", "eprintln!(", "print!(", "eprint!("];
    let mut complaints = find_in_sources(SILENT, &prints, "emit an event or return a value");
    // A build script talks to Cargo by printing.
    complaints.retain(|complaint| !BUILD_SCRIPT.iter().any(|own| complaint.starts_with(own)));
    expect_none(complaints);
}

#[test]
fn pure_crates_have_no_clock_no_files_and_no_random_order() {
    let impure = [
        "std::fs",
        "std::time",
        "SystemTime",
        "Instant::",
        "std::thread",
        "std::process",
        "std::net",
        "HashMap",
        "HashSet",
    ];
    let mut complaints = find_in_sources(PURE, &impure, "this crate is pure");
    complaints.retain(|complaint| !complaint.starts_with(IMPURE));
    expect_none(complaints);
}

/// Complains about words in the crates' sources, their tests and build scripts left out.
fn find_in_sources(crates: &[&str], words: &[&str], advice: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| file.is(&[".rs"]) && file.path.contains("/src/")) {
        if !crate_of(file).is_some_and(|name| crates.contains(&name)) || is_test(&file.path) {
            continue;
        }
        for (number, line) in file.lines().take_while(|(_, line)| *line != "#[cfg(test)]") {
            let code = line.split("//").next().unwrap_or_default();
            let found = words.iter().find(|word| code.contains(**word));
            complaints
                .extend(found.map(|word| format!("{}:{number}: {word}: {advice}", file.path)));
        }
    }
    complaints
}

fn is_test(path: &str) -> bool {
    path.contains("/bin/") || path.ends_with("tests.rs") || path.contains("/tests/")
}

#[test]
fn every_source_file_is_reached() {
    let all = files();
    let sources = all.iter().filter(|f| f.path.starts_with("crates/") && f.is(&[".rs"]));
    let everything: String = sources.clone().map(|file| file.text.as_str()).collect();
    let dead = sources.filter(|file| file.path.contains("/src/")).filter(|file| {
        let stem = file.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
        let entry = ["lib", "main", "mod", "build"].contains(&stem) || file.path.contains("/bin/");
        !entry && !everything.contains(&format!("mod {stem};"))
    });
    expect_none(dead.map(|file| format!("{}: no `mod` names it", file.path)).collect());
}

#[test]
fn the_ops_table_of_a_scheduler_stands_last() {
    let schedulers = files()
        .into_iter()
        .filter(|file| file.path.starts_with("schedulers/") && file.is(&[".bpf.c"]));
    let wrong = schedulers.filter(|file| {
        !file.text.trim_end().lines().rev().take(30).any(|line| line.contains("SCX_OPS_DEFINE"))
    });
    expect_none(
        wrong.map(|file| format!("{}: the ops table must stand last", file.path)).collect(),
    );
}

#[test]
fn shell_scripts_stop_at_the_first_error() {
    let careless = files().into_iter().filter(|file| {
        let script = file.is(&[".sh"]) || file.path == ".ci/run";
        script && !file.text.contains("set -eu")
    });
    expect_none(careless.map(|file| format!("{}: add `set -eu`", file.path)).collect());
    assert!(root().join(".ci/run").exists());
}
