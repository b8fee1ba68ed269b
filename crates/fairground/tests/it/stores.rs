// SPDX-License-Identifier: GPL-2.0-only
//! Several stores at once: what is the same comes together, what is not stays apart.

use model::{Backend, Record};

use crate::common::hogs::{hogs, raced};
use crate::common::{Bench, TAPES, stderr, stdout};

fn bench() -> Bench {
    raced(6)
}

fn live(record: &mut Record, boot: &str) {
    record.trial.backend = Backend::Live;
    record.provenance.boot_id = format!("{boot} {}", record.trial.block);
    record.provenance.kernel_release = "6.12.1".into();
}

/// Words of a text, however its lines are broken.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_same_trials_count_once() {
    let bench = bench();
    bench.run(&["run", "./race.toml", "--store", "b.db"]).success();
    let assert = bench.run(&["compare", "a.db", "b.db"]).success();
    let said = words(&stdout(&assert));
    assert!(said.contains("12 trials are in a.db and in b.db, byte for byte the same"), "{said}");
    assert!(said.contains("fifo 6/6"), "{said}");
    assert!(said.contains("note: a.db: 12 trials of 20"), "{said}");
    assert!(said.contains("Across stores: 1 question in common"), "{said}");
    bench.run(&["report", "a.db", "b.db", "-o", "both.html"]).success();
    let page = std::fs::read_to_string(bench.path("both.html")).expect("a page");
    assert!(page.contains("they count once"));
}

/// A store whose campaign's recording has changed or moved since.
#[test]
fn another_recording_is_not_resumed() {
    let bench = Bench::new();
    bench.write_recording("mine", TAPES);
    let run = |workload: &str, more: &[&str]| {
        let run = ["run", "--on", "sim", "--scheduler", "fifo", "--exploratory", "--blocks", "1"];
        bench.run(&[&run[..], &["--trace=all", "--workload", workload], more].concat())
    };
    run("./mine.toml", &[]).success();
    let record = bench.records("fairground.db").remove(0);
    let sha256 = record.trial.workload.recording.as_ref().expect("a recording").sha256.clone();
    run("./mine.toml", &["--resume"]).success();
    std::fs::create_dir(bench.path("moved")).expect("a folder");
    bench.write_recording("moved/mine", TAPES);
    let said = stderr(&run("./moved/mine.toml", &["--resume"]).code(2));
    assert!(said.contains(&format!("the tapes {sha256} from the file ./mine.tapes")), "{said}");
    bench.write_recording("mine", &TAPES.replace("r1000000 p1", "r1000001 p1"));
    let said = stderr(&run("./mine.toml", &["--resume"]).code(2));
    assert!(
        said.contains(&format!("session 2 was planned with {sha256} of ./mine.tapes")),
        "{said}"
    );
    std::fs::remove_file(bench.path("mine.toml")).expect("removed");
    let said = stderr(&run("./mine.toml", &["--resume"]).code(2));
    assert!(said.contains("no such workload file './mine.toml'"), "{said}");
    assert_eq!(bench.records("fairground.db").len(), 1, "nothing has run");
    // What only reads records needs no tapes.
    bench.run(&["compare"]).success();
    bench.run(&["explain", &record.trial.id()]).success();
    bench.run(&["report", "-o", "page.html"]).success();
    bench.run(&["doctor", "store"]).success();
}

#[test]
fn other_seeds_are_more_runs() {
    let bench = bench();
    bench.run(&["run", "./race.toml", "--store", "b.db", "--seed", "2"]).success();
    let assert = bench.run(&["compare", "race", "a.db", "b.db", "--baseline", "rr"]).success();
    let said = words(&stdout(&assert));
    assert!(said.contains("rr 12/") && said.contains("against rr"), "{said}");
}

#[test]
fn a_contradiction_is_reported_and_kept_apart() {
    let bench = bench();
    bench.copied("a.db", "b.db", |record| {
        let numbers = record.measured.metrics.iter_mut().filter_map(|metric| metric.value.as_mut());
        if record.trial.block == 3 {
            numbers.for_each(|value| *value += 1.0);
        }
    });
    let assert = bench.run(&["compare", "a.db", "b.db"]).code(1);
    let said = words(&stdout(&assert));
    assert!(said.contains("the same trial must measure the same, but"), "{said}");
    assert!(said.contains("@ a.db (sim)") && said.contains("@ b.db (sim)"), "{said}");
}

#[test]
fn another_definition_of_the_same_name_is_another_cell() {
    let bench = bench();
    bench.write("hogs.toml", &hogs(1100));
    bench.run(&["run", "./race.toml", "--store", "b.db"]).success();
    let assert = bench.run(&["compare", "a.db", "b.db"]).success();
    let said = words(&stdout(&assert));
    assert!(
        said.contains("kept apart, because the workload hogs is defined differently"),
        "{said}"
    );
}

#[test]
fn hosts_are_never_pooled() {
    let bench = bench();
    bench.copied("a.db", "b.db", |record| live(record, "one"));
    bench.copied("a.db", "c.db", |record| live(record, "two"));
    bench.copied("a.db", "d.db", |record| live(record, "one"));
    let assert = bench.run(&["compare", "b.db", "c.db"]).success();
    let said = words(&stdout(&assert));
    assert!(said.contains("@ b.db (live), real clock") && said.contains("@ c.db (live)"), "{said}");
    assert!(said.contains("fifo 6/6"), "{said}");
    assert!(said.contains("stay in cells of their own"), "{said}");
    // A copy is no second measurement.
    let assert = bench.run(&["compare", "b.db", "d.db"]).success();
    let said = words(&stdout(&assert));
    assert!(said.contains("fifo 6/6") && !said.contains("@ b.db"), "{said}");
}

#[test]
fn a_store_whose_first_trial_runs_says_so() {
    let bench = bench();
    bench.store("new.db", &bench.first_session("a.db"), Vec::new());
    for words in [&["compare", "race"][..], &["report"], &["compare", "--session", "1"]] {
        let said = stderr(&bench.run(&[words, &["--store", "new.db"]].concat()).code(2));
        assert!(said.contains("new.db: no trial of race has ended yet"), "{said}");
        assert!(!said.contains("it has records"), "{said}");
    }
    let said = stderr(&bench.run(&["compare", "other", "--store", "new.db"]).code(2));
    assert!(!said.contains("it has records"), "{said}");
}

#[test]
fn a_store_without_the_experiment_says_what_it_has() {
    let bench = bench();
    let workload = ["--workload", "./hogs.toml", "--on", "sim", "--blocks", "1"];
    bench
        .run(&[&["run", "--scheduler", "rr", "--store", "b.db"], &workload[..]].concat())
        .success();
    let assert = bench.run(&["compare", "a.db", "b.db"]).code(2);
    let said = stderr(&assert);
    assert!(said.contains("b.db: no records of experiment race"), "{said}");
    assert!(said.contains("it has records of adhoc"), "{said}");
    bench.run(&["compare", "a.db", "b.db", "--session", "1"]).code(2);
    bench.run(&["compare", "race", "adhoc", "a.db"]).code(2);
    bench.run(&["compare", "race", "--store", "a.db"]).success();
}

#[test]
fn nothing_to_resume_is_said() {
    let bench = Bench::new();
    let run = |scheduler| {
        let line = format!("run --on sim --scheduler {scheduler} --workload tiny.toml --blocks 6");
        stderr(&bench.line(&format!("{line} --exploratory --resume")).success())
    };
    let said = run("vtime");
    assert!(said.contains("--resume: fairground.db has no campaign"), "{said}");
    let said = run("fifo");
    assert!(said.contains("has no campaign with this plan, so a new one begins"), "{said}");
    assert!(said.contains("--scheduler vtime"), "the last one is named: {said}");
    assert!(!run("fifo").contains("has no campaign"));
}
