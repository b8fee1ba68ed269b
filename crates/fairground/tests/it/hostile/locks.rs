// SPDX-License-Identifier: GPL-2.0-only
//! Several processes on one store, and processes that are killed.
//!
//! Text of strangers on a terminal.
//!
//! Numbers that are not what statistics expect.

use std::process::{Child, Stdio};
use std::time::Duration;

use model::text::LINE_MAX;
use model::{LARGEST_NUMBER, Metric, Outcome, SMALLEST_NUMBER};
use rusqlite::Connection;

use crate::common::hogs::{raced, shared};
use crate::common::{Bench, hostile, stderr, stdout};

/// How often two sessions run one plan at once; more by this variable.
const PAIRS: &str = "FAIRGROUND_PAIRS";
/// How often a session is killed; more by this variable.
const KILLS: &str = "FAIRGROUND_KILLS";
const KILLS_PER_STORE: usize = 20;

/// A race into `store` in a process of its own.
fn start(bench: &Bench, store: &str, options: &[&str]) -> Child {
    let mut run = bench.process(&["run", "./race.toml", "--exploratory", "--store", store]);
    run.args(options).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// What a process has said at its end, which is a good one.
fn ended(child: Child) -> String {
    let output = child.wait_with_output().expect("its end");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

/// Nothing lost, doubled or changed: `store` has the measurements of `a.db`.
fn is_whole(bench: &Bench, store: &str, records: usize) {
    assert_eq!(bench.records(store).len(), records);
    bench.run(&["compare", "--identical", "a.db", store]).success();
    let said = stdout(&bench.run(&["doctor", "store", store]).success());
    assert!(said.contains(&format!("records: {records}\n")), "{said}");
}

#[test]
fn two_runs_of_one_plan_take_turns() {
    let bench = raced(6);
    let pairs = std::env::var(PAIRS).ok().and_then(|count| count.parse().ok()).unwrap_or(3_u32);
    for round in 0..pairs {
        let store = format!("{round}.db");
        let mut first = start(&bench, &store, &["--resume"]);
        let second = start(&bench, &store, &["--resume"]);
        let both = [ended(second), {
            let _ = first.wait();
            ended(first)
        }];
        is_whole(&bench, &store, 12);
        let waited = both.iter().any(|said| said.contains("is running this plan with"));
        let done = both.iter().any(|said| said.contains("12 already in the store"));
        assert!(waited || done, "{both:?}");
    }
}

#[test]
fn another_plan_runs_side_by_side() {
    let bench = raced(2);
    let first = start(&bench, "b.db", &["--seed", "1"]);
    let second = start(&bench, "b.db", &["--seed", "2"]);
    for said in [ended(first), ended(second)] {
        assert!(!said.contains("is running this plan"), "{said}");
    }
    assert_eq!(bench.records("b.db").len(), 8);
}

#[test]
fn kill_loses_doubles_and_changes_nothing() {
    let bench = raced(6);
    let kills = std::env::var(KILLS).ok().and_then(|count| count.parse().ok()).unwrap_or(20_u64);
    for first in (0..kills).step_by(KILLS_PER_STORE) {
        let store = format!("k{first}.db");
        for kill in first..kills.min(first + KILLS_PER_STORE as u64) {
            let mut child = start(&bench, &store, &["--resume"]);
            // From before the store is there to the middle of the trials.
            std::thread::sleep(Duration::from_millis(5 + kill * 37 % 180));
            child.kill().expect("SIGKILL");
            child.wait().expect("its end");
        }
        ended(start(&bench, &store, &["--resume"]));
        is_whole(&bench, &store, 12);
    }
}

/// Whether a text has a character that a terminal obeys, or a line that is too long.
fn is_safe(text: &str) -> bool {
    let obeyed = |c: char| c != '\n' && c != '\t' && (c.is_control() || c == '\u{202e}');
    !text.chars().any(obeyed) && text.lines().all(|line| line.chars().count() < LINE_MAX + 100)
}

#[test]
fn control_sequences_of_a_shared_file_are_shown_and_not_obeyed() {
    let bench = shared(|shared| {
        shared.about.by = "\u{1b}]0;PWNED\u{7}\u{1b}[31mred\u{1b}[2J".into();
        shared.about.note = "\u{1b}[2Jn".into();
        for record in &mut shared.sessions[0].1 {
            let reason = "\u{1b}]52;c;eA==\u{7}\u{1b}[2Jevil\nnot ok: fake line".into();
            record.outcome = Outcome::Failed { reason };
        }
    });
    let imported = bench.run(&["import", "a.fairground", "--store", "a.db"]).success();
    let said = stderr(&imported);
    assert!(is_safe(&said) && said.contains("\\u001b]0;PWNED\\u0007"), "{said}");
    for arguments in [&["compare", "a.db"][..], &["compare", "a.fairground"], &["list", "sessions"]]
    {
        let assert = bench.run(arguments);
        let (out, err) = (stdout(&assert), stderr(&assert));
        assert!(is_safe(&out) && is_safe(&err), "{out:?} {err:?}");
        // A reason of two lines is not two lines of ours.
        assert!(!err.lines().any(|line| line.starts_with("not ok: fake line")), "{err}");
    }
}

#[test]
fn reasons_in_a_store_have_nothing_that_a_terminal_obeys() {
    let bench = raced(2);
    let reason = "\u{1b}]52;c;eA==\u{7}\u{202e}x";
    bench.copied("a.db", "b.db", |record| {
        record.outcome = Outcome::Failed { reason: reason.into() };
    });
    for record in bench.records("b.db") {
        assert_eq!(record.outcome.reason(), "\\u001b]52;c;eA==\\u0007\\u202ex");
    }
}

#[test]
fn a_command_is_a_call_of_this_program_only_if_its_first_word_is_its_name() {
    for command in ["fairground-evil run x", "fairground/../../tmp/evil.sh", "/tmp/fairground run"]
    {
        let bench = shared(|shared| shared.sessions[0].0.command = command.into());
        let said = stderr(&bench.run(&["import", "a.fairground", "--store", "a.db"]).code(2));
        assert!(said.contains("its command is no call of this program"), "{said}");
    }
}

#[test]
fn endless_names_are_cut_in_messages() {
    let bench = Bench::new();
    let long = "x".repeat(100_000);
    bench.write("long.toml", &format!("{long} = 1\nabout = \"\u{202e}\"\n"));
    let assert =
        bench.run(&["run", "--on", "sim", "--workload", "./long.toml", "--scheduler", "rr"]);
    let said = stderr(&assert.code(2));
    assert!(is_safe(&said) && said.contains("more characters"), "{} bytes", said.len());
}

#[test]
fn a_zero_with_a_sign_leaves_the_store_readable() {
    let with_sign = shared(|shared| {
        let record = &mut shared.sessions[0].1[0];
        let zero = record.measured.metrics.iter_mut().find(|metric| metric.value == Some(0.0));
        zero.expect("a zero").value = Some(-0.0);
    });
    let of_schbench = (Bench::new(), hostile("schbench_negative_zero.json"));
    for (bench, file) in [(with_sign, "a.fairground".to_owned()), of_schbench] {
        bench.run(&["import", &file, "--store", "a.db"]).success();
        let shown = bench.run(&["compare", "a.db"]).success();
        assert!(!stderr(&shown).contains("damaged"), "{}", stderr(&shown));
        bench.run(&["report", "a.db", "-o", "a.html"]).success();
        let said = stdout(&bench.run(&["doctor", "store", "a.db"]).success());
        assert!(said.contains("nothing is wrong with it"), "{said}");
    }
}

/// `a.db` with one record whose hash is of a zero with a sign.
fn damaged() -> Bench {
    let bench = raced(2);
    let record = bench.records("a.db").remove(0);
    let mut measured = record.measured.clone();
    let zero = measured.metrics.iter_mut().find(|metric| metric.value == Some(0.0));
    zero.expect("a zero").value = Some(-0.0);
    let file = Connection::open(bench.path("a.db")).expect("the file");
    file.execute_batch(&format!(
        "DROP TRIGGER records_no_update;
         UPDATE records SET measured_hash = '{}' WHERE trial_id = '{}'",
        measured.hash(),
        record.trial.id()
    ))
    .expect("damage");
    bench
}

#[test]
fn a_damaged_record_is_named_once_and_the_others_count() {
    let bench = damaged();
    let shown = bench.run(&["compare", "a.db"]).success();
    let said = stderr(&shown);
    assert_eq!(said.matches("is damaged: its numbers are not").count(), 1, "{said}");
    assert!(stdout(&shown).contains("fifo"), "{}", stdout(&shown));
    bench.run(&["report", "a.db", "-o", "a.html"]).success();
    let page = std::fs::read_to_string(bench.path("a.html")).expect("a page");
    assert!(page.contains("is damaged: its numbers are not"));
}

#[test]
fn a_check_names_what_is_wrong_and_what_saves_the_rest() {
    let bench = damaged();
    let checked = bench.run(&["doctor", "store", "a.db"]).code(1);
    let said = stdout(&checked);
    assert!(said.contains("its numbers are not the ones") && said.contains("records: 3"), "{said}");
    let said = stderr(&checked);
    assert!(said.contains("`sqlite3 a.db .recover | sqlite3 NEW`"), "{said}");
}

#[test]
fn the_largest_and_smallest_numbers_make_no_nonsense() {
    let bench = raced(6);
    let edges = [LARGEST_NUMBER, -LARGEST_NUMBER, SMALLEST_NUMBER, 0.0, 1.0];
    bench.copied("a.db", "b.db", |record| {
        for (place, metric) in record.measured.metrics.iter_mut().enumerate() {
            let value = edges[(record.trial.position as usize + place) % edges.len()];
            *metric = Metric::number(&metric.name, &metric.group, value);
        }
    });
    let shown = bench.run(&["compare", "b.db"]).success();
    let json = bench.run(&["compare", "b.db", "--format", "json"]).success();
    bench.run(&["report", "b.db", "-o", "b.html"]).success();
    for text in [stdout(&shown), stdout(&json)] {
        let words: Vec<&str> = text.split(|c: char| !c.is_alphabetic()).collect();
        assert!(!words.iter().any(|word| ["NaN", "inf"].contains(word)), "{text}");
    }
}

#[test]
fn a_number_beyond_the_range_is_refused_with_its_place() {
    let bench = Bench::new();
    let text = std::fs::read_to_string(hostile("schbench_negative_zero.json")).expect("a file");
    bench.write("huge.json", &text.replace("-0.0", "1e40"));
    let said = stderr(&bench.run(&["import", "huge.json", "--store", "a.db"]).code(2));
    assert!(said.contains("huge.json: ") && said.contains("beyond ±1e30"), "{said}");
    assert!(!bench.path("a.db").exists());
}
