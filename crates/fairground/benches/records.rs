// SPDX-License-Identifier: GPL-2.0-only
//! The record path: what stands between two trials of a boot.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use model::{Histogram, Measured, Metric, Record, Seed, Trial};
use store::{Session, Store};

fn main() {
    divan::main();
}

/// A record as a workload with four groups leaves it.
fn record() -> Record {
    let trial = serde_json::from_value(serde_json::json!({
        "schema": 1, "experiment": "bench", "backend": "vm",
        "contestant": { "name": "fifo", "scheduler": { "kind": "kernel" } },
        "workload": { "name": "none" },
        "machine": { "name": "one", "cpus": 1 },
        "seed": 1, "block": 0, "boot": 0, "position": 0, "timeout_ms": 1000,
    }))
    .expect("a trial");
    let mut record = Record::without_measurement(trial, model::Outcome::Ok, Default::default());
    record.measured = measured();
    record
}

fn measured() -> Measured {
    let groups = ["a", "b", "c", "d"];
    let histogram = |group: &&str| {
        let mut seed = Seed(7);
        let mut whole = Histogram { group: (*group).into(), ..Histogram::default() };
        whole.name = "wakeup_latency_ns".into();
        for _ in 0..400 {
            let value = model::histogram::lowest_equivalent(seed.below(50_000_000));
            let one = Histogram { count: 1, min: value, max: value, ..Histogram::default() };
            whole.merge(&Histogram { buckets: vec![(value, 1)], ..one });
        }
        whole
    };
    let metrics = (0..40).map(|n| Metric::number("completion_ns", groups[n % 4], n as f64));
    let mut series = model::series::Counts::default();
    (0..500).for_each(|nth| series.ran(nth * 1_000_000, nth * 1_000_000 + 300_000));
    Measured {
        metrics: metrics.collect(),
        histograms: groups.iter().map(histogram).collect(),
        series: series.series(500_000_000, 1),
    }
}

fn session() -> Session {
    let experiment = serde_json::json!({
        "name": "bench", "question": "How fast?", "backend": "vm", "baseline": "fifo",
        "contestants": [], "workloads": [], "machines": [],
        "blocks": 1, "trials_per_boot": 1, "timeout_ms": 1000,
    });
    Session {
        id: 0,
        campaign: None,
        experiment: serde_json::from_value(experiment).expect("an experiment"),
        plan: "bench".into(),
        seed: Seed(1),
        command: "bench".into(),
        started_unix_s: 0,
        fairground: "bench".into(),
        origin: None,
    }
}

#[divan::bench]
fn to_json(bencher: divan::Bencher) {
    let record = record();
    bencher.bench(|| serde_json::to_vec(&record).expect("plain data"));
}

#[divan::bench]
fn from_json(bencher: divan::Bencher) {
    let json = serde_json::to_vec(&record()).expect("plain data");
    bencher.bench(|| serde_json::from_slice::<Record>(&json).expect("a record"));
}

/// One transaction on the disk of the temporary folder, synced.
#[divan::bench(sample_count = 20, sample_size = 5)]
fn append(bencher: divan::Bencher) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("bench.db")).expect("a store");
    let session = store.begin(&session()).expect("a session");
    let mut record = record();
    bencher.bench_local(|| {
        // A trial has one record.
        record.trial.position += 1;
        store.append(session, &record).expect("room on the disk");
    });
}

#[divan::bench]
fn quantile(bencher: divan::Bencher) {
    let measured = measured();
    bencher.bench(|| measured.histograms[0].quantile(0.99));
}

/// A short trial in the simulator, in its sandbox or without one: the difference is the sandbox.
#[divan::bench(args = [true, false], sample_count = 100, sample_size = 1)]
fn trial(bencher: divan::Bencher, confined: bool) {
    let source = compile::resolve("fifo", std::path::Path::new("")).expect("it is built in");
    let native = compile::native::native(&source).expect("it is compiled");
    let trial: Trial = serde_json::from_value(serde_json::json!({
        "schema": 1, "experiment": "bench", "backend": "sim",
        "contestant": { "name": "fifo", "scheduler": {
            "kind": "file", "file": "fifo", "sha256": "" } },
        "workload": { "name": "short", "duration_us": 1,
            "task": [{ "name": "task", "count": 1, "steps": [{ "run_us": 200 }] }] },
        "machine": { "name": "one", "cpus": 1 },
        "seed": 1, "block": 0, "boot": 0, "position": 0, "timeout_ms": 1000,
    }))
    .expect("a trial");
    let (limit, stop) = (Duration::from_secs(10), AtomicBool::new(false));
    let run = if confined { sim::native::supervise } else { sim::native::supervise_unconfined };
    bencher.bench_local(|| run(&trial, Some(&native), limit, &stop).expect("a record"));
}
