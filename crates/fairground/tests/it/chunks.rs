// SPDX-License-Identifier: GPL-2.0-only
//! A plan that is cut into chunks, run in pieces and collected again is the plan that ran at once.

use crate::common::{Bench, project, simulated, stderr, stdout};

/// Two contestants; one is no built-in scheduler.
const PLAN: [&str; 10] = simulated("./tiny.toml", "./mine.bpf.c", "6");

/// A folder where that plan has run at once, and where it lies in chunks.
fn bench(chunks: &str) -> Bench {
    let bench = Bench::new();
    let fifo = std::fs::read_to_string(project("schedulers/fifo.bpf.c")).expect("a scheduler");
    bench.write("mine.bpf.c", &fifo.replace("fifo", "mine"));
    bench.run(&[&["run", "--store", "local.db"], &PLAN[..]].concat()).success();
    bench.run(&[&["plan", "--chunks", chunks, "-o", "parts"], &PLAN[..]].concat()).success();
    // A machine that runs a chunk has no file of ours.
    std::fs::remove_file(bench.path("mine.bpf.c")).expect("removed");
    bench
}

fn run_chunk(bench: &Bench, number: u32) -> assert_cmd::assert::Assert {
    let [chunk, out] =
        ["trials", "records"].map(|what| format!("parts/chunk-{number}.{what}.jsonl"));
    bench.run(&["trial", "--chunk", &chunk, "--out", &out])
}

fn expect_identical(bench: &Bench) {
    bench.run(&["compare", "--identical", "local.db", "far.db"]).success();
}

#[test]
fn chunks_come_back_exactly_once() {
    let bench = bench("3");
    let import = || stderr(&bench.run(&["import", "parts", "--store", "far.db"]).success());
    run_chunk(&bench, 0).success();
    run_chunk(&bench, 2).success();
    let said = import();
    assert!(said.contains("parts: 8 of 12 trials\nchunk 1 lacks 4; run it again"), "{said}");
    run_chunk(&bench, 1).success();
    let said = import();
    assert!(said.contains("parts: 12 of 12 trials, 8 already in the store"), "{said}");
    assert!(import().contains("12 already in the store"));
    assert_eq!(bench.records("far.db").len(), 12);
    expect_identical(&bench);
    bench.run(&["compare", "adhoc", "--store", "far.db"]).success();
}

#[test]
fn a_chunk_goes_on_where_it_was_killed() {
    let bench = bench("1");
    run_chunk(&bench, 0).success();
    let path = bench.path("parts/chunk-0.records.jsonl");
    let text = std::fs::read_to_string(&path).expect("records");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    assert_eq!(lines.len(), 12);
    // A process that was killed has left five lines and a half.
    let left = lines[..5].concat() + &lines[5][..lines[5].len() / 2];
    std::fs::write(&path, &left).expect("written");
    run_chunk(&bench, 0).success();
    let again = std::fs::read_to_string(&path).expect("records");
    assert!(again.starts_with(&lines[..5].concat()));
    bench.run(&["import", "parts", "--store", "far.db"]).success();
    expect_identical(&bench);
}

#[test]
fn records_of_another_plan_are_refused() {
    let bench = bench("2");
    run_chunk(&bench, 0).success();
    let other = ["trial", "--chunk", "parts/chunk-1.trials.jsonl", "--out"];
    let said = stderr(&bench.run(&[&other[..], &["parts/chunk-0.records.jsonl"]].concat()).code(2));
    assert!(said.contains("which is not in this chunk"), "{said}");
    let again = [&["plan", "--chunks", "2", "-o", "parts", "--on", "sim"], &PLAN[2..6]].concat();
    assert!(stderr(&bench.run(&again).code(2)).contains("name a new folder"));
}

#[test]
fn the_output_of_plan_runs_as_a_chunk() {
    let bench = Bench::new();
    let plan = [&["plan"], &PLAN[..6], &["--blocks", "2"]].concat();
    let trials = bench.run(&plan).success().get_output().stdout.clone();
    let run = bench.fairground(&["trial", "--chunk", "-"]).write_stdin(trials).assert().success();
    assert_eq!(stdout(&run).lines().count(), 2);
}

#[test]
fn recordings_travel_with_their_chunks() {
    let bench = Bench::new();
    bench.write_recording("mine", crate::common::TAPES);
    let plan = |verb: &[&str]| {
        let own = simulated("./mine.toml", "fifo", "6");
        bench.run(&[verb, &own].concat()).success()
    };
    plan(&["run", "--store", "local.db"]);
    plan(&["plan", "--chunks", "2", "-o", "parts"]);
    let trial = stdout(&plan(&["plan"])).lines().next().expect("a trial").to_owned();
    let sha256 =
        bench.records("local.db").remove(0).trial.workload.recording.clone().expect("one").sha256;
    std::fs::remove_file(bench.path("mine.tapes")).expect("removed");
    run_chunk(&bench, 0).success();
    run_chunk(&bench, 1).success();
    bench.run(&["import", "parts", "--store", "far.db"]).success();
    assert_eq!(bench.records("far.db").len(), 12);
    expect_identical(&bench);
    // A trial alone has the tapes' name only.
    let said = stderr(&bench.fairground(&["trial"]).write_stdin(trial).assert().code(2));
    let words = format!("./mine.tapes: no such file, which has the tapes {sha256}");
    assert!(said.contains(&words) && said.contains("bring the file back"), "{said}");
    let text = std::fs::read_to_string(bench.path("parts/chunk-0.trials.jsonl")).expect("a chunk");
    bench.write("parts/chunk-0.trials.jsonl", &text.replace("r1000000 p1", "r1000001 p1"));
    let said = stderr(&run_chunk(&bench, 0).code(2));
    assert!(said.contains(":2: the text of the tapes is not what its SHA-256 says"), "{said}");
}
