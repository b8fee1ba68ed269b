// SPDX-License-Identifier: GPL-2.0-only
//! Good files of each kind, which mutations start from; and the seal of shared files, so that
//! mutations get behind it.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::common::hogs::raced;
use crate::common::{Bench, stdout};

/// As rt-app's manual has it, with what this project plays.
pub const RTAPP: &str = r#"{
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

pub fn files(folder: &str, extension: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let entries = std::fs::read_dir(&folder).expect("a folder of the project");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.is_file() && path.to_string_lossy().ends_with(extension));
    paths.sort();
    paths.into_iter().map(|path| std::fs::read(path).expect("a file")).collect()
}

pub fn schedulers() -> Vec<Vec<u8>> {
    files("schedulers", "bpf.c")
}

pub fn perfetto() -> Vec<Vec<u8>> {
    files("crates/fairground/tests/traces", "pftrace")
}

pub fn traces() -> Vec<Vec<u8>> {
    files("crates/fairground/tests/traces", "txt")
}

pub fn trials() -> Vec<Vec<u8>> {
    let bench = Bench::new();
    let race = ["plan", "--on", "sim", "--scheduler", "fifo", "--scheduler", "policy:other"];
    let rest = ["--workload", "tiny.toml", "--blocks", "1", "--timeout", "5"];
    let plan = stdout(&bench.run(&[&race[..], &rest].concat()).success());
    plan.lines().map(|line| line.as_bytes().to_vec()).collect()
}

/// The files of a folder of chunks that was run, by what `part` calls them.
pub const PARTS: [(&str, &str); 3] = [
    ("campaign", "parts/campaign.json"),
    ("trials", "parts/chunk-0.trials.jsonl"),
    ("records", "parts/chunk-0.records.jsonl"),
];

/// One of the files of a folder of chunks.
pub fn part(name: &str) -> Vec<u8> {
    static FILES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let make = || {
        let bench = Bench::new();
        let race = ["plan", "--on", "sim", "--scheduler", "fifo", "--scheduler", "policy:other"];
        let rest = ["--workload", "tiny.toml", "--blocks", "1", "--timeout", "5"];
        let parts = ["--chunks", "1", "-o", "parts"];
        bench.run(&[&race[..], &rest, &parts].concat()).success();
        let [_, (_, trials), (_, records)] = PARTS;
        bench.run(&["trial", "--chunk", trials, "--out", records]).success();
        PARTS.iter().map(|(_, path)| std::fs::read(bench.path(path)).expect("a file")).collect()
    };
    let index = PARTS.iter().position(|(known, _)| *known == name).expect("a part");
    FILES.get_or_init(make)[index].clone()
}

pub fn tapes() -> Vec<Vec<u8>> {
    let tapes = |trace: Vec<u8>| {
        let bench = Bench::new();
        std::fs::write(bench.path("trace.txt"), trace).expect("a trace");
        bench.run(&["import", "trace.txt", "-o", "mine.toml"]).success();
        std::fs::read(bench.path("mine.tapes")).expect("tapes")
    };
    traces().into_iter().map(tapes).collect()
}

pub fn store() -> Vec<u8> {
    let bench = raced(1);
    std::fs::read(bench.path("a.db")).expect("a store")
}

pub fn shared() -> Vec<u8> {
    let bench = raced(1);
    let share = ["share", "race", "--store", "a.db", "-o", "a.fairground"];
    bench.run(&share).success();
    std::fs::read(bench.path("a.fairground")).expect("a shared file")
}

/// What is under a good file's seal.
pub fn opened(packed: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut text).expect("a shared file");
    let line = text.iter().position(|byte| *byte == b'\n').expect("a seal");
    text.split_off(line + 1)
}

/// Any bytes with a seal that fits.
pub fn sealed(body: &[u8]) -> Vec<u8> {
    let sha256 = model::trial::sha256_hex(body);
    let seal = serde_json::json!({ "fairground_share": 1, "sha256": sha256, "bytes": body.len() });
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    writeln!(encoder, "{seal}").expect("memory");
    encoder.write_all(body).expect("memory");
    encoder.finish().expect("memory")
}
