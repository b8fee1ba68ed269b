// SPDX-License-Identifier: GPL-2.0-only
//! The whole pipeline on the kernel that runs the tests: no virtual machine, no privileges needed.

use std::collections::BTreeSet;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::{Bench, stderr, stdout};

/// Two policies that every user may choose, on the tiny workload.
const RACE: &str = "run --on live --scheduler policy:other --scheduler policy:batch --workload \
                    tiny.toml --exploratory";

fn race(bench: &Bench, more: &str) -> assert_cmd::assert::Assert {
    bench.line(&format!("{RACE} {more}"))
}

fn start(bench: &Bench, blocks: u32) -> Child {
    let line = format!("{RACE} --blocks {blocks}");
    let mut run = bench.process(&line.split(' ').collect::<Vec<_>>());
    run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts")
}

#[test]
fn an_experiment_ends_with_a_table_a_store_and_a_report() {
    let bench = Bench::new();
    let run = race(&bench, "--blocks 3").success();
    let (table, progress) = (stdout(&run), stderr(&run));
    assert!(table.contains("other") && table.contains("batch"), "{table}");
    assert!(progress.contains("fairground report adhoc --store fairground.db"), "{progress}");
    let records = bench.records("fairground.db");
    assert_eq!(records.len(), 6);
    for record in &records {
        assert!(record.outcome.is_ok(), "{:?}", record.outcome);
        assert!(record.measured.histograms.iter().all(model::Histogram::is_complete));
        assert!(!record.provenance.kernel_release.is_empty());
    }
    let again = stdout(&bench.run(&["compare"]).success());
    assert_eq!(again, table, "the table is a function of the records");
    bench.run(&["report", "-o", "race.html"]).success();
    let page = std::fs::read_to_string(bench.path("race.html")).expect("the report");
    assert!(page.contains("fairground run --on live"), "the command is in the report");
}

#[test]
fn a_command_needs_no_workload() {
    let bench = Bench::new();
    let run = |more: &[&str]| {
        let words = ["run", "--scheduler", "policy:other", "--exploratory", "--blocks", "2"];
        bench.run(&[&words[..], more].concat())
    };
    let told = stdout(
        &run(&["--command", "cat made && sleep 0.01", "--prepare", "echo 7 >made"]).success(),
    );
    assert!(told.contains("cat_made____sleep_0.01 on here (live)"), "{told}");
    let records = bench.records("fairground.db");
    let took_ns = |record: &model::Record| record.measured.value("completion_ns", "program");
    assert_eq!(records.len(), 2);
    assert!(records.iter().all(|record| took_ns(record).is_some_and(|ns| ns > 1e7)));
    let failed = stderr(&run(&["--command", "no-such-program"]).code(1));
    assert!(failed.contains("exit code 127") && failed.contains("no-such-program"), "{failed}");
    for (more, said) in [
        (&["--command", "true", "--on", "sim"][..], "leave --on out, or write --on live"),
        (&["--command", " "], "an empty command; write e.g. 'make -j8'"),
        (&["--command", "true", "--workload", "hackbench"], "cannot be used with"),
        (&["--prepare", "true", "--workload", "hackbench"], "cannot be used with"),
    ] {
        let refused = stderr(&run(more).code(2));
        assert!(refused.contains(said), "{more:?}: {refused}");
    }
}

#[test]
fn what_cannot_be_measured_is_missing_with_a_reason() {
    let bench = Bench::new();
    race(&bench, "--blocks 1 --no-probes").success();
    let record = &bench.records("fairground.db")[0];
    let switches = record.measured.metrics.iter().filter(|m| m.name == "migrations");
    let mut count = 0;
    for metric in switches {
        assert!(metric.value.is_none() && metric.missing.is_some(), "{metric:?}");
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn running_twice_adds_a_session_and_resuming_adds_nothing() {
    let bench = Bench::new();
    race(&bench, "--blocks 2").success();
    race(&bench, "--blocks 2").success();
    assert_eq!(bench.records("fairground.db").len(), 8);
    race(&bench, "--blocks 2 --resume").success();
    assert_eq!(bench.records("fairground.db").len(), 8);
    // Another plan is another experiment: nothing of it is done.
    race(&bench, "--blocks 1 --resume").success();
    assert_eq!(bench.records("fairground.db").len(), 10);
}

#[test]
fn a_reader_that_goes_away_stops_nothing() {
    let bench = Bench::new();
    let mut child = start(&bench, 2);
    drop(child.stderr.take());
    assert_eq!(child.wait().expect("an end").code(), Some(0));
    assert_eq!(bench.records("fairground.db").len(), 4);
}

#[test]
fn an_interrupt_keeps_what_was_measured_and_resume_goes_on() {
    let bench = Bench::new();
    let child = start(&bench, 10);
    let before = bench.wait_for_records("fairground.db", 3);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("a signal");
    let asked = Instant::now();
    let end = child.wait_with_output().expect("an end");
    assert!(asked.elapsed() < Duration::from_secs(10), "it took {:?}", asked.elapsed());
    assert_eq!(end.status.code(), Some(130));
    let said = String::from_utf8_lossy(&end.stderr);
    assert!(said.contains("to continue: fairground run") && said.contains("--resume"), "{said}");
    let kept = bench.records("fairground.db").len();
    assert!((before..20).contains(&kept), "{before} … {kept}");

    race(&bench, "--blocks 10 --resume").success();
    let records = bench.records("fairground.db");
    let trials: BTreeSet<String> = records.iter().map(|record| record.trial.id()).collect();
    assert_eq!((records.len(), trials.len()), (20, 20), "each trial once");
    assert!(records.iter().all(|record| record.outcome.is_ok()));
}
