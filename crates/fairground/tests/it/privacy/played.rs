// SPDX-License-Identifier: GPL-2.0-only
//! What leaves of trials that ran: recordings, files in folders, names like formulas.
//!
//! What is shared of control groups.

use std::collections::BTreeSet;
use std::io::Read;

use flate2::read::GzDecoder;
use model::{Outcome, Record};

use super::doors;
use crate::common::hogs::raced;
use crate::common::{Bench, TAPES, scheduler, stderr, stdout};

const SIM: [&str; 6] = ["--on", "sim", "--exploratory", "--blocks", "1", "--store"];

fn run(bench: &Bench, options: &[&str]) {
    // A scheduler that crashes ends the verb with 1, and has its record.
    let arguments = [&["run"], options, &SIM[..], &[super::STORE]].concat();
    let _ = bench.fairground(&arguments).assert();
}

/// A recording of the thread `worker`, whose name a scheduler prints and a reason has.
fn recorded() -> Bench {
    let bench = Bench::new();
    bench.write_recording("mine", TAPES);
    run(&bench, &["--workload", "mine.toml", "--scheduler", "fifo", "--trace"]);
    change(&bench, |record| {
        record.provenance.printed.push("worker runs".into());
        record.outcome = Outcome::Failed { reason: "runnable task stall (worker[12])".into() };
    });
    bench
}

fn change(bench: &Bench, change: impl Fn(&mut Record)) {
    bench.copied(super::STORE, "changed.db", change);
    std::fs::rename(bench.path("changed.db"), bench.path(super::STORE)).expect("renamed");
}

#[test]
fn names_of_recorded_threads_leave_only_if_asked() {
    let bench = recorded();
    for (door, text) in doors::all(&bench) {
        assert!(!text.contains("worker") || door.contains("gate"), "{door}");
    }
    let text = doors::shared(&bench, &[]);
    // The same name in the workload, its headline, numbers, texts.
    for part in [r#""name":"t1","count":2"#, r#""group":"t1""#, "t1 runs", "stall (t1[12])"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for option in ["--thread-names", "--tapes"] {
        let text = doors::shared(&bench, &[option]);
        assert!(text.contains("worker runs") && text.contains(r#""group":"worker""#), "{option}");
    }
    let named = ["export", "csv", "--store", super::STORE, "--thread-names"];
    assert!(stdout(&bench.run(&named).success()).contains(",worker,"));
}

#[test]
fn an_exported_recording_is_anonymous_and_plays() {
    let bench = recorded();
    let export = ["export", "workload", "mine", "--store", super::STORE, "-o", "theirs.toml"];
    let said = stderr(&bench.run(&export).success());
    assert!(said.contains("left out: the names of recorded threads"), "{said}");
    let text = |name: &str| std::fs::read_to_string(bench.path(name)).expect("a file");
    let both = text("theirs.toml") + &text("theirs.tapes");
    assert!(!both.contains("worker") && both.contains("task 1 t1\n"), "{both}");
    let play = ["run", "--workload", "theirs.toml", "--scheduler", "fifo"];
    bench.run(&[&play[..], &SIM[..], &["theirs.db"]].concat()).success();
}

#[test]
fn folders_of_schedulers_stay_at_home() {
    let bench = Bench::new();
    let text = std::fs::read_to_string(scheduler("null_pointer")).expect("a scheduler");
    let folders = ["client acme/secret dir", "acmevault"];
    for folder in folders {
        std::fs::create_dir_all(bench.path(folder)).expect("folders");
        // Two schedulers: the same one twice is refused.
        bench.write(&format!("{folder}/my own.bpf.c"), &format!("{text}// {}\n", folder.len()));
    }
    let [first, second] = folders.map(|folder| format!("./{folder}/my own.bpf.c"));
    let options = ["--workload", "tiny.toml", "--scheduler", &first, "--scheduler", &second];
    run(&bench, &options);
    change(&bench, |record| {
        let reason = "null pointer (client acme/secret dir/my own.bpf.c:4), as in acmevault/x.c";
        record.outcome = Outcome::Failed { reason: reason.into() };
    });
    for (door, text) in doors::all(&bench) {
        for folder in ["acme", "secret", "client"] {
            assert!(!text.contains(folder), "{door}: {folder}");
        }
    }
    // They are still two contestants.
    let text = doors::shared(&bench, &[]);
    assert!(text.contains("null pointer (my own.bpf.c:4)"), "{text}");
    bench.run(&["import", "planted.fairground", "--store", "theirs.db"]).success();
    let records = bench.records("theirs.db");
    let names: BTreeSet<&str> =
        records.iter().map(|record| record.trial.contestant.name.as_str()).collect();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["my own", "my own (2)"]);
}

#[test]
fn imported_results_do_not_say_in_which_folder_they_were() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("clientacme")).expect("a folder");
    let results = crate::common::project("crates/fairground/tests/imports/schbench.json");
    std::fs::copy(results, bench.path("clientacme/schbench.json")).expect("copied");
    bench.run(&["import", "clientacme/schbench.json", "--store", super::STORE]).success();
    let text = doors::shared(&bench, &[]);
    assert!(
        text.contains("imported from schbench.json;") && !text.contains("clientacme"),
        "{text}"
    );
}

#[test]
fn no_name_of_a_stranger_is_a_formula() {
    let bench = raced(1);
    std::fs::rename(bench.path("a.db"), bench.path(super::STORE)).expect("renamed");
    let names = ["=cmd|' C'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1"];
    change(&bench, |record| {
        record.trial.contestant.name = names[0].into();
        record.trial.workload.name = names[1].into();
        record.trial.machine.name = names[2].into();
        record.measured.metrics.iter_mut().for_each(|metric| metric.group = names[3].into());
        record.measured.metrics[0].value = Some(-1.5);
        record.outcome = Outcome::Failed { reason: names[4].into() };
    });
    for form in ["csv", "series"] {
        let text = stdout(&bench.run(&["export", form, "--store", super::STORE]).success());
        for cell in text.lines().skip(1).flat_map(|line| line.split(',')) {
            let cell = cell.trim_start_matches('"');
            let is_number = cell.parse::<f64>().is_ok();
            assert!(is_number || !cell.starts_with(['=', '+', '-', '@', '\t']), "{cell} in {text}");
        }
        assert!(
            text.contains(",'+1+1,") && (form == "series" || text.contains(",-1.5,")),
            "{text}"
        );
    }
}

/// A path of names would otherwise look like a folder, and two groups become one.
#[test]
fn control_groups_keep_their_tree_and_lose_their_names() {
    let bench = Bench::new();
    let text = "duration_us = 100000\n[[group]]\nname = \"alice/player\"\n\
                [[group]]\nname = \"alice/fifo\"\n[[task]]\nname = \"t\"\n\
                group = \"alice/fifo\"\nsteps = [{ run_us = 100 }, { group = \"alice\" }]\n";
    bench.write("w.toml", text);
    let run = ["run", "--on", "sim", "--workload", "./w.toml", "--scheduler", "fifo"];
    bench.run(&[&run[..], &["--scheduler", "vtime", "--blocks", "6"]].concat()).success();
    bench.run(&["share", "adhoc", "-o", "groups.fairground"]).success();
    let packed = std::fs::read(bench.path("groups.fairground")).expect("a file");
    let mut shared = String::new();
    GzDecoder::new(&packed[..]).read_to_string(&mut shared).expect("gzip of text");
    assert!(!shared.contains("alice") && !shared.contains("player"), "{shared}");
    for part in
        [r#"{"name":"c1/c2"}"#, r#"{"name":"c1/c3"}"#, r#""group":"c1/c3""#, r#"{"group":"c1"}"#]
    {
        assert!(shared.contains(part), "{part}: {shared}");
    }
    let other = Bench::new();
    std::fs::copy(bench.path("groups.fairground"), other.path("theirs")).expect("a copy");
    other.run(&["import", "theirs"]).success();
}
