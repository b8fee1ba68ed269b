// SPDX-License-Identifier: GPL-2.0-only
//! A module's name says which module it is: no crate has two of the same name.

use std::collections::BTreeMap;

use crate::{expect_none, files};

/// Names that say what a file is for, not what is in it.
const ROLES: [&str; 4] = ["mod", "lib", "main", "tests"];

#[test]
fn no_two_modules_of_a_crate_have_one_name() {
    let mut modules: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for file in files() {
        let parts: Vec<&str> = file.path.split('/').collect();
        let ["crates", name, "src", .., last] = parts.as_slice() else { continue };
        let Some(stem) = last.strip_suffix(".rs").filter(|stem| !ROLES.contains(stem)) else {
            continue;
        };
        let key = ((*name).to_owned(), stem.to_owned());
        modules.entry(key).or_default().push(file.path.clone());
    }
    let twice = modules.into_values().filter(|paths| paths.len() > 1);
    expect_none(twice.map(|paths| format!("one name: {}", paths.join(", "))).collect());
}
