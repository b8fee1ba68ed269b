// SPDX-License-Identifier: GPL-2.0-only
//! Counted instructions on a real kernel: what schedulers cost, how that grows with the number of
//! runnable tasks, and what the probes cost. Every file in `schedulers/` is measured, or those that
//! are named: `cargo bench -p fairground --bench instructions -- o1 ./mine.bpf.c`.
//!
//! Under the virtual clock one nanosecond is one instruction, so these are counts, not timings: no
//! noise of the host is in them. All contestants have the same seeds.
//!
//! `messaging` counts everything, the messages included, and its tasks hardly switch under some
//! schedulers. What a switch costs is therefore counted where tasks do nothing else: they yield, or
//! they wake each other in pairs, which adds a wake-up, two system calls and a pipe to each switch.

use std::path::{Path, PathBuf};
use std::process::Command;

use model::Record;
use store::{Filter, Store};

/// The kernel's own scheduler, which others are compared with, and the plainest fair file.
const KERNEL: &str = "eevdf-7";
const PLAIN: &str = "vtime";
/// A peer that people run.
const PEER: &str = "scx_bpfland";

const COST: &str = r#"
question = "What does a scheduler cost?"
on = "vm"
machine = "uniprocessor"
baseline = "eevdf-7"
blocks = 4

[[workload]]
name = "messaging"
"#;

const GROWTH: &str = r#"
question = "How does a context switch grow with the number of runnable tasks?"
on = "vm"
machine = "uniprocessor"
baseline = "eevdf-7"
blocks = 1

[[workload]]
name = "./yielders.toml"
tasks = [10, 100, 1000]

[[workload]]
name = "./pairs.toml"
tasks = [10, 100, 1000]
"#;

/// How many runnable tasks [`GROWTH`] names.
const CROWDS: [i64; 3] = [10, 100, 1000];

/// As the O(1) scheduler was first shown: tasks that do nothing but yield.
const YIELDERS: &str = r#"
about = "tasks that do nothing but give the CPU away"
duration_us = 300000

[parameters]
# How many.
tasks = 10

[[task]]
name = "yielder"
count = "= tasks"
steps = ["yield"]
"#;

const PAIRS: &str = r#"
about = "pairs of tasks that wake each other in turn, through two pipes"
duration_us = 300000

[parameters]
# How many can run at any time: one of each pair.
tasks = 10

[[channel]]
name = "there"
count = "= tasks"

[[channel]]
name = "back"
count = "= tasks"

[[task]]
name = "asker"
count = "= tasks"
steps = [{ send = { channel = "there", bytes = 1 } }, { receive = { channel = "back", bytes = 1 } }]

[[task]]
name = "answerer"
count = "= tasks"
steps = [{ receive = { channel = "there", bytes = 1 } }, { send = { channel = "back", bytes = 1 } }]
"#;

fn main() {
    let files = files();
    let schedulers: String = files.iter().map(|file| table(file)).collect::<String>() + &others();
    let folder = tempfile::tempdir().expect("a folder for the records");
    let store = |name: &str| folder.path().join(name);
    write(folder.path(), "yielders.toml", YIELDERS);
    write(folder.path(), "pairs.toml", PAIRS);
    let cost = write(folder.path(), "cost.toml", &(COST.to_owned() + &schedulers));
    let growth = write(folder.path(), "growth.toml", &(GROWTH.to_owned() + &schedulers));
    let without = records(&cost, &store("without.db"), &["--no-probes"]);
    let with = records(&cost, &store("with.db"), &[]);
    let names: Vec<String> = contestants(&without);
    print_costs(&names, &without, &with);
    let growth = records(&growth, &store("growth.db"), &["--no-probes", "--exploratory"]);
    print_growth(&names, &growth, "yielders", "do nothing but yield");
    print_growth(&names, &growth, "pairs", "are woken by the other of their pair");
}

/// The built-in files, or those that the command line names, with their options; [`PLAIN`] is
/// always among them. Cargo adds `--bench`.
fn files() -> Vec<String> {
    let named: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let builtin = compile::builtin().into_iter().map(|source| source.name);
    let mut files = if named.is_empty() { builtin.collect() } else { named };
    files.retain(|file| file != PLAIN);
    files.insert(0, PLAIN.into());
    files
}

fn table(file: &str) -> String {
    let path = std::path::absolute(file).unwrap_or_default();
    let file = if file.ends_with(".bpf.c") { path.display().to_string() } else { file.into() };
    format!("[[scheduler]]\nkernel = \"7\"\nfile = {file:?}\n")
}

fn others() -> String {
    format!(
        "[[scheduler]]\nname = \"{KERNEL}\"\nkernel = \"7\"\n\
         [[scheduler]]\nname = \"{PEER}\"\nkernel = \"7\"\nprogram = [\"{PEER}\"]\n"
    )
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(name);
    std::fs::write(&file, text).expect("the folder takes a file");
    file
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
        .expect("the session has left records")
}

/// The kernel's own, the peer, the plain file, then the others by name.
fn contestants(records: &[Record]) -> Vec<String> {
    let mut names: Vec<String> =
        records.iter().map(|record| record.trial.contestant.name.clone()).collect();
    let place = |name: &String| [KERNEL, PEER, PLAIN].iter().position(|first| first == name);
    names.sort_by_key(|name| (place(name).unwrap_or(usize::MAX), name.clone()));
    names.dedup();
    names
}

fn print_costs(names: &[String], without: &[Record], with: &[Record]) {
    println!("`messaging` on one CPU, virtual clock, instructions; probes: what they add\n");
    println!("| scheduler | trials | all | of {KERNEL} | of {PLAIN} | switches | each | probes |");
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    let all = |name| cost(without, name).map_or(f64::NAN, |cost| cost.instructions);
    let (kernel, plain) = (all(KERNEL), all(PLAIN));
    for name in names {
        let (Some(cost), Some(probed)) = (cost(without, name), cost(with, name)) else {
            println!("| {name} | was not measured: {} | | | | | | |", why(without, name));
            continue;
        };
        println!(
            "| {name} | {} | {:.0} | {:.3} | {:.3} | {:.0} | {:.0} | {:+.2} % |",
            cost.trials,
            cost.instructions,
            cost.instructions / kernel,
            cost.instructions / plain,
            cost.switches,
            cost.instructions / cost.switches,
            100.0 * (probed.instructions / cost.instructions - 1.0),
        );
    }
}

/// Instructions for each switch, by the number of tasks; the ratios are those of the smallest.
fn print_growth(names: &[String], records: &[Record], workload: &str, what: &str) {
    println!("\ninstructions for each context switch while so many tasks {what}\n");
    let [few, more, many] = CROWDS;
    println!("| scheduler | {few} | {more} | {many} | of {KERNEL} | of {PLAIN} |");
    println!("|---|---:|---:|---:|---:|---:|");
    let each = |name: &str, tasks| switch_ns(records, name, workload, tasks);
    let of = |name, base| match (each(name, few), each(base, few)) {
        (Some(each), Some(base)) => format!("{:.2}", each / base),
        _ => "-".into(),
    };
    for name in names {
        let row = CROWDS.map(|tasks| each(name, tasks).map_or("-".into(), |ns| format!("{ns:.0}")));
        println!("| {name} | {} | {} | {} |", row.join(" | "), of(name, KERNEL), of(name, PLAIN));
    }
}

/// The length of the trial for each switch: the CPU is always busy, and what a scheduler does
/// between two tasks belongs to neither.
fn switch_ns(records: &[Record], name: &str, workload: &str, tasks: i64) -> Option<f64> {
    let of = |record: &&Record| {
        let trial = &record.trial;
        trial.contestant.name == name
            && trial.workload.name == workload
            && trial.workload.parameters.get("tasks") == Some(&tasks)
    };
    let record = records.iter().find(of).filter(|record| record.outcome.is_ok())?;
    let value = |metric| record.measured.value(metric, "all");
    let switches = value("voluntary_switches")? + value("involuntary_switches")?;
    let run_ns = record.trial.workload.duration_us? as f64 * 1e3;
    (switches > 0.0).then_some(run_ns / switches)
}

/// Means over the trials of a contestant.
struct Cost {
    trials: usize,
    instructions: f64,
    switches: f64,
}

fn cost(records: &[Record], name: &str) -> Option<Cost> {
    let ended_well = |r: &&Record| r.trial.contestant.name == name && r.outcome.is_ok();
    let trials: Vec<&Record> = records.iter().filter(ended_well).collect();
    let mean = |metric: &str| -> Option<f64> {
        let values = trials.iter().map(|record| record.measured.value(metric, "all"));
        let sum: f64 = values.sum::<Option<f64>>()?;
        (!trials.is_empty()).then(|| sum / trials.len() as f64)
    };
    let switches = mean("voluntary_switches")? + mean("involuntary_switches")?;
    Some(Cost { trials: trials.len(), instructions: mean("completion_ns")?, switches })
}

fn why(records: &[Record], name: &str) -> String {
    let record = records.iter().find(|record| record.trial.contestant.name == name);
    record.map_or("no record".into(), |record| record.outcome.reason().to_owned())
}
