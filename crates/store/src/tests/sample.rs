// SPDX-License-Identifier: GPL-2.0-only
//! A session and a record with something in every field, and stores with them, for tests.

use std::path::{Path, PathBuf};

use model::histogram::lowest_equivalent;
use model::series::Counts;
use model::{
    Backend, Clock, Experiment, Histogram, Machine, Measured, Metric, Outcome, Provenance, Record,
    Seed, Series, Trace, Trial, Workload,
};

use crate::{Filter, Store};

pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Makes a session with that number of records.
pub fn filled(path: &Path, records: u32) {
    let store = Store::open(path).expect("a store");
    let session = store.begin(&session()).expect("a session");
    for position in 0..records {
        store.append(session, &record(position)).expect("a record");
    }
}

/// A store with one session with that number of records, in a folder of its own.
pub fn stored(records: u32) -> (tempfile::TempDir, PathBuf) {
    let folder = folder();
    let path = folder.path().join("a.db");
    filled(&path, records);
    (folder, path)
}

pub fn all() -> Filter {
    Filter { traces: true, ..Filter::default() }
}

pub fn session() -> crate::Session {
    crate::Session {
        id: 0,
        campaign: None,
        experiment: experiment(),
        plan: "0123456789abcdef".into(),
        seed: Seed(u64::MAX),
        command: "fairground run sample".into(),
        started_unix_s: 1_767_225_600,
        fairground: "0.1.0".into(),
        origin: None,
    }
}

fn experiment() -> Experiment {
    Experiment {
        name: "sample".into(),
        question: "Does it come back as it went in?".into(),
        backends: vec![Backend::Live],
        baseline: "kernel".into(),
        contestants: vec![(*Trial::default().contestant).clone()],
        workloads: vec![workload()],
        machines: vec![machine()],
        blocks: 2,
        trials_per_boot: 3,
        timeout_ms: 1000,
        probes: true,
        ..Experiment::default()
    }
}

fn workload() -> Workload {
    Workload { name: "nothing".into(), ..Workload::default() }
}

fn machine() -> Machine {
    Machine {
        name: "one".into(),
        cpus: 1,
        memory_mib: 512,
        clock: Clock::Virtual,
        ..Machine::default()
    }
}

pub fn record(position: u32) -> Record {
    let trial = Trial {
        experiment: "sample".into(),
        backend: Backend::Live,
        workload: workload().into(),
        machine: machine().into(),
        seed: Seed(u64::MAX - u64::from(position)),
        block: position / 3,
        boot: position / 3,
        position,
        trace: true,
        ..Trial::default()
    };
    let provenance = Provenance { kernel_release: "6.12.0".into(), ..Provenance::default() };
    let mut record = Record::without_measurement(trial, Outcome::Ok, provenance);
    record.measured = measured();
    record.trace = Some(Trace { lost: 7, ..Trace::default() });
    record
}

fn measured() -> Measured {
    let samples: Vec<u64> = (0..1000).map(|i| 1_000 + i * i).collect();
    Measured {
        metrics: vec![
            Metric::number("completion_ns", "all", 0.1 + 0.2),
            Metric::missing("migrations", "all", "no probes here"),
        ],
        histograms: vec![Histogram {
            name: "run_delay_ns".into(),
            group: "all".into(),
            count: 1000,
            min: 1_000,
            max: 1_000 + 999 * 999,
            buckets: bucketed(&samples).into(),
        }],
        series: series(),
    }
}

fn series() -> Vec<Series> {
    let mut counts = Counts::default();
    (0..400).for_each(|nth| counts.ran(nth * 7_000_001, nth * 7_000_001 + 3_333_333));
    let mut series = counts.series(2_800_000_400, 3);
    series[3] = model::series::missing("nobody looked").remove(3);
    series
}

fn bucketed(samples: &[u64]) -> Vec<(u64, u64)> {
    let mut buckets = std::collections::BTreeMap::new();
    for &sample in samples {
        *buckets.entry(lowest_equivalent(sample)).or_insert(0) += 1;
    }
    buckets.into_iter().collect()
}
