// SPDX-License-Identifier: GPL-2.0-only
//! Small forms of typical workloads, as whole trials: each can be expressed in the model's
//! words, and gives the numbers that it is asked for.

use std::sync::atomic::AtomicBool;

use live::context::Context;
use live::program::find;
use live::trial::supervise;
use model::{Outcome, Record, Trial};
use serde_json::{Value, json};

fn answer(workload: Value) -> Record {
    let trial: Trial = serde_json::from_value(json!({
        "schema": 1, "experiment": "examples", "backend": "live", "seed": 42, "block": 0, "boot": 0,
        "position": 0, "timeout_ms": 60_000,
        "contestant": {"name": "k", "scheduler": {"kind": "kernel"}},
        "workload": workload, "machine": {"name": "here", "cpus": 2},
    }))
    .expect("a trial");
    supervise(&trial, &Context::default(), &AtomicBool::new(false))
}

fn ok(workload: Value) -> Record {
    let record = answer(workload);
    assert_eq!(record.outcome, Outcome::Ok);
    for histogram in &record.measured.histograms {
        assert!(histogram.is_complete(), "{} {}", histogram.name, histogram.group);
    }
    record
}

#[test]
fn messaging_is_hackbench() {
    let (groups, loops) = (2, 20);
    let count = 20 * groups;
    let record = ok(json!({
        "name": "messaging", "parameters": {"groups": groups},
        "channel": [{"name": "messages", "count": count}],
        "task": [
            {"name": "sender", "count": count, "repeat": loops, "steps": [
                {"send": {"channel": "messages", "bytes": 100, "fan": 20}}]},
            {"name": "receiver", "count": count, "repeat": 20 * loops, "steps": [
                {"receive": {"channel": "messages", "bytes": 100}}]},
        ],
        "headline": ["completion_ns all"],
    }));
    assert!(record.measured.value("completion_ns", "all").unwrap() > 0.0);
    assert_eq!(record.measured.histogram("turnaround_ns", "receiver").unwrap().count, count);
}

#[test]
fn wake_under_hogs_has_a_fair_and_a_real_time_waker() {
    let tick = json!([{"timer": {"period_us": 1_000}}, {"run_us": 20}]);
    let record = answer(json!({
        "name": "wake_under_hogs", "parameters": {"hogs": 6}, "duration_us": 200_000,
        "task": [
            {"name": "fair_waker", "jitter_us": 1_000, "steps": tick},
            {"name": "rt_waker", "policy": {"class": "fifo", "priority": 80}, "steps": tick},
            {"name": "hog", "count": 6, "steps": [{"run_us": 1_000}]},
        ],
    }));
    if let Outcome::Unsupported { reason } = &record.outcome {
        return assert!(reason.contains("root"), "{reason}");
    }
    assert_eq!(record.outcome, Outcome::Ok);
    let deadlines = |group| record.measured.value("deadlines", group).unwrap();
    // 200 ms of 1 ms periods, the first release after one period; jitter and a late end move it a
    // little.
    for group in ["fair_waker", "rt_waker"] {
        assert!((190.0..=230.0).contains(&deadlines(group)), "{group} {}", deadlines(group));
        assert!(record.measured.histogram("timer_lateness_ns", group).unwrap().count > 0);
    }
}

#[test]
fn frames_are_dropped_not_delayed() {
    let record = ok(json!({
        "name": "frames", "parameters": {"background": 4}, "duration_us": 500_000,
        "task": [
            {"name": "player", "steps": [
                {"timer": {"period_us": 41_667, "skip": true}}, {"run_us": 4_100}]},
            {"name": "background", "count": 4, "steps": [{"run_us": 3_000}, {"sleep_us": 7_000}]},
        ],
        "headline": ["deadline_miss_ratio player"],
    }));
    let ratio = record.measured.value("deadline_miss_ratio", "player").unwrap();
    assert!((0.0..=1.0).contains(&ratio));
    // 12 periods in 500 ms, of which the first release has its deadline after two.
    assert!((10.0..=13.0).contains(&record.measured.value("deadlines", "player").unwrap()));
}

#[test]
fn policies_mix_cpu_and_files() {
    let record = ok(json!({
        "name": "policies", "parameters": {"processes": 6},
        "task": [
            {"name": "cpu", "count": 2, "repeat": 10, "steps": [{"run_us": 500}]},
            {"name": "io", "count": 2, "repeat": 10, "steps": [
                {"write_file": {"bytes": 8_192}}, {"read_file": {"bytes": 8_192}}]},
            {"name": "mixed", "count": 2, "repeat": 10, "steps": [
                {"run_us": 250}, {"write_file": {"bytes": 4_096, "sync": true}}]},
        ],
    }));
    for group in ["cpu", "io", "mixed"] {
        assert_eq!(record.measured.histogram("turnaround_ns", group).unwrap().count, 2);
    }
}

#[test]
fn fork_storm_forks_executes_and_exits() {
    let record = ok(json!({
        "name": "fork_storm", "parameters": {"width": 4},
        "task": [
            {"name": "make", "count": 2, "repeat": 3, "steps": [
                {"fork": {"task": "compiler", "count": 2}},
                {"fork": {"task": "shell", "count": 2}}, "wait_children"]},
            {"name": "compiler", "template": true, "steps": [{"run_us": 300}, "exit"]},
            {"name": "shell", "template": true, "steps": ["exec"]},
        ],
    }));
    assert_eq!(record.measured.value("tasks", "compiler"), Some(12.0));
    assert_eq!(record.measured.value("tasks", "shell"), Some(12.0));
    assert_eq!(record.measured.histogram("turnaround_ns", "compiler").unwrap().count, 12);
    let shell = record.measured.metrics.iter();
    let mut shell =
        shell.filter(|metric| metric.name == "turnaround_ns" && metric.group == "shell");
    assert!(shell.next().unwrap().missing.is_some());
}

#[test]
fn real_programs_are_measured_or_their_package_is_named() {
    let cases = [
        ("hackbench", json!(["hackbench", "-p", "-T", "-g", "1", "-l", "20"]), "rt-tests"),
        (
            "cyclictest",
            json!([
                "cyclictest",
                "--policy=other",
                "-q",
                "-t",
                "1",
                "-i",
                "1000",
                "-l",
                "100",
                "-h",
                "200000",
                "--json=/dev/stdout"
            ]),
            "rt-tests",
        ),
        (
            "stress-ng",
            json!(["stress-ng", "--cpu", "1", "-t", "1", "--metrics", "--yaml", "/dev/stdout"]),
            "stress-ng",
        ),
        ("perf-bench-sched", json!(["perf", "bench", "sched", "pipe", "-l", "500"]), "linux-perf"),
    ];
    for (parser, command, package) in cases {
        let installed = find(command[0].as_str().unwrap()).is_some();
        let record = answer(json!({"name": parser, "program": {
            "command": command, "parser": parser, "package": package}}));
        if !installed {
            assert!(record.outcome.reason().contains(package), "{:?}", record.outcome);
            continue;
        }
        assert_eq!(record.outcome, Outcome::Ok);
        let measured = &record.measured;
        let reported = measured.value("completion_ns", "program").is_some()
            || measured.value("iterations_per_second", "program").is_some()
            || measured.histogram("timer_lateness_ns", "program").is_some_and(|h| h.count == 100);
        assert!(reported, "{parser}: {measured:?}");
    }
}
