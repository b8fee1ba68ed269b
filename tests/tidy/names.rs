// SPDX-License-Identifier: GPL-2.0-only
//! A module's name says which module it is: no crate has two modules of the same name.

use std::collections::BTreeMap;

use crate::{expect_none, files};

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
    assert_eq!(name("crates/sim/tests/steps.rs"), None);
}
