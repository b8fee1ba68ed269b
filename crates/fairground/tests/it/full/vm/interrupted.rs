// SPDX-License-Identifier: GPL-2.0-only
//! A campaign that was killed in the middle of a boot and resumed has the bytes of one that was
//! not.

use std::process::Stdio;
use std::time::{Duration, Instant};

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
    let give_up = Instant::now() + Duration::from_secs(300);
    while bench.try_records("killed.db").len() < records {
        assert!(Instant::now() < give_up, "no records");
        assert!(child.try_wait().expect("a status").is_none(), "it ended before it was killed");
        std::thread::sleep(Duration::from_millis(5));
    }
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
