// SPDX-License-Identifier: GPL-2.0-only
//! What an end in the middle leaves: a campaign that was killed in a boot and resumed has the bytes
//! of one that was not, and a recommendation has its prediction.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::{Bench, guest, stderr, stdout};
use testing::need;

/// Eight trials of one boot.
const RACE: &str = "run --on vm --machine uniprocessor --scheduler fifo --scheduler rr --workload \
                    tiny.toml --blocks 1 --trials-per-boot 4 --offline --exploratory --store";

/// Starts the race and kills it when some trials, but not all, have their records.
fn begin_and_kill(bench: &Bench, records: usize) {
    let arguments: Vec<&str> = RACE.split(' ').chain(["killed.db"]).collect();
    let mut command = bench.process(&arguments);
    let mut child = command.stderr(Stdio::null()).spawn().expect("the program");
    bench.wait_for_records("killed.db", records);
    child.kill().expect("a signal");
    child.wait().expect("its end");
}

#[test]
fn a_resumed_boot_has_the_bytes_of_one_that_was_not_interrupted() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&[]));
    let bench = Bench::new();
    bench.line(&format!("{RACE} whole.db")).success();
    begin_and_kill(&bench, 3);
    let before = bench.records("killed.db").len();
    assert!((3..8).contains(&before), "{before} records");
    let resumed = bench.line(&format!("{RACE} killed.db --resume"));
    assert!(!stderr(&resumed.success()).contains("other numbers"));
    let same = bench.run(&["compare", "--identical", "whole.db", "killed.db"]).success();
    assert_eq!(stdout(&same), "identical: 8 trials, byte for byte\n");
}

#[test]
fn an_interrupted_second_step_leaves_the_answer_of_the_first() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&[]));
    let bench = Bench::new();
    let line = "recommend --care desktop --machine uniprocessor --scheduler cfs --yes --offline";
    let arguments: Vec<&str> = line.split(' ').collect();
    let mut command = bench.process(&arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut told = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let second = told.by_ref().map_while(Result::ok).find(|line| line.starts_with("step 2 of 2: "));
    assert!(second.expect("a second step").contains("Ctrl-C leaves the prediction"));
    // Before the first boot there is nothing to continue, and nothing is said.
    let boot = told.by_ref().map_while(Result::ok).find(|line| line.contains(" is up after "));
    assert!(boot.is_some(), "a kernel boots");
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("a signal");
    let rest: Vec<String> = told.map_while(Result::ok).collect();
    let mut answer = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut answer).expect("text");
    assert_eq!(child.wait().expect("its end").code(), Some(130), "{rest:?}");
    assert!(answer.starts_with("Step 1 of 2, a prediction by the simulator:\nKeep "), "{answer}");
    assert!(answer.contains("\nEvidence\n") && !answer.contains("Step 2 of 2"), "{answer}");
    let last = rest.last().expect("a last line");
    assert_eq!(last, "the prediction above is the answer until then", "{rest:?}");
    assert!(rest[rest.len() - 2].ends_with("--resume"), "{rest:?}");
}
