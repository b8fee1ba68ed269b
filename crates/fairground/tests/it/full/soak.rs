// SPDX-License-Identifier: GPL-2.0-only
//! `fairground soak`: every scheduler of the project survives the short form, and who should not
//! survive it does not.
//!
//! No two of our schedulers are the same under another name: for each pair there is a small workload in
//! which they differ, and the tool names it.

use std::collections::BTreeSet;

use stats::decide::separation::Separation;
use testing::need;

use crate::common::{Bench, guest, project, scheduler, stdout};

#[test]
fn every_scheduler_survives_in_the_simulator() {
    testing::beyond_cargo_test!("takes minutes");
    let bench = Bench::new();
    let soak = bench.run(&["soak", "soak_short", "--on", "sim", "--store", "soak.db"]).success();
    let said = stdout(&soak);
    assert!(said.ends_with("All survived.\n"), "{said}");
    for source in compile::builtin() {
        let row = |line: &str| line.split_whitespace().next() == Some(source.name.as_str());
        assert_eq!(said.lines().filter(|line| row(line)).count(), 4, "{}: {said}", source.name);
    }
}

#[test]
fn every_scheduler_survives_on_the_real_kernel() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&[]));
    let bench = Bench::new();
    let arguments = ["soak", "soak_short", "--on", "vm", "--offline", "--store", "soak.db"];
    let said = stdout(&bench.run(&arguments).success());
    assert!(said.ends_with("All survived.\n"), "{said}");
    let records = bench.records("soak.db");
    for name in compile::builtin().iter().map(|source| source.name.as_str()).chain(["eevdf-7"]) {
        let judged = records.iter().filter(|record| record.trial.contestant.name == name).count();
        // Two workloads each, on every kernel with sched_ext that is there.
        assert!(judged > 0 && judged % 2 == 0, "{name}: {said}");
    }
}

/// The longest load on one busy CPU, virtual time; `bore`, whose groups are verified with most of its
/// callbacks, needs 4.5 s, and the schedulers without groups up to 1.2 s.
const LONGEST_LOAD_NS: u64 = 8_000_000_000;

/// On one CPU, where the time for it does not depend on the host.
#[test]
fn every_scheduler_survives_reloads_under_load() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&[]));
    let bench = Bench::new();
    let reloading = ["--workload", "reloading times=3 duration_ms=100"];
    let soak = ["soak", "soak_short", "--on", "vm", "--machine", "uniprocessor"];
    let rest = ["--offline", "--store", "soak.db"];
    let soak = bench.run(&[&soak[..], &rest, &reloading].concat());
    let said = stdout(&soak.success());
    assert!(said.ends_with("All survived.\n"), "{said}");
    let records = bench.records("soak.db");
    assert!(records.len() >= compile::builtin().len(), "{said}");
    for record in records {
        assert_eq!(record.measured.value("reloads", "all"), Some(3.0), "{said}");
        // In virtual time: the verifier does not go through a loop again and again.
        let load_ns =
            record.measured.histogram("load_ns", "all").and_then(|load| load.quantile(0.5));
        assert!(load_ns.is_some_and(|ns| ns < LONGEST_LOAD_NS), "{load_ns:?}: {record:?}");
    }
}

#[test]
fn who_forgets_a_task_or_a_cpu_is_named() {
    testing::beyond_cargo_test!("takes minutes");
    let (never, forgetful) = (scheduler("never"), scheduler("forgetful"));
    let bench = Bench::new();
    let soak = bench.line(&format!(
        "soak soak_short --on sim --machine four_cpus --store soak.db --scheduler {never} \
         --scheduler {forgetful}"
    ));
    let said = stdout(&soak.code(1));
    let fault = |name: &str, what: &str| {
        let is_it = |line: &&str| line.starts_with(&format!("{name} in")) && line.contains(what);
        assert!(said.lines().any(|line| is_it(&line)), "{name}: {what}: {said}");
    };
    fault("never", "ejected: runnable task stall");
    fault("forgetful", "a CPU idled for");
    assert!(said.contains("ms while a task waited that could have used it (1.0 ms are allowed)"));
}

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
