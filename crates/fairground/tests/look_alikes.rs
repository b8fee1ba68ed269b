// SPDX-License-Identifier: GPL-2.0-only
//! No two of our schedulers are the same under another name: for each pair there is a small workload in
//! which they differ, and the tool names it.

mod common;

use std::collections::BTreeSet;

use common::{Bench, stdout};
use stats::decide::separation::Separation;

#[test]
fn any_two_schedulers_can_be_told_apart() {
    let bench = Bench::new();
    bench.run(&["run", "look_alikes", "--store", "alike.db"]).success();
    let asked = ["compare", "look_alikes", "--store", "alike.db", "--apart"];
    println!("{}", stdout(&bench.run(&asked).success()));
    let json = stdout(&bench.run(&[&asked[..], &["--format", "json"]].concat()).success());
    let pairs: Vec<Separation> = serde_json::from_str(&json).expect("pairs");
    let alike: Vec<String> = (pairs.iter().filter(|pair| pair.evidence.is_none()))
        .map(|pair| format!("{} and {}", pair.one, pair.other))
        .collect();
    assert_eq!(alike, Vec::<String>::new(), "differ in none of the workloads");
    let compared: BTreeSet<String> =
        pairs.into_iter().flat_map(|pair| [pair.one, pair.other]).collect();
    let all: BTreeSet<String> = compile::builtin().into_iter().map(|source| source.name).collect();
    assert_eq!(compared, all, "experiments/look_alikes.toml names every scheduler");
}
