// SPDX-License-Identifier: GPL-2.0-only
//! `fairground recommend` as users meet it, in the simulator.

use crate::common::{Bench, stderr, stdout};
use expect_test::expect;

/// A race that takes a second: on one CPU, so that it is the same everywhere.
const QUICK: [&str; 8] =
    ["recommend", "--on", "sim", "--machine", "uniprocessor", "--care", "audio", "--scheduler"];

fn answer(bench: &Bench, more: &[&str]) -> String {
    stdout(&bench.run(&[&QUICK[..], more].concat()).success())
}

#[test]
fn the_answer_comes_first_then_the_evidence_then_how_to_switch() {
    let bench = Bench::new();
    let said = answer(&bench, &["vtime"]);
    let place = |what: &str| said.find(what).unwrap_or_else(|| panic!("{what}: {said}"));
    let order = ["Keep ", "  measured ", "\nEvidence\n", "  audio, decides: ", "The full report"];
    let places = order.map(place);
    assert!(places.is_sorted() && places[0] == 0, "{places:?}: {said}");
    assert!(said.contains("predictions by a model"), "{said}");
}

#[test]
fn the_same_seed_gives_the_same_text() {
    let (one, other) = (Bench::new(), Bench::new());
    assert_eq!(answer(&one, &["vtime"]), answer(&other, &["vtime"]));
}

#[test]
fn the_printed_commands_work() {
    let bench = Bench::new();
    let said = answer(&bench, &["bmq"]);
    let after = |what: &str| {
        let mut lines = said.lines().skip_while(|line| *line != what);
        lines.nth(1).unwrap_or_else(|| panic!("{what}: {said}")).trim().to_owned()
    };
    for command in [after("The full report:"), after("The same again:")] {
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        bench.run(&words).success();
    }
    assert!(bench.path("recommend.html").exists());
    assert!(said.starts_with("Use bmq instead of eevdf"), "{said}");
    let own = env!("CARGO_BIN_EXE_fairground");
    for line in [format!("  sudo {own} load bmq"), "  sudo systemctl stop scheduler".into()] {
        assert!(said.contains(&line), "{line}: {said}");
    }
}

#[test]
fn a_workload_of_ones_own_decides_by_its_headline() {
    let bench = Bench::new();
    let own = crate::common::TINY.replace(
        "duration_us = 50000",
        "duration_us = 400000\nheadline = [\"wakeup_latency_ns.p90 sleeper\", \"jain_index hog\"]",
    );
    bench.write("own.toml", &own);
    let arguments = ["recommend", "--workload", "own.toml", "--scheduler", "fifo", "--on", "sim"];
    let said = stdout(&bench.run(&arguments).success());
    assert!(said.contains("own, decides: wakeup latency p90 · sleeper"), "{said}");
    assert!(said.contains("own, must not get worse: jain index · hog"), "{said}");
}

#[test]
fn without_a_terminal_it_says_what_to_write() {
    let bench = Bench::new();
    let said = stderr(&bench.run(&["recommend", "--on", "sim"]).code(2));
    expect![[r#"
        fairground: there is no terminal to ask what matters; write --care NAME (audio, builds, desktop, fairness, games, server), or --workload NAME for a workload of your own
    "#]]
    .assert_eq(&said);
}

#[test]
fn what_is_wrong_is_refused_before_anything_runs() {
    let bench = Bench::new();
    bench.write(
        "bad.toml",
        "about = \"x\"\nschedulers = [\"cfs\"]\n[[workload]]\nname = \"frames\"\n\
         [decides]\nworkload = \"frames\"\nmeasure = \"voluntary_switches all\"\nwords = \"x\"\n\
         percent = 1\n",
    );
    let cases: [(&[&str], &str); 9] = [
        (&["audio"], "what matters is named by an option: --care audio"),
        (&["--care", ","], "--care: name what matters; known are audio, builds"),
        (&["--care", "desktpo"], "desktpo: unknown care; did you mean 'desktop'?"),
        (&["--care", "bad.toml"], "bad.toml:7:1: 'voluntary_switches' has no better side"),
        (&["--care", "audio", "--budget", "soon"], "write a time: 90s, 10m or 2h"),
        (&["--care", "audio", "--scheduler", "vtme"], "vtme: no built-in scheduler has this name"),
        (&["--care", "audio", "--machine", "laptop"], "laptop: unknown machine"),
        (&["--workload", "tiny.toml"], "--workload without --care names no candidates"),
        (&["--workload", "tiny.toml", "--scheduler", "fifo"], "names no measure that judges"),
    ];
    for (arguments, expected) in cases {
        let said = stderr(&bench.run(&[&["recommend", "--on", "sim"], arguments].concat()).code(2));
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    assert!(!bench.path("fairground.db").exists());
}

#[test]
fn who_has_no_number_is_told_why() {
    let bench = Bench::new();
    let own = crate::common::TINY.replace(
        "duration_us = 50000",
        "duration_us = 9000\nheadline = [\"wakeup_latency_ns.p99 sleeper\"]",
    );
    bench.write("short.toml", &own);
    let arguments = ["recommend", "--workload", "short.toml", "--scheduler", "fifo", "--on", "sim"];
    let said = stdout(&bench.run(&arguments).success());
    assert!(said.starts_with("No recommendation: there are no numbers to judge by.\n"), "{said}");
    let whole = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(whole.contains("missing wakeup latency p99 · sleeper: too few samples"), "{said}");
}

#[test]
fn a_budget_in_which_too_few_blocks_fit_is_refused_with_one_that_would_do() {
    let bench = Bench::new();
    // No host simulates six blocks of this many CPUs in a second.
    let wide = ["--machine", "server_256", "--budget", "1s"];
    let arguments = [&["recommend", "--on", "sim", "--care", "games"], &wide[..]].concat();
    let said = stderr(&bench.run(&arguments).code(2));
    assert!(said.contains("blocks are needed to show anything"), "{said}");
    assert!(said.contains("write --budget") && !said.contains("--exploratory"), "{said}");
}

#[test]
fn a_scheduler_that_breaks_is_out_and_named() {
    let bench = Bench::new();
    let broken = crate::common::scheduler("bad_queue");
    let arguments = [&QUICK[..], &["vtime", "--scheduler", &broken]].concat();
    let said = stdout(&bench.run(&arguments).code(1));
    assert!(said.contains("  ! bad_queue: 12 × "), "{said}");
}

#[test]
fn only_files_can_be_loaded() {
    let bench = Bench::new();
    let said = stderr(&bench.run(&["load", "policy:fifo:50"]).code(2));
    assert!(said.contains("only a scheduler's file can be loaded"), "{said}");
}
