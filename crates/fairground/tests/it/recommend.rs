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

/// What makes a workload one that can be judged.
const JUDGED: &str = "headline = [\"jain_index hog\"]\nduration_us";

/// A text with single spaces.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn advice(said: &str) -> &str {
    let is_advice =
        |line: &&str| ["Use ", "Keep ", "No "].iter().any(|word| line.starts_with(word));
    said.lines().find(is_advice).unwrap_or_else(|| panic!("no advice: {said}"))
}

#[test]
fn the_answer_comes_first_then_the_evidence_then_how_to_switch() {
    let bench = Bench::new();
    let said = answer(&bench, &["vtime"]);
    let place = |what: &str| said.find(what).unwrap_or_else(|| panic!("{what}: {said}"));
    let order = [
        "A prediction by the simulator",
        "Keep ",
        "  measured ",
        "  how stable ",
        "  in words ",
        "\nEvidence\n",
        "  audio, decides: ",
        "The full report",
    ];
    let places = order.map(place);
    assert!(places.is_sorted() && places[0] == 0, "{places:?}: {said}");
    let words = flat(&said);
    assert!(words.contains("predictions by a model"), "{said}");
    assert!(words.contains("is what you use now: ") && words.contains("audio is your care: "));
}

#[test]
fn the_same_seed_gives_the_same_text() {
    let (one, other) = (Bench::new(), Bench::new());
    assert_eq!(answer(&one, &["vtime"]), answer(&other, &["vtime"]));
}

#[test]
fn the_printed_commands_work() {
    let bench = Bench::new();
    let race = ["recommend", "--on", "sim", "--machine", "uniprocessor", "--scheduler", "bmq"];
    let own = ["--workload", "messaging", "--kernel", "6.6"];
    let said = stdout(&bench.run(&[&race[..], &own].concat()).success());
    for repeated in ["The same again:", "A kernel's answer:"] {
        let command = said.split(repeated).nth(1).unwrap_or_else(|| panic!("{repeated}: {said}"));
        assert!(command.lines().nth(1).is_some_and(|line| line.contains(" --kernel 6.6 ")));
    }
    let after = |what: &str| {
        let mut lines = said.lines().skip_while(|line| *line != what);
        lines.nth(1).unwrap_or_else(|| panic!("{what}: {said}")).trim().to_owned()
    };
    for command in [after("The full report:"), after("The same again:")] {
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        bench.run(&words).success();
    }
    assert!(bench.path("recommend.html").exists());
    assert!(advice(&said).starts_with("Use bmq instead of "), "{said}");
    assert!(flat(&said).contains("bmq is the BitMap Queue of Project C"), "{said}");
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
fn on_cpus_of_different_speeds_it_says_what_no_file_does() {
    let bench = Bench::new();
    bench.write("own.toml", &crate::common::TINY.replace("duration_us", JUDGED));
    let said = [("equal", "[512, 512]"), ("unequal", "[1024, 512]")].map(|(name, capacity)| {
        bench.write(&format!("{name}.toml"), &format!("cpus = 2\ncapacity = {capacity}\n"));
        let machine = format!("./{name}.toml");
        let arguments = ["recommend", "--workload", "own.toml", "--scheduler", "fifo"];
        let more = ["--on", "sim", "--machine", &machine];
        flat(&stdout(&bench.run(&[&arguments[..], &more].concat()).success()))
    });
    let words = "Linux moves a running task to a faster CPU that idles";
    assert_eq!(said.each_ref().map(|said| said.contains(words)), [false, true], "{said:?}");
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
        (
            &["--care", "audio", "--scheduler", "vtme"],
            "vtme: no scheduler 'vtme'; did you mean 'vtime'?",
        ),
        (&["--care", "audio", "--machine", "laptop"], "laptop: unknown machine"),
        (&["--workload", "tiny.toml"], "names no measure that judges"),
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
    assert_eq!(advice(&said), "No recommendation: there are no numbers to judge by.");
    assert!(
        flat(&said).contains("missing wakeup latency p99 · sleeper: too few samples"),
        "{said}"
    );
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

#[test]
fn without_a_kernel_the_prediction_stands_and_a_command_would_change_that() {
    let bench = Bench::new();
    let arguments = ["recommend", "--care", "audio", "--machine", "uniprocessor", "--yes"];
    let more = ["--scheduler", "vtime", "--offline"];
    let home = bench.path("nothing");
    let mut run = bench.fairground(&[&arguments[..], &more].concat());
    let ended = run.env("FAIRGROUND_HOME", &home).assert().success();
    let said = stdout(&ended);
    assert!(said.starts_with("Step 1 of 2, a prediction by the simulator:\nKeep "), "{said}");
    let told = stderr(&ended);
    assert!(told.contains("no kernel confirms the prediction: "), "{told}");
    assert!(told.contains("qemu-system-x86") || told.contains("fairground kernel "), "{told}");
}

/// Two hogs for each CPU, of nice 10 and nice 0.
const NICE: [&str; 2] = [
    "[[task]]\nname = \"low\"\ncount = \"= cpus\"\npolicy = { class = \"other\", nice = 10 }\n\
     steps = [{ run_us = 1000 }]\n",
    "[[task]]\nname = \"high\"\ncount = \"= cpus\"\nsteps = [{ run_us = 1000 }]\n",
];

#[test]
fn whatever_a_neighbour_changes_is_named_as_a_close_call() {
    let bench = Bench::new();
    bench.write("four.toml", "cpus = 4\n");
    bench.write("three.toml", "cpus = 3\n");
    let head = "duration_us = 200000\nheadline = [\"iterations_per_second high\"]\n";
    let [low, high] = NICE;
    for (file, tables) in [("one", [low, high]), ("two", [high, low])] {
        bench.write(&format!("{file}.toml"), &format!("{head}{}", tables.concat()));
    }
    let ask = |load: &str, machine: &str, seed: &str| {
        let what = ["recommend", "--on", "sim", "--workload", load, "--machine", machine];
        let who = ["--scheduler", "muqss", "--scheduler", "fifo", "--seed", seed];
        stdout(&bench.run(&[&what[..], &who].concat()).success())
    };
    let said = ask("one.toml", "four.toml", "1");
    let stable = flat(&said);
    let others = [
        ("two.toml", "four.toml", "2", "reverse order"),
        ("one.toml", "three.toml", "1", "3 CPUs"),
    ];
    for (load, machine, seed, named) in others {
        let other = ask(load, machine, seed);
        if advice(&other) == advice(&said) {
            continue;
        }
        let (_, close) =
            stable.split_once("a close call: ").unwrap_or_else(|| panic!("{said}{other}"));
        let (close, _) = close.split_once("It is the same").unwrap_or((close, ""));
        assert!(close.contains(named), "{said}{other}");
    }
    assert!(stable.contains(" how stable "), "{said}");
}
