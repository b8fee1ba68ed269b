// SPDX-License-Identifier: GPL-2.0-only
//! Several processes on one store, and processes that are killed.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::hogs::raced;
use crate::common::{Bench, stdout};

/// How often two sessions run one plan at once; more by this variable.
const PAIRS: &str = "FAIRGROUND_PAIRS";
/// How often a session is killed; more by this variable.
const KILLS: &str = "FAIRGROUND_KILLS";
const KILLS_PER_STORE: usize = 20;

/// A race into `store` in a process of its own.
fn start(bench: &Bench, store: &str, options: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_fairground"))
        .current_dir(bench.path(""))
        .args(["run", "./race.toml", "--exploratory", "--store", store])
        .args(options)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
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
