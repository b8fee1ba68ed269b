// SPDX-License-Identifier: GPL-2.0-only
//! Counted instructions on a real kernel: what the probes cost, and what schedulers cost.
//!
//! Under the virtual clock one nanosecond is one instruction, so these are counts, not timings: no
//! noise of the host is in them. Both runs of a pair have the same seeds. What still differs with
//! probes on is the order of events, and with it the number of context switches, which cost
//! thousands of instructions each: where the two counts differ much, the last column holds that
//! difference, too.

use std::path::Path;
use std::process::Command;

use model::Record;
use store::{Filter, Store};

const EXPERIMENT: &str = r#"
question = "What does a context switch cost?"
on = "vm"
machine = "uniprocessor"
baseline = "eevdf-7"
blocks = 4

[[scheduler]]
name = "eevdf-7"
kernel = "7"

[[scheduler]]
name = "fifo"
kernel = "7"
file = "fifo"

[[scheduler]]
name = "vtime"
kernel = "7"
file = "vtime"

[[scheduler]]
name = "rr"
kernel = "7"
file = "rr"

[[scheduler]]
name = "scx_bpfland"
kernel = "7"
program = ["scx_bpfland"]

[[workload]]
name = "messaging"
"#;

fn main() {
    let folder = tempfile::tempdir().expect("a folder for the records");
    let experiment = folder.path().join("cost.toml");
    std::fs::write(&experiment, EXPERIMENT).expect("the folder takes a file");
    let with = records(&experiment, &folder.path().join("with.db"), &[]);
    let without = records(&experiment, &folder.path().join("without.db"), &["--no-probes"]);
    println!("messaging on one CPU, virtual clock, instructions");
    println!(
        "{:<12} {:>5} {:>13} {:>9} {:>13} {:>9} {:>9}",
        "scheduler", "runs", "with probes", "switches", "without", "switches", "probes"
    );
    for name in ["eevdf-7", "fifo", "vtime", "rr", "scx_bpfland"] {
        match (cost(&with, name), cost(&without, name)) {
            (Some(with), Some(without)) => print(name, &with, &without),
            _ => println!("{name:<12} was not measured: {}", why(&with, name)),
        }
    }
}

fn records(experiment: &Path, store: &Path, flags: &[&str]) -> Vec<Record> {
    let status = Command::new(env!("CARGO_BIN_EXE_fairground"))
        .arg("run")
        .arg(experiment)
        .arg("--store")
        .arg(store)
        .args(flags)
        .stdout(std::process::Stdio::null())
        .status()
        .expect("fairground starts");
    // 1 is a contestant that could not run; the table says so.
    assert!(status.code().is_some_and(|code| code <= 1), "fairground run: {status}");
    Store::open_readonly(store)
        .and_then(|store| store.records(&Filter::default()))
        .expect("the run has left records")
}

/// Means over the runs of a contestant.
struct Cost {
    runs: usize,
    instructions: f64,
    switches: f64,
}

fn cost(records: &[Record], name: &str) -> Option<Cost> {
    let ended_well = |r: &&Record| r.trial.contestant.name == name && r.outcome.is_ok();
    let runs: Vec<&Record> = records.iter().filter(ended_well).collect();
    let mean = |metric: &str| -> Option<f64> {
        let values = runs.iter().map(|record| record.measured.value(metric, "all"));
        let sum: f64 = values.sum::<Option<f64>>()?;
        (!runs.is_empty()).then(|| sum / runs.len() as f64)
    };
    let switches = mean("voluntary_switches")? + mean("involuntary_switches")?;
    Some(Cost { runs: runs.len(), instructions: mean("completion_ns")?, switches })
}

fn print(name: &str, with: &Cost, without: &Cost) {
    println!(
        "{name:<12} {:>5} {:>13.0} {:>9.0} {:>13.0} {:>9.0} {:>+7.2} %",
        with.runs,
        with.instructions,
        with.switches,
        without.instructions,
        without.switches,
        100.0 * (with.instructions / without.instructions - 1.0),
    );
}

fn why(records: &[Record], name: &str) -> String {
    let record = records.iter().find(|record| record.trial.contestant.name == name);
    record.map_or("no record".into(), |record| record.outcome.reason().to_owned())
}
