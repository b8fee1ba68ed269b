// SPDX-License-Identifier: GPL-2.0-only
//! The binary contains GPL-2.0-only code, so every linked crate must be compatible with that.
//! Apache-2.0 alone is not; a dual licence that offers MIT is.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::{expect_none, root};

const ALLOWED: &[&str] = &[
    "GPL-2.0-only",
    "MIT",
    "MIT-0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unlicense",
    "CC0-1.0",
    "BSL-1.0",
    "Unicode-3.0",
];

#[test]
fn linked_crates_are_compatible_with_the_gpl() {
    let metadata = metadata();
    let linked = linked(&metadata);
    assert!(linked.len() > 50, "the metadata were not understood: {linked:?}");
    let packages =
        list(&metadata["packages"]).filter(|package| linked.contains(text(package, "id")));
    let complaints = packages.filter_map(|package| {
        let (name, licence) = (text(package, "name"), text(package, "license"));
        let source = package["source"].as_str();
        if !is_compatible(licence) {
            return Some(format!("{name}: the licence '{licence}' is not compatible"));
        }
        let is_known = source.is_none_or(|source| source.starts_with("registry+"));
        (!is_known).then(|| format!("{name} comes from {source:?}, which is no registry"))
    });
    expect_none(complaints.collect());
}

fn metadata() -> Value {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--offline", "--locked"]);
    cargo.args(["--filter-platform", "x86_64-unknown-linux-gnu"]);
    let output = cargo.current_dir(root()).output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Crates that only build scripts or tests use are tools, as the compiler is: the binary links
/// nothing of them.
fn linked(metadata: &Value) -> BTreeSet<&str> {
    let mut linked = BTreeSet::new();
    let members = list(&metadata["workspace_members"]);
    let mut open: Vec<&str> = members.filter_map(Value::as_str).collect();
    while let Some(id) = open.pop() {
        if !linked.insert(id) {
            continue;
        }
        let node = list(&metadata["resolve"]["nodes"]).find(|node| text(node, "id") == id);
        let dependencies = list(&node.expect("a node of each crate")["deps"]);
        let linked = dependencies
            .filter(|dependency| list(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null()));
        open.extend(linked.map(|dependency| text(dependency, "pkg")));
    }
    linked
}

/// Whether an SPDX expression leaves a choice that may be linked with GPL-2.0-only.
fn is_compatible(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    let is_allowed = |licence: &str| ALLOWED.contains(&licence.trim_matches(['(', ')', ' ']));
    expression.split(" AND ").all(|clause| clause.split(" OR ").any(is_allowed))
}

#[test]
fn a_choice_may_have_one_compatible_licence() {
    for good in
        ["MIT", "MIT OR Apache-2.0", "Apache-2.0/MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"]
    {
        assert!(is_compatible(good), "{good}");
    }
    for bad in ["", "Apache-2.0", "MPL-2.0", "MIT AND Apache-2.0"] {
        assert!(!is_compatible(bad), "{bad}");
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}
