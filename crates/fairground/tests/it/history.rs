// SPDX-License-Identifier: GPL-2.0-only
//! The same experiment over time: steps are found where they are, an accepted one does not fail for
//! ever, and many small ones do not pass. The gate compares the last two sessions.

use crate::common::hogs::{changing, run};
use crate::common::{Bench, stderr, stdout};

/// Runs the experiment once for each length of the tasks' bursts.
fn bench(bursts: &[u32]) -> Bench {
    let bench = changing();
    bursts.iter().for_each(|&run_us| run(&bench, run_us));
    bench
}

#[test]
fn a_step_is_found_and_fails_only_while_it_is_new() {
    let bench = bench(&[1000, 1000, 1000]);
    let assert = bench.run(&["history"]).success();
    let said = stdout(&assert);
    assert!(said.starts_with("no regression: 0 of 1 numbers worse in the newest of 3"), "{said}");
    assert!(said.contains("▄▄▄ 60."), "{said}");
    run(&bench, 1030);
    let assert = bench.run(&["history", "change"]).code(1);
    let said = stdout(&assert);
    assert!(
        said.starts_with("regressed: 1 of 1 numbers worse in the newest of 4 sessions"),
        "{said}"
    );
    assert!(said.contains("session 4: worse, +3.0 %"), "{said}");
    bench.run(&["history", "--margin", "5"]).success();
    run(&bench, 1030);
    let assert = bench.run(&["history"]).success();
    let said = stdout(&assert);
    assert!(said.contains("session 4: worse, +3.0 %") && said.contains("▁▁▁██"), "{said}");
}

#[test]
fn many_small_steps_are_a_drift() {
    let bench = bench(&[1000, 1006, 1012]);
    let assert = bench.run(&["history"]).code(1);
    let said = stdout(&assert);
    assert!(said.contains("drift: worse by +1.2 % since session 1, without a step"), "{said}");
    let assert = bench.run(&["history", "--last", "2"]).success();
    assert!(stdout(&assert).contains("newest of 2 sessions"));
}

#[test]
fn several_stores_are_one_history() {
    let bench = bench(&[1000]);
    std::fs::rename(bench.path("fairground.db"), bench.path("old.db")).expect("a store");
    let assert = bench.run(&["history", "--store", "old.db"]).success();
    assert!(stderr(&assert).contains("one session only"));
    run(&bench, 1030);
    let assert = bench.run(&["history", "old.db", "fairground.db"]).code(1);
    let said = stdout(&assert);
    assert!(
        said.contains("old.db session 1") && said.contains("fairground.db session 1"),
        "{said}"
    );
    let assert = bench.run(&["history", "old.db", "fairground.db", "--format", "json"]).code(1);
    assert!(stdout(&assert).contains("\"steps\""));
}

#[test]
fn three_per_cent_more_work_fail() {
    let bench = changing();
    run(&bench, 1000);
    run(&bench, 1030);
    let assert = bench.run(&["history", "--gate"]).code(1);
    let said = stdout(&assert);
    assert!(said.starts_with("regressed: 1 of 1 numbers worse"), "{said}");
    assert!(said.contains("fifo  60.") && said.contains("n 6  completion"), "{said}");
    bench.run(&["history", "--gate", "--margin", "5"]).success();
    // The other way round it is a gain.
    run(&bench, 1000);
    let assert = bench.run(&["history", "--gate"]).success();
    assert!(stdout(&assert).contains("0 of 1 numbers worse and 1 better"), "{}", stdout(&assert));
}

#[test]
fn the_same_again_is_exactly_equal() {
    let bench = changing();
    run(&bench, 1000);
    std::fs::rename(bench.path("fairground.db"), bench.path("before.db")).expect("a store");
    run(&bench, 1000);
    let assert = bench.run(&["history", "--gate", "--before", "before.db"]).success();
    assert!(stdout(&assert).contains("exactly equal"), "{}", stdout(&assert));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let bench = changing();
    run(&bench, 1000);
    let said = stderr(&bench.run(&["history", "--gate"]).code(2));
    let expected = "fairground.db: change was measured only once; run it again after the change, \
                    or name the store of the earlier session: --before FILE";
    assert!(said.contains(expected), "{said}");
    let assert = bench.run(&["history", "--gate", "--margin=-1"]).code(2);
    assert!(stderr(&assert).contains("--margin"), "{}", stderr(&assert));
    let words = ["history", "--gate", "--before", "fairground.db", "--verified", "10"];
    let verified = stderr(&bench.run(&words).code(2));
    assert!(verified.contains("measure both with --on vm or --on live"), "{verified}");
    let several = bench.run(&["history", "--gate", "fairground.db", "fairground.db"]).code(2);
    assert!(stderr(&several).contains("--before FILE"), "{}", stderr(&several));
}
