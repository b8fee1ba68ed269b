// SPDX-License-Identifier: GPL-2.0-only
//! Good files of each kind, which mutations start from.

use std::path::{Path, PathBuf};

use super::seal;
use crate::common::hogs::raced;
use crate::common::{Bench, stdout};

/// A kind of file.
pub enum Kind {
    /// The files of a folder of the project, with this extension; `""`: each its own.
    Folder(&'static str, &'static str),
    /// rt-app's JSON.
    RtApp,
    /// A scheduler's C text.
    Scheduler,
    /// A trial's JSON form.
    Trial,
    /// What other programs print.
    Output,
    /// A trace of a scheduler.
    Trace,
    /// A trace of Perfetto.
    Perfetto,
    /// The tapes of a recording.
    Tapes,
    /// A shared file.
    Bundle,
    /// What is under the seal of a shared file.
    Sealed,
    Store,
}

/// As rt-app's manual has it, with what this project plays.
const RTAPP: &str = r#"{
    "global": { "duration": 1, "calibration": "CPU0", "default_policy": "SCHED_OTHER" },
    "tasks": {
        "video": { "loop": 10, "priority": -5, "run": 1000, "timer": { "ref": "t0", "period": 16666 } },
        "audio": { "instance": 2, "loop": -1, "phases": {
            "first": { "loop": 3, "run": 200, "sleep": 4000 },
            "second": { "run": 100, "lock": "m0", "unlock": "m0", "run": 50, "dl-runtime": 3000 } } },
        "writer": { "instance": 0, "mem": 5000, "iorun": 70000, "suspend", "policy": "SCHED_FIFO" },
        "parent": { "sleep": 9000, "fork": "writer", "fork": "video", "resume": "writer",
            "timer": { "ref": "unique", "period": 9000, "mode": "absolute" } }
    }
}
"#;

const CYCLICTEST: &str = "# /dev/cpu_dma_latency set to 0us\nT: 0 ( 1001) P:80 I:1000 C:  10000 Min:      2 \
                          Act:    3 Avg:    4 Max:      52\n# Histogram\n000002 000100\n000003 009000\n\
                          000052 000900\n# Total: 000010000\n# Min Latencies: 00002\n\
                          # Avg Latencies: 00004\n# Max Latencies: 00052\n";

const STRESS_NG: &str = "---\nsystem-info:\n      stress-ng-version: 0.15.06\n      run-by: me\n\
                         metrics:\n    - stressor: cpu\n      bogo-ops: 1234\n      \
                         bogo-ops-per-second-usr-sys-time: 123.4\n      \
                         bogo-ops-per-second-real-time: 123.1\n      wall-clock-time: 10.0\n      \
                         user-time: 10.0\n      system-time: 0.1\n...\n";

const PERF: &str = "# Running 'sched/messaging' benchmark:\n# 20 sender and receiver processes per group\n\
                    # 10 groups == 400 processes run\n\n     Total time: 0.123 [sec]\n";

impl Kind {
    /// The extension by which the program tells the kind.
    pub fn extension(&self) -> &'static str {
        match self {
            Kind::Folder(_, "") | Kind::Output | Kind::Trace => "txt",
            Kind::Perfetto => "pftrace",
            Kind::Tapes => "tapes",
            Kind::Folder(_, extension) => extension,
            Kind::RtApp | Kind::Trial => "json",
            Kind::Scheduler => "bpf.c",
            Kind::Bundle | Kind::Sealed => "fairground",
            Kind::Store => "db",
        }
    }

    /// The good files.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        match self {
            Kind::Folder(folder, extension) => files(folder, extension),
            Kind::RtApp => vec![RTAPP.into()],
            Kind::Scheduler => files("schedulers", "bpf.c"),
            Kind::Trial => trials(),
            Kind::Output => [CYCLICTEST, STRESS_NG, PERF].map(Into::into).to_vec(),
            Kind::Trace => traces(),
            Kind::Perfetto => files("crates/fairground/tests/traces", "pftrace"),
            Kind::Tapes => traces().iter().map(|trace| tapes(trace)).collect(),
            Kind::Bundle => vec![shared()],
            Kind::Sealed => vec![seal::open(&shared())],
            Kind::Store => vec![store()],
        }
    }
}

fn files(folder: &str, extension: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let entries = std::fs::read_dir(&folder).expect("a folder of the project");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.is_file() && path.to_string_lossy().ends_with(extension));
    paths.sort();
    paths.into_iter().map(|path| std::fs::read(path).expect("a file")).collect()
}

fn trials() -> Vec<Vec<u8>> {
    let bench = Bench::new();
    let race = ["plan", "--on", "sim", "--scheduler", "fifo", "--scheduler", "policy:other"];
    let rest = ["--workload", "tiny.toml", "--blocks", "1", "--timeout", "5"];
    let plan = stdout(&bench.run(&[&race[..], &rest].concat()).success());
    plan.lines().map(|line| line.as_bytes().to_vec()).collect()
}

/// Those of the tests of `import`.
fn traces() -> Vec<Vec<u8>> {
    files("crates/fairground/tests/traces", "txt")
}

fn tapes(trace: &[u8]) -> Vec<u8> {
    let bench = Bench::new();
    std::fs::write(bench.path("trace.txt"), trace).expect("a trace");
    bench.run(&["import", "trace.txt", "-o", "mine.toml"]).success();
    std::fs::read(bench.path("mine.tapes")).expect("tapes")
}

fn store() -> Vec<u8> {
    let bench = raced(1);
    std::fs::read(bench.path("a.db")).expect("a store")
}

fn shared() -> Vec<u8> {
    let bench = raced(1);
    let share = ["share", "race", "--store", "a.db", "-o", "a.fairground"];
    bench.run(&share).success();
    std::fs::read(bench.path("a.fairground")).expect("a shared file")
}
