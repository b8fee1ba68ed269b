// SPDX-License-Identifier: GPL-2.0-only
//! Same trial, same bytes.
//!
//! What is shown over time is what has happened.
//!
//! How fast CPUs work that share a core, or boost while others idle.

use std::rc::Rc;

use model::{Costs, Seed, Trial};
use serde_json::{Value, json};
use sim::{Ops, TaskLayout};

use crate::common::reference::{Fifo, Vtime};
use crate::common::{run, run_fifo, trial, value};

fn busy(seed: u64) -> Trial {
    let tasks = json!([
        {"name": "worker", "count": 24, "jitter_us": 900, "steps": [{"run_us": 200}, {"sleep_us": 700}]},
        {"name": "rt", "count": 2, "policy": {"class": "fifo", "priority": 10},
         "steps": [{"run_us": 50}, {"timer": {"period_us": 1_000}}]},
        {"name": "writer", "count": 4, "steps": [{"send": {"channel": "c", "bytes": 100, "fan": 4}}, {"run_us": 20}]},
        {"name": "reader", "count": 4, "steps": [{"receive": {"channel": "c", "bytes": 100}}]},
        {"name": "make", "steps": [{"fork": {"task": "job", "count": 3}}, "wait_children", {"write_file": {"bytes": 4096, "sync": true}}]},
        {"name": "job", "template": true, "steps": [{"run_us": 300}]}]);
    let mut trial = trial(8, 200, tasks);
    trial.workload.channels.push(model::Channel {
        name: "c".into(),
        count: 4,
        ..Default::default()
    });
    (trial.machine.smt, trial.machine.llcs, trial.machine.nodes) = (2, 2, 1);
    trial.machine.costs = Costs::default();
    trial.seed = Seed(seed);
    trial
}

fn record(seed: u64, ops: Rc<dyn Ops>) -> (String, String) {
    let record = sim::run_ops(&busy(seed), Some(ops), TaskLayout::compact());
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    (record.measured.hash(), serde_json::to_string(&record.trace).unwrap())
}

#[test]
fn twice_the_same() {
    let (first, second) =
        (record(1, Rc::new(Vtime::default())), record(1, Rc::new(Vtime::default())));
    assert!(first == second);
    assert_ne!(first.0, record(2, Rc::new(Vtime::default())).0);
}

/// Kept in the repository: a change of the model changes these, and its commit says why.
#[test]
fn the_hashes_are_the_known_ones() {
    let hashes = [
        record(1, Rc::new(Vtime::default())).0,
        record(1, Rc::new(Fifo::default())).0,
        record(2, Rc::new(Vtime::default())).0,
    ];
    assert_eq!(hashes.join(" "), include_str!("../hashes.txt").trim());
}

#[test]
fn a_duty_cycle_is_seen_as_one() {
    // Two tasks on one CPU, each for 1.5 of 5 ms: the second waits for the first.
    let steps = json!([{"run_us": 1500}, {"timer": {"period_us": 5_000}}]);
    let tasks = json!([{"name": "worker", "count": 2, "steps": steps}]);
    let record = run_fifo(&trial(1, 200, tasks));
    let series = |name: &str| record.measured.series(name).expect("it is measured");
    assert_eq!(
        (series("busy_share").interval_ns, series("busy_share").values.len()),
        (10_000_000, 20)
    );
    assert_eq!(series("busy_share").values, [0.6; 20]);
    assert_eq!(series("waiting_tasks").values, [0.3; 20]);
    assert_eq!(series("forks_per_second").values, [0.0; 20]);
    // The end of the trial takes the CPU from a worker that has just begun.
    assert_eq!(series("switches_per_second").values[..19], [400.0; 19]);
    assert_eq!(series("switches_per_second").values[19], 500.0);
}

#[test]
fn who_waits_to_the_end_is_seen_in_every_interval() {
    // Nobody but the first of two tasks with an endless slice ever runs.
    let tasks = json!([{"name": "hog", "count": 2, "steps": [{"run_us": 1_000_000}]}]);
    let record = run(&trial(1, 2_500, tasks), Rc::new(Fifo { slice_ns: u64::MAX }));
    let series = |name: &str| record.measured.series(name).expect("it is measured");
    assert_eq!(
        (series("busy_share").interval_ns, series("busy_share").values.len()),
        (40_000_000, 63)
    );
    assert!(series("waiting_tasks").values.iter().all(|&value| value == 1.0));
    assert!(series("busy_share").values.iter().all(|&value| value == 1.0));
}

#[test]
fn forks_are_seen_when_they_happen() {
    let tasks = json!([
        {"name": "shell", "repeat": 1, "delay_us": 31_000, "steps": [
            {"fork": {"task": "job", "count": 3}}, "wait_children"]},
        {"name": "job", "template": true, "steps": [{"run_us": 100}]},
        {"name": "idler", "steps": [{"sleep_us": 1_000}]}]);
    let record = run_fifo(&trial(2, 60, tasks));
    let forks = &record.measured.series("forks_per_second").expect("it is measured").values;
    assert_eq!(forks, &[0.0, 0.0, 0.0, 300.0, 0.0, 0.0]);
}

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
    let record = run_fifo(&cores(2, 50, json!([once("long", 0, 1_000), once("short", 1, 200)])));
    // The short task needs 400 µs, in which the long one has done 200; its other 800 take 800 µs.
    assert_eq!(value(&record, "completion_ns", "all"), 1.2e6);
    assert_eq!(value(&record, "user_time_ns", "short"), 4e5);
    assert_eq!(value(&record, "user_time_ns", "long"), 1.2e6);
}

#[test]
fn packing_costs_half_and_spreading_nothing() {
    let rounds = |cpus: [u32; 2]| {
        let hog = |name: &str, cpu: u32| json!({"name": name, "affinity": [cpu], "steps": [{"run_us": 100}]});
        let record = run_fifo(&cores(4, 100, json!([hog("a", cpus[0]), hog("b", cpus[1])])));
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
    let record = run_fifo(&cores(8, 100, (0..4).map(sleeper).collect()));
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
    assert_eq!(value(&run_fifo(&boosted), "completion_ns", "all"), 2e6);
}
