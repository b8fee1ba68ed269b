// SPDX-License-Identifier: GPL-2.0-only
//! What control groups and sessions get of the CPU: from the kernel's own EEVDF, and from files
//! that schedule groups, on the kernel and in the simulator.
//!
//! All cells take an emulated machine ten minutes, and are played when the book's table is made.
//! Otherwise one is played of each kind of setting: those whose shares are known beforehand.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use compile::Source;
use model::{Backend, Clock, Contestant, Machine, Record, SchedulerChoice, Trial, Workload};
use vm::Kernel;

use super::arm;

/// Groups or sessions with their keys and the number of their hogs.
const CELLS: [&str; 28] = [
    "a 1, b 1",
    "a 1, b 16",
    "a 2, b 3, c 5",
    "a weight=200 1, b 1",
    "a weight=300 4, b 1",
    "a weight=1000 1, b 16",
    "a weight=50 1, b weight=150 1, c weight=300 1",
    "a weight=700 8, b weight=200 2, c weight=100 1",
    "a weight=10 4, b weight=90 4",
    "a nice=5 3, b 1",
    "a nice=-5 1, b 4",
    "a nice=10 2, b nice=0 2, c nice=-10 2",
    "a 0, a/c 1, a/d 1, b 1",
    "a weight=300 0, a/c weight=50 2, a/d weight=150 1, b 3",
    "a 2, a/c 2, b 2",
    "a 1, a/c weight=200 4, a/d weight=50 1, b weight=200 2",
    "a weight=400 0, a/c 0, a/c/e 3, a/c/f weight=300 1, a/d 1, b 1",
    "a 0, a/c weight=400 0, a/c/e 1, a/c/f weight=700 2, a/d 3, b 4",
    "a 0, a/c 0, a/c/e 0, a/c/e/f 2, b 1",
    "a weight=100 0, a/c weight=900 1, a/d weight=100 1, b weight=100 0, b/e weight=100 3, b/f 3",
    "a idle=true 4, b 1",
    "a idle=true 1, b idle=true 3",
    "a quota_us=20000 4, b 1",
    "a quota_us=50000 1, b 2",
    "a quota_us=30000 0, a/c 2, a/d weight=300 1, b 1",
    "a quota_us=60000 2, a/c quota_us=10000 1, b 2",
    "session a 1, session b 16",
    "session a nice=5 2, session b 1",
];

/// The shares that the weights and quotas of some cells give, which the kernel's own EEVDF keeps.
const EXPECTED: [(&str, &[f64]); 7] = [
    ("a 1, b 16", &[0.5, 0.5]),
    ("a weight=300 0, a/c weight=50 2, a/d weight=150 1, b 3", &[0.1875, 0.5625, 0.25]),
    ("a nice=5 3, b 1", &[0.2466, 0.7534]),
    ("a quota_us=20000 4, b 1", &[0.2, 0.8]),
    ("a idle=true 4, b 1", &[0.003, 0.997]),
    ("session a 1, session b 16", &[0.5, 0.5]),
    ("session a nice=5 2, session b 1", &[0.2465, 0.7535]),
];

/// On two CPUs, where the balancing of tasks decides as well.
const TWO_CPU_CELLS: [&str; 4] =
    ["a weight=300 4, b 4", "a 2, b 2", "a 2, b 8", "a 0, a/c weight=300 4, a/d 4, b 4"];

/// Who schedules the groups, on the kernel and in the simulator. The last one is an example of the
/// kernel, which knows neither quotas nor balancing; its two arms are compared with each other.
const FILES: [&str; 3] = ["eevdf", "cfs", EXAMPLE];
const EXAMPLE: &str = "scx_flatcg";
const BACKENDS: [Backend; 2] = [Backend::Vm, Backend::Sim];

/// How far a share may be from the one that the kernel's own EEVDF gives, parts of the CPU.
const MARGIN: f64 = 0.02;
/// The same between the simulator and the kernel, on two CPUs.
const TWO_CPU_MARGIN: f64 = 0.08;
/// How far `eevdf`, which spreads weights as that kernel does, may be from it on two CPUs.
const TWO_CPU_DISTANCE: f64 = 0.05;

type Shares = BTreeMap<String, f64>;

/// How a session begins in a cell.
const SESSION: &str = "session ";

fn workload(cell: &str) -> Workload {
    let mut text = format!("name = \"{cell}\"\nduration_us = 2000000\n");
    for group in cell.split(", ") {
        let (kind, group) = match group.strip_prefix(SESSION) {
            Some(session) => ("session", session),
            None => ("group", group),
        };
        let words: Vec<&str> = group.split(' ').collect();
        let [path, keys @ .., count] = words.as_slice() else { panic!("{group}") };
        let _ = writeln!(text, "[[{kind}]]\nname = \"{path}\"\n{}", keys.join("\n"));
        if *count != "0" {
            let _ = writeln!(
                text,
                "[[task]]\nname = \"{}\"\n{kind} = \"{path}\"\ncount = {count}\n\
                 steps = [{{ run_us = 1000 }}]",
                path.replace('/', "_")
            );
        }
    }
    toml::from_str(&text).unwrap_or_else(|error| panic!("{cell}: {error}"))
}

/// A trial of a file, or of the kernel's own scheduler.
fn trial(cell: &str, cpus: u32, source: Option<&Source>, backend: Backend) -> Trial {
    let mut trial = Trial::default();
    if let Some(source) = source {
        let scheduler = SchedulerChoice::file(&source.path, &source.sha256);
        trial.contestant = Contestant::new(&source.name, scheduler).into();
    }
    let machine = Machine {
        cpus,
        clock: Clock::Virtual,
        memory_mib: 512,
        autogroup: cell.starts_with(SESSION),
        ..Machine::default()
    };
    Trial {
        experiment: "conformance".into(),
        backend,
        workload: workload(cell).into(),
        machine: machine.into(),
        timeout_ms: 60_000,
        probes: false,
        ..trial
    }
}

fn shares(record: &Record) -> Shares {
    let cell = &record.trial.workload.name;
    assert!(record.outcome.is_ok(), "{cell}: {:?}", record.outcome);
    let tasks = record.trial.workload.tasks.iter();
    let share = |name: &str| record.measured.value("cpu_share", name).expect("a share");
    tasks.map(|task| (task.name.clone(), share(&task.name))).collect()
}

/// What all cells get from the kernel's own scheduler, and from each arm.
fn measure(cells: &[&str], cpus: u32, files: &[Source], kernel: &Kernel) -> Vec<Vec<Shares>> {
    let trials = |source: Option<&Source>, backend| -> Vec<Trial> {
        cells.iter().map(|cell| trial(cell, cpus, source, backend)).collect()
    };
    let boot = |source: Option<&Source>| -> Vec<Shares> {
        let records = arm::run(&trials(source, Backend::Vm), source.into_iter(), kernel);
        records.iter().map(shares).collect()
    };
    let simulate = |source: &Source| -> Vec<Shares> {
        let records = arm::simulated(&trials(Some(source), Backend::Sim), source);
        records.iter().map(shares).collect()
    };
    let arms = files.iter().flat_map(|file| [boot(Some(file)), simulate(file)]);
    std::iter::once(boot(None)).chain(arms).collect()
}

/// The largest difference of a share.
fn distance(own: &Shares, others: &Shares) -> f64 {
    own.iter().map(|(name, share)| (share - others[name]).abs()).fold(0.0, f64::max)
}

/// The schedulers; the example is in this folder.
pub fn files(examples: &Path) -> Vec<Source> {
    let example = examples.join("tools/sched_ext").join(EXAMPLE).with_extension("bpf.c");
    let path = example.display().to_string();
    let resolve = |name| {
        let name = if name == EXAMPLE { path.as_str() } else { name };
        compile::resolve(name, Path::new(".")).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    FILES.into_iter().map(resolve).collect()
}

/// Compares all cells, or one of each kind; returns the table of the book.
pub fn compare(files: &[Source], kernel: &Kernel, all: bool) -> String {
    let mut text = String::from(
        "the shares of the groups, and how far those of others are from them, in points.\n\n\
         | groups | CPUs | EEVDF of the kernel |",
    );
    for (name, backend) in FILES.iter().flat_map(|name| BACKENDS.map(|backend| (name, backend))) {
        let _ = write!(text, " `{name}` ({}) |", backend.word());
    }
    text += "\n|---|---:|---|---:|---:|---:|---:|---:|---:|\n";
    let is_known = |cell: &&str| all || EXPECTED.iter().any(|one| one.0 == *cell);
    let one_cpu: Vec<&str> = CELLS.into_iter().filter(is_known).collect();
    // The third one depends most on how a group's weight is spread.
    let two_cpus = if all { &TWO_CPU_CELLS[..] } else { &TWO_CPU_CELLS[2..3] };
    for (cells, cpus) in [(&one_cpu[..], 1), (two_cpus, 2)] {
        let measured = measure(cells, cpus, files, kernel);
        for (index, cell) in cells.iter().enumerate() {
            let shares: Vec<&Shares> = measured.iter().map(|shares| &shares[index]).collect();
            let (own, others) = shares.split_first().expect("the kernel's own");
            let percent: Vec<String> =
                own.values().map(|share| format!("{:.1}", 100.0 * share)).collect();
            let _ = write!(text, "| {cell} | {cpus} | {} % |", percent.join(", "));
            for shares in others {
                let _ = write!(text, " {:.1} |", 100.0 * distance(own, shares));
            }
            text += "\n";
            println!("{cell}: {shares:.4?}");
            let expected = EXPECTED.iter().filter(|one| cpus == 1 && one.0 == *cell);
            for (share, expected) in expected.flat_map(|one| own.values().zip(one.1)) {
                assert!((share - expected).abs() < MARGIN, "{cell}: {share}");
            }
            let margin = if cpus == 1 { MARGIN } else { TWO_CPU_MARGIN };
            for (name, arms) in FILES.iter().zip(others.chunks(BACKENDS.len())) {
                let between = distance(arms[0], arms[1]);
                assert!(between < margin, "{cell}: {name}: {between} between the arms");
                let off = arms.iter().map(|shares| distance(own, shares)).fold(0.0, f64::max);
                let most = match (*name, cpus) {
                    (EXAMPLE, _) => 1.0,
                    (_, 1) => MARGIN,
                    ("eevdf", _) => TWO_CPU_DISTANCE,
                    _ => 1.0,
                };
                assert!(off < most, "{cell}: {name}: {off}");
            }
        }
    }
    text + "\n"
}
