// SPDX-License-Identifier: GPL-2.0-only
//! Stores and shared files of each version so far are read, and by each later program alike.
//!
//! `tests/versions/` has one of each, and next to it what the program that wrote it exported then.

use std::path::{Path, PathBuf};

use crate::common::{Bench, stdout};
use store::{SCHEMA_VERSION, Store};

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/versions").join(name)
}

/// A file of an earlier version, in the folder of a test, and what was exported of it then.
fn copied(bench: &Bench, name: &str) -> String {
    let from = kept(name);
    std::fs::copy(&from, bench.path(name)).unwrap_or_else(|error| {
        panic!("{}: {error}; its README says how each file is made", from.display())
    });
    let exported = name.split('.').next().expect("a name").to_owned() + ".csv";
    std::fs::read_to_string(kept(&exported)).expect("what was exported")
}

fn exported(bench: &Bench, name: &str) -> String {
    stdout(&bench.run(&["export", "csv", "--store", name]).success())
}

/// The first line with a difference, because thousands of equal ones help nobody.
fn expect_equal(now: &str, then: &str) {
    let differing = now.lines().zip(then.lines()).find(|(now, then)| now != then);
    assert_eq!(differing, None, "read now, and exported then");
    assert_eq!(now.lines().count(), then.lines().count());
    assert!(then.lines().count() > 100, "there is nothing to compare");
}

#[test]
fn stores_of_each_version_are_read_as_they_were_written() {
    let bench = Bench::new();
    for version in 1..=SCHEMA_VERSION {
        let name = format!("store{version}.db");
        let then = copied(&bench, &name);
        expect_equal(&exported(&bench, &name), &then);
        let checked = stdout(&bench.run(&["store", "check", &name]).success());
        let known = format!("schema {version} of {SCHEMA_VERSION}; sessions: 1, records: 4");
        let current = "sessions: 1, records: 4";
        assert!(checked.contains(if version < SCHEMA_VERSION { &known } else { current }));
        assert!(checked.contains("nothing is wrong"), "{checked}");
        let before = std::fs::read(kept(&name)).expect("the file");
        assert!(
            std::fs::read(bench.path(&name)).expect("the copy") == before,
            "reading changed it"
        );
    }
}

#[test]
fn stores_of_each_version_are_continued() {
    let bench = Bench::new();
    for version in 1..=SCHEMA_VERSION {
        let name = format!("store{version}.db");
        let then = copied(&bench, &name);
        drop(Store::open(&bench.path(&name)).expect("the store becomes one of this version"));
        expect_equal(&exported(&bench, &name), &then);
        let more = ["run", "--on", "sim", "--workload", "tiny.toml", "--scheduler", "fifo"];
        let rest = ["--blocks", "1", "--exploratory", "--store", &name];
        bench.run(&[&more[..], &rest].concat()).success();
        assert_eq!(bench.records(&name).len(), 5, "store {version}");
    }
}

#[test]
fn shared_files_of_each_version_are_read_and_imported() {
    let bench = Bench::new();
    for version in 1..=exchange::share::seal::VERSION {
        let name = format!("share{version}.fairground");
        let then = copied(&bench, &name);
        let compared = stdout(&bench.run(&["compare", &name]).success());
        assert!(compared.contains("fifo") && compared.contains("vtime"), "{compared}");
        let store = format!("imported{version}.db");
        bench.run(&["import", &name, "--store", &store]).success();
        expect_equal(&exported(&bench, &store), &then);
    }
}
