// SPDX-License-Identifier: GPL-2.0-only
//! No two of our schedulers are the same under another name: for each pair there is a small workload in
//! which they differ, and the tool names it.

use std::collections::BTreeSet;

use crate::common::{Bench, project, stdout};
use stats::decide::separation::Separation;

#[test]
fn any_two_schedulers_can_be_told_apart() {
    testing::beyond_cargo_test!("takes minutes");
    let bench = Bench::new();
    let all: BTreeSet<String> = compile::builtin().into_iter().map(|source| source.name).collect();
    let experiment = std::fs::read_to_string(project("experiments/look_alikes.toml"));
    let named = experiment.expect("the experiment");
    let is_new = |name: &&String| !named.contains(&format!("file = \"{name}\"\n"));
    let new = all.iter().filter(is_new).flat_map(|name| ["--scheduler", name]);
    let run: Vec<&str> =
        ["run", "look_alikes", "--store", "alike.db"].into_iter().chain(new).collect();
    bench.run(&run).success();
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
    assert_eq!(compared, all);
}
