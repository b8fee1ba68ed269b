// SPDX-License-Identifier: GPL-2.0-only
//! Where the time goes: instructions per context switch, counted by valgrind's callgrind, by part
//! of the simulator.
//!
//! Each workload is counted twice, once for twice as long; the difference is free of what
//! starting and ending cost. What the compiler has inlined counts to the function that it was
//! inlined into.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::one::{self, Load};

/// The parts, by the beginning of a function's name; the first that fits counts.
const PARTS: [(&str, &str); 9] = [
    ("sim::core::events", "event queue"),
    ("sim::core::event_loop", "main loop"),
    ("sim::core", "machine: switches, wake-ups, ticks, memory"),
    ("sim::ext", "sched_ext core"),
    ("sim::player", "workload"),
    ("sim::measure", "measuring"),
    ("model::", "measuring"),
    ("sim::native", "between the simulator and the scheduler"),
    ("_$LT$sim::native", "between the simulator and the scheduler"),
];
const CALLBACKS: &str = "the scheduler's own callbacks";
const REST: &str = "libraries";

/// Instructions by part.
type Counts = BTreeMap<&'static str, f64>;

/// Prints a table with a column for each workload.
pub fn print(scheduler: &str, loads: &[Load]) {
    if Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("no profile: valgrind is not installed");
        return;
    }
    let columns: Vec<Counts> = loads.iter().map(|load| per_switch(scheduler, load)).collect();
    let names: Vec<String> = loads.iter().map(|load| format!("{} CPUs", load.cpus)).collect();
    println!("{scheduler}: instructions per context switch{:>17}{:>17}", names[0], names[1]);
    let sums: Vec<f64> = columns.iter().map(|counts| counts.values().sum()).collect();
    let mut parts: Vec<&str> = columns[0].keys().copied().collect();
    parts.sort_by(|a, b| columns[0][b].total_cmp(&columns[0][a]));
    for part in parts {
        let cell = |(counts, sum): (&Counts, &f64)| {
            let count = counts.get(part).copied().unwrap_or_default();
            format!("{count:>9.1} {:>5.1} %", 100.0 * count / sum)
        };
        let cells: Vec<String> = columns.iter().zip(&sums).map(cell).collect();
        println!("  {part:<43} {}", cells.join(" "));
    }
    let sums: Vec<String> = sums.iter().map(|sum| format!("{sum:>9.1} 100.0 %")).collect();
    println!("  {:<43} {}", "all", sums.join(" "));
}

fn per_switch(scheduler: &str, load: &Load) -> Counts {
    let twice = Load { duration_us: 2 * load.duration_us, ..*load };
    let ((switches, short), (more, long)) = (counted(scheduler, load), counted(scheduler, &twice));
    let between = (more - switches) as f64;
    let difference = |(part, count): (&&'static str, &f64)| {
        (*part, (count - short.get(*part).copied().unwrap_or_default()).max(0.0) / between)
    };
    long.iter().map(difference).collect()
}

fn counted(scheduler: &str, load: &Load) -> (u64, Counts) {
    let folder = tempfile::tempdir().expect("a folder for the profile");
    let file = folder.path().join("counts");
    let this = std::env::current_exe().expect("a program knows its own path");
    let output = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind", "--compress-strings=no"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(&this)
        .args(one::arguments("switches", scheduler, load))
        .stderr(Stdio::inherit())
        .output()
        .expect("valgrind starts");
    assert!(output.status.success(), "valgrind: {}", output.status);
    let answer = String::from_utf8_lossy(&output.stdout);
    let switches = answer.trim().parse().expect("a number of switches");
    let text = std::fs::read_to_string(&file).expect("valgrind has written its counts");
    (switches, sum(&text, &this))
}

/// Sums a callgrind file: `ob=` and `fn=` say whose the lines of numbers are that follow, whose
/// second word is a count; the line after a `calls=` is what a callee has taken.
fn sum(text: &str, this: &Path) -> Counts {
    let mut counts = Counts::new();
    let (mut object, mut part, mut is_callees) = (String::new(), REST, false);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("ob=") {
            object = name.to_owned();
        } else if let Some(name) = line.strip_prefix("fn=") {
            part = part_of(name, &object, this);
        } else if line.starts_with("calls=") {
            is_callees = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            let count = line.split(' ').nth(1).and_then(|word| word.parse::<f64>().ok());
            if !std::mem::take(&mut is_callees) {
                *counts.entry(part).or_default() += count.unwrap_or_default();
            }
        }
    }
    counts
}

fn part_of(function: &str, object: &str, this: &Path) -> &'static str {
    if Path::new(object) != this {
        return if object.contains(".so") { REST } else { CALLBACKS };
    }
    let found = PARTS.iter().find(|(prefix, _)| function.starts_with(prefix));
    found.map_or(REST, |(_, part)| part)
}
