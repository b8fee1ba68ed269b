// SPDX-License-Identifier: GPL-2.0-only
//! `fairground history --gate`: a planted regression fails, its absence does not.

use expect_test::expect;

use crate::common::hogs::{changing as bench, run};
use crate::common::{stderr, stdout};

#[test]
fn three_per_cent_more_work_fail() {
    let bench = bench();
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
    let bench = bench();
    run(&bench, 1000);
    std::fs::rename(bench.path("fairground.db"), bench.path("before.db")).expect("a store");
    run(&bench, 1000);
    let assert = bench.run(&["history", "--gate", "--before", "before.db"]).success();
    assert!(stdout(&assert).contains("exactly equal"), "{}", stdout(&assert));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let bench = bench();
    run(&bench, 1000);
    let assert = bench.run(&["history", "--gate"]).code(2);
    expect![[r#"
        fairground: fairground.db: change was measured only once; run it again after the change, or name the store of the earlier session: --before FILE
    "#]]
    .assert_eq(&stderr(&assert));
    let assert = bench.run(&["history", "--gate", "--margin=-1"]).code(2);
    assert!(stderr(&assert).contains("--margin"), "{}", stderr(&assert));
}

#[test]
fn a_gate_reads_one_store() {
    let bench = bench();
    run(&bench, 1000);
    run(&bench, 1030);
    bench.run(&["history", "--gate"]).code(1);
    let several = bench.run(&["history", "--gate", "fairground.db", "fairground.db"]).code(2);
    assert!(stderr(&several).contains("--before FILE"), "{}", stderr(&several));
}
