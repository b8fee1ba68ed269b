// SPDX-License-Identifier: GPL-2.0-only
//! A recording tells the truth: what is traced, imported and played again gives nearly the numbers
//! of the workload itself, and other schedulers come in the same order.

use model::Record;

use crate::common::{Bench, TAPES, stderr, stdout};

/// A pipeline with a timer, hogs, and tasks that poll.
const LOAD: &str = r#"duration_us = 2000000

[[channel]]
name = "frames"
count = 2

[[task]]
name = "frame"
count = 2
steps = [{ timer = { period_us = 16000 } }, { run_us = 1500 },
         { send = { channel = "frames", bytes = 100 } }, { run_us = 300 }]

[[task]]
name = "render"
count = 2
steps = [{ receive = { channel = "frames", bytes = 100 } }, { run_us = 2500 }]

[[task]]
name = "hog"
count = 2
steps = [{ run_us = 1000 }]

[[task]]
name = "poll"
count = 3
steps = [{ run_us = 200 }, { sleep_us = 2700 }]
"#;

/// Plays the workload of a file under schedulers, in the simulator; the records in their order.
fn play(bench: &Bench, workload: &str, schedulers: &[&str], store: &str) -> Vec<Record> {
    let mut arguments =
        vec!["run", "--on", "sim", "--workload", workload, "--machine", "counted_2"];
    for scheduler in schedulers {
        arguments.extend(["--scheduler", scheduler]);
    }
    let rest = ["--trace=all", "--blocks", "1", "--exploratory", "--store", store];
    bench.run(&[&arguments[..], &rest].concat()).success();
    let records = bench.records(store);
    let find = |name: &&str| {
        let known = |record: &&Record| record.trial.contestant.name == *name;
        records.iter().find(known).expect("a record").clone()
    };
    schedulers.iter().map(find).collect()
}

/// Traces the workload under a scheduler and makes a workload of the trace.
fn recorded(bench: &Bench, scheduler: &str) -> Record {
    bench.write("load.toml", LOAD);
    let record = play(bench, "./load.toml", &[scheduler], "load.db").remove(0);
    let trial = record.trial.id();
    bench.run(&["export", "trace", &trial, "--store", "load.db", "-o", "trace.txt"]).success();
    bench.run(&["import", "trace.txt", "-o", "mine.toml"]).success();
    record
}

/// The sum and the number of a group's waits.
fn run_delay(record: &Record, group: &str) -> (f64, f64) {
    let waits = record.measured.histogram("run_delay_ns", group).expect("waits");
    let sum: f64 = waits.buckets.iter().map(|(ns, count)| ns as f64 * count as f64).sum();
    (sum, waits.count as f64)
}

fn value(record: &Record, name: &str, group: &str) -> f64 {
    record.measured.value(name, group).unwrap_or_else(|| panic!("no {name} {group}"))
}

fn near(what: &str, original: f64, replayed: f64, percent: f64) {
    let off = 100.0 * (replayed - original).abs() / original;
    assert!(off <= percent, "{what}: {original} became {replayed}, {off:.1} % off");
}

const GROUPS: [&str; 4] = ["frame", "render", "hog", "poll"];

#[test]
fn a_replay_under_the_same_scheduler_gives_the_same_numbers() {
    for scheduler in ["vtime", "fifo"] {
        let bench = Bench::new();
        let original = recorded(&bench, scheduler);
        let replayed = play(&bench, "./mine.toml", &[scheduler], "mine.db").remove(0);
        let wall_ns = value(&replayed, "completion_ns", "all");
        near(&format!("{scheduler}: run time"), 2e9, wall_ns, 5.0);
        for group in GROUPS {
            let cpu = |record| value(record, "cpu_time_ns", group);
            near(&format!("{scheduler}: CPU time of {group}"), cpu(&original), cpu(&replayed), 2.0);
        }
        let switches = |record| {
            value(record, "voluntary_switches", "all")
                + value(record, "involuntary_switches", "all")
        };
        near(&format!("{scheduler}: switches"), switches(&original), switches(&replayed), 10.0);
        let delays = |record| {
            let all = GROUPS.map(|group| run_delay(record, group));
            all.iter().map(|(sum, _)| sum).sum::<f64>()
                / all.iter().map(|(_, count)| count).sum::<f64>()
        };
        near(&format!("{scheduler}: mean run delay"), delays(&original), delays(&replayed), 20.0);
    }
}

/// The schedulers by the mean run delay of a group, the best first.
fn order(records: &[Record], group: &str) -> Vec<String> {
    let mean = |record: &Record| {
        let (sum, count) = run_delay(record, group);
        sum / count
    };
    let mut ranked: Vec<(f64, String)> =
        records.iter().map(|record| (mean(record), record.trial.contestant.name.clone())).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    ranked.into_iter().map(|(_, name)| name).collect()
}

#[test]
fn other_schedulers_come_in_the_order_of_the_load_itself() {
    let schedulers = ["vtime", "fifo", "eevdf", "rr"];
    let bench = Bench::new();
    recorded(&bench, "vtime");
    let original = play(&bench, "./load.toml", &schedulers, "all.db");
    let replayed = play(&bench, "./mine.toml", &schedulers, "replayed.db");
    for group in ["poll", "render"] {
        assert_eq!(order(&replayed, group), order(&original, group), "{group}");
    }
}

#[test]
fn a_recording_is_shown_with_its_graph() {
    let bench = Bench::new();
    recorded(&bench, "vtime");
    let shown = stdout(&bench.run(&["list", "workloads", "./mine.toml"]).success());
    let graph: serde_json::Value = {
        let json = ["list", "workloads", "./mine.toml", "--format", "json"];
        serde_json::from_str(&stdout(&bench.run(&json).success())).expect("JSON")
    };
    let edge = graph["graph"]["edges"][0].clone();
    assert_eq!((edge["from"].as_str(), edge["to"].as_str()), (Some("frame"), Some("render")));
    assert!(edge["wakes"].as_u64() > Some(100), "{edge}");
    for words in ["waits for tasks", "frame  render"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let said = stderr(&bench.run(&["list", "machines", "./mine.toml"]).code(2));
    assert!(said.contains("write `list workloads ./mine.toml`"), "{said}");
}

#[test]
fn a_trial_finds_its_tapes_by_their_content() {
    let bench = Bench::new();
    recorded(&bench, "vtime");
    let plan = ["plan", "--on", "sim", "--workload", "./mine.toml", "--scheduler", "fifo"];
    let plan = stdout(&bench.run(&[&plan[..], &["--blocks", "1"]].concat()).success());
    let trial = plan.lines().next().expect("a trial").to_owned();
    assert!(trial.len() < 4000, "a trial does not carry its tapes: {} bytes", trial.len());
    let answer = bench.fairground(&["trial"]).write_stdin(trial.clone()).assert().success();
    let record: Record = serde_json::from_str(&stdout(&answer)).expect("a record");
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    let text = std::fs::read_to_string(bench.path("mine.tapes")).expect("the tapes");
    bench.write("mine.tapes", &text.replace("task 1001 ", "task 1002 "));
    let said = stderr(&bench.fairground(&["trial"]).write_stdin(trial).assert().code(2));
    assert!(said.contains("./mine.tapes: the SHA-256 of these tapes is"), "{said}");
}

#[test]
fn broken_changed_and_missing_tapes_are_refused() {
    let bench = Bench::new();
    recorded(&bench, "vtime");
    let text = std::fs::read_to_string(bench.path("mine.toml")).expect("the workload");
    let tapes = std::fs::read_to_string(bench.path("mine.tapes")).expect("the tapes");
    let hash = |tapes: &str| model::trial::sha256_hex(tapes.as_bytes());
    let refused = |text: &str, tapes: &str, said: &str| {
        bench.write("mine.toml", text);
        bench.write("mine.tapes", tapes);
        let run = ["run", "--on", "sim", "--workload", "./mine.toml", "--scheduler", "fifo"];
        let why = stderr(&bench.run(&run).code(2));
        assert!(why.contains(said), "{said}: {why}");
    };
    let broken = tapes.replacen("\nr", "\nx", 1);
    let named = text.replace(&hash(&tapes), &hash(&broken));
    let line = tapes[..tapes.find("\nr").expect("an operation")].lines().count() + 1;
    refused(&named, &broken, &format!("./mine.tapes:{line}: 'x"));
    let changed = format!("the SHA-256 of these tapes is {}, and not ", hash(&broken));
    refused(&text, &broken, &format!("./mine.tapes: {changed}{}", hash(&tapes)));
    refused(&text.replace("tapes = \"", "tape = \""), &tapes, "unknown field 'tape'");
    refused(&text.replacen("count = 2", "count = 1", 1), &tapes, "tapes for");
    bench.write("mine.toml", &text);
    std::fs::remove_file(bench.path("mine.tapes")).expect("removed");
    let why = stderr(&bench.run(&["list", "workloads", "./mine.toml"]).code(2));
    assert!(why.contains("./mine.tapes: no such file") && why.contains("./mine.toml"), "{why}");
}

#[test]
fn a_trace_needs_a_name_for_its_workload() {
    let bench = Bench::new();
    recorded(&bench, "vtime");
    let refused = |arguments: &[&str], said: &str| {
        let why = stderr(&bench.run(&[&["import", "trace.txt"], arguments].concat()).code(2));
        assert!(why.contains(said), "{said}: {why}");
    };
    refused(&[], "a trace becomes a workload file; name it with -o, for example -o trace.toml");
    refused(&["-o", "mine.toml"], "-o mine.toml: is there already");
    refused(&["-o", "mine.txt"], "a recording becomes a workload; name it mine.toml");
    refused(&["-o", "x.toml", "--scheduler", "eevdf"], "--scheduler: a trace becomes a workload");
    refused(&["-o", "x.toml", "--only", "nobody"], "no task named nobody ran");
    bench.run(&["import", "trace.txt", "-o", "x.toml", "--only", "poll"]).success();
    let text = std::fs::read_to_string(bench.path("x.toml")).expect("the workload");
    assert_eq!(text.matches("[[task]]").count(), 1, "{text}");
    let trace = std::fs::read_to_string(bench.path("trace.txt")).expect("the trace");
    bench.write("trace.txt", &format!("{trace}nonsense\n"));
    let line = trace.lines().count() + 1;
    refused(&["-o", "y.toml"], &format!("trace.txt:{line}: 'nonsense' is no line of a trace"));
    assert!(!bench.path("y.toml").exists());
}

#[test]
fn a_trace_is_known_by_its_content() {
    for (trace, tasks) in [("ftrace.txt", 9), ("perf.txt", 8), ("trace_cmd.txt", 9)] {
        let bench = Bench::new();
        let text = std::fs::read_to_string(
            crate::common::project("crates/fairground/tests/traces").join(trace),
        );
        bench.write("it", &text.expect("a trace"));
        bench.run(&["import", "it", "-o", "mine.toml"]).success();
        let text = std::fs::read_to_string(bench.path("mine.tapes")).expect("tapes");
        let tapes = text.lines().filter(|line| line.starts_with("task ")).count();
        assert_eq!(tapes, tasks, "{trace}: {text}");
        let run = ["run", "--on", "sim", "--workload", "./mine.toml", "--scheduler", "vtime"];
        bench.run(&[&run[..], &["--blocks", "1", "--exploratory"]].concat()).success();
    }
}

/// What a workload file of a trace says, but for where it came from.
fn imported(bench: &Bench, trace: &str, name: &str) -> Vec<String> {
    let path = crate::common::project("crates/fairground/tests/traces").join(trace);
    std::fs::copy(path, bench.path(name)).expect("a trace");
    let target = format!("{trace}.toml");
    bench.run(&["import", name, "-o", &target]).success();
    let workload = std::fs::read_to_string(bench.path(&target)).expect("a workload");
    let tapes = std::fs::read_to_string(bench.path(&format!("{trace}.tapes"))).expect("tapes");
    let is_told = |line: &&str| {
        let is_origin = line.contains("a trace as text") || line.contains("of Perfetto");
        !is_origin && !line.starts_with("tapes = ")
    };
    workload.lines().chain(tapes.lines()).filter(is_told).map(str::to_owned).collect()
}

#[test]
fn a_trace_of_perfetto_is_the_same_workload_as_its_text() {
    let bench = Bench::new();
    let text = imported(&bench, "ftrace.txt", "a");
    assert_eq!(imported(&bench, "long.pftrace", "b"), text);
    // Columns do not say who ran before the first switch: a task that did nothing else.
    let columns = imported(&bench, "compact.pftrace", "c.pftrace");
    let tapes = |lines: &[String]| -> Vec<String> {
        let is_tape = |line: &&String| line.starts_with("task ") && !line.contains("fairground");
        lines.iter().filter(is_tape).cloned().collect()
    };
    assert_eq!(tapes(&columns).len(), 8, "{columns:?}");
    assert_eq!(tapes(&columns), tapes(&text));
    assert!(columns.iter().any(|line| line.contains("which tasks ran before 1 of the switches")));
    let run =
        ["run", "--on", "sim", "--workload", "./compact.pftrace.toml", "--scheduler", "vtime"];
    bench.run(&[&run[..], &["--blocks", "1", "--exploratory"]].concat()).success();
}

#[test]
fn a_trace_of_perfetto_that_is_broken_is_refused_at_its_byte() {
    let bench = Bench::new();
    let path = crate::common::project("crates/fairground/tests/traces/compact.pftrace");
    let whole = std::fs::read(path).expect("a trace");
    let refused = |bytes: &[u8], why: &str| {
        std::fs::write(bench.path("x.pftrace"), bytes).expect("a trace");
        let failure = bench.run(&["import", "x.pftrace", "-o", "x.toml"]).failure().code(2);
        let said = stderr(&failure);
        assert!(said.contains(&format!("x.pftrace: {why}")), "{said}");
        assert!(!bench.path("x.toml").exists());
    };
    refused(&whole[..100], "byte 0: what begins there is longer than the rest");
    refused(b"<!DOCTYPE html>", "byte 0: there is no field as in a trace of Perfetto");
    refused(b"{\"traceEvents\": []}", "byte 0: there is no field as in a trace of Perfetto");
    refused(b"", "there is no sched_switch in it");
}

#[test]
fn it_is_played_on_as_many_cpus_as_it_was_recorded_on() {
    let bench = Bench::new();
    bench.write_recording("mine", TAPES);
    let line = "run --on sim --workload ./mine.toml --scheduler vtime --scheduler fifo --blocks 1 \
                --exploratory";
    let assert = bench.line(line).success();
    assert!(stdout(&assert).contains("mine on counted_2 (sim)"), "{}", stdout(&assert));
    let assert = bench.line(&format!("{line} --machine uniprocessor")).success();
    let note = "mine was recorded on 2 CPUs and is played on 1; --machine counted_2 has as many";
    assert!(stderr(&assert).contains(note), "{}", stderr(&assert));
}
