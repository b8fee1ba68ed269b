// SPDX-License-Identifier: GPL-2.0-only
//! How fast CPUs work that share a core, or boost while others idle.

use crate::common::{run_fifo as run, trial, value};
use model::Trial;
use serde_json::{Value, json};

/// Threads of two, each of which has half of the core while both are busy.
fn cores(cpus: u32, duration_ms: u64, tasks: Value) -> Trial {
    let mut trial = trial(cpus, duration_ms, tasks);
    (trial.machine.smt, trial.machine.smt_percent) = (2, 50);
    trial
}

fn once(name: &str, cpu: u32, run_us: u64) -> Value {
    json!({"name": name, "repeat": 1, "affinity": [cpu], "steps": [{"run_us": run_us}]})
}

#[test]
fn a_sibling_is_slow_only_while_the_other_works() {
    let record = run(&cores(2, 50, json!([once("long", 0, 1_000), once("short", 1, 200)])));
    // The short task needs 400 µs, in which the long one has done 200; its other 800 take 800 µs.
    assert_eq!(value(&record, "completion_ns", "all"), 1.2e6);
    assert_eq!(value(&record, "user_time_ns", "short"), 4e5);
    assert_eq!(value(&record, "user_time_ns", "long"), 1.2e6);
}

#[test]
fn packing_costs_half_and_spreading_nothing() {
    let rounds = |cpus: [u32; 2]| {
        let hog = |name: &str, cpu: u32| json!({"name": name, "affinity": [cpu], "steps": [{"run_us": 100}]});
        let record = run(&cores(4, 100, json!([hog("a", cpus[0]), hog("b", cpus[1])])));
        ["a", "b"].map(|name| value(&record, "iterations_per_second", name))
    };
    let near = |found: [f64; 2], expected: f64| {
        assert!(found.iter().all(|rate| (rate / expected - 1.0).abs() < 0.005), "{found:?}");
    };
    near(rounds([0, 1]), 5_000.0);
    near(rounds([0, 2]), 10_000.0);
}

#[test]
fn woken_tasks_find_idle_cores() {
    // The reference scheduler takes the idle CPU that sched_ext prefers: one of an idle core. The
    // sleeps differ, so that the tasks part although they begin together.
    let sleeper = |number: u64| json!({"name": format!("{number}"), "steps": [{"run_us": 100}, {"sleep_us": 100 + number}]});
    let record = run(&cores(8, 100, (0..4).map(sleeper).collect()));
    for number in 0..4 {
        let rate = value(&record, "iterations_per_second", &number.to_string());
        assert!((rate / (1e6 / (200 + number) as f64) - 1.0).abs() < 0.02, "{number}: {rate}");
    }
}

#[test]
fn few_busy_cores_are_faster() {
    let mut boosted = trial(2, 50, json!([once("long", 0, 3_000), once("short", 1, 1_000)]));
    boosted.machine.boost_percent = vec![200, 100];
    // Both work for 1 ms at full speed; the other 2 ms of work take 1 ms.
    assert_eq!(value(&run(&boosted), "completion_ns", "all"), 2e6);
}
