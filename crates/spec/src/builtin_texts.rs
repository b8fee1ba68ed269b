// SPDX-License-Identifier: GPL-2.0-only
//! Texts of the files that come with Fairground, which everybody has.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use toml::{Table, Value};

use crate::assets::EMBEDDED;

/// Whether one of the files has this text as a value: a description, a script, a path.
pub fn is(text: &str) -> bool {
    static TEXTS: OnceLock<BTreeSet<String>> = OnceLock::new();
    TEXTS.get_or_init(all).contains(text)
}

fn all() -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    for table in EMBEDDED.iter().filter_map(|(_, text)| text.parse::<Table>().ok()) {
        collect(Value::Table(table), &mut texts);
    }
    texts
}

fn collect(value: Value, texts: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            texts.insert(text);
        }
        Value::Array(list) => list.into_iter().for_each(|value| collect(value, texts)),
        Value::Table(table) => {
            for (key, value) in table {
                texts.insert(key);
                collect(value, texts);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn descriptions_and_paths_of_workloads_are_published() {
        assert!(super::is("/usr/share/dbench/client.txt") && super::is("/bin/sh"));
        assert!(!super::is("/home/ada/client.txt"));
    }
}
