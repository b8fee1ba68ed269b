// SPDX-License-Identifier: GPL-2.0-only
//! Simulated records of three hogs that share a CPU, for the verbs that look at records.

use std::path::Path;

use store::exchange::share::Shared;

use super::Bench;

/// `fifo` and `rr`, so many blocks.
fn race(blocks: u32) -> String {
    format!(
        r#"question = "Who is first?"
blocks = {blocks}
baseline = "fifo"

[[scheduler]]
file = "fifo"

[[scheduler]]
file = "rr"

[[workload]]
name = "./hogs.toml"
"#
    )
}

/// One scheduler, for comparing a session with the one before.
const CHANGE: &str = r#"question = "Has it become slower?"
blocks = 6

[[scheduler]]
file = "fifo"

[[workload]]
name = "./hogs.toml"
"#;

/// Three hogs with bursts of so long.
pub fn hogs(run_us: u32) -> String {
    format!(
        r#"headline = ["completion_ns all"]

[[task]]
name = "hog"
count = 3
repeat = 20
jitter_us = 1000
steps = [{{ run_us = {run_us} }}]
"#
    )
}

/// A folder with `a.db`: the records of a race of so many blocks.
pub fn raced(blocks: u32) -> Bench {
    let bench = Bench::new();
    bench.write("race.toml", &race(blocks));
    bench.write("hogs.toml", &hogs(1000));
    bench.run(&["run", "./race.toml", "--exploratory", "--store", "a.db"]).success();
    bench
}

/// A folder with `a.fairground`: what `share` makes of a race, after this change.
pub fn shared(change: impl FnOnce(&mut Shared)) -> Bench {
    let bench = raced(2);
    bench.run(&["share", "--store", "a.db", "-o", "whole.fairground"]).success();
    let whole = bench.path("whole.fairground");
    let mut shared = Shared::read(Path::new(&whole)).expect("a shared file");
    change(&mut shared);
    std::fs::write(bench.path("a.fairground"), shared.pack().expect("packed")).expect("a file");
    std::fs::remove_file(bench.path("a.db")).expect("a store");
    bench
}

/// A folder with the experiment `change`, which has not run.
pub fn changing() -> Bench {
    let bench = Bench::new();
    bench.write("change.toml", CHANGE);
    bench
}

/// Runs the experiment `change` with bursts of so long.
pub fn run(bench: &Bench, run_us: u32) {
    bench.write("hogs.toml", &hogs(run_us));
    bench.run(&["run", "./change.toml"]).success();
}
