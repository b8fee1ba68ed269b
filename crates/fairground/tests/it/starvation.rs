// SPDX-License-Identifier: GPL-2.0-only
//! A policy that starves tasks, as its original does: what a trial, its record and the report say
//! of it. One body, two arms: the simulator and a real kernel.

use crate::common::{Bench, guest};
use model::{Outcome, Record};
use testing::need;

/// Runs bmq under a hog of nice 0 and one of nice 2, which shall end with this exit code.
fn run(bench: &Bench, on: &str, seconds: u32, code: i32) -> Record {
    let workload = format!("starving seconds={seconds}");
    let what = ["run", "--on", on, "--scheduler", "bmq", "--workload", &workload];
    let how = ["--machine", "one_cpu", "--timeout", "200", "--blocks", "1", "--trace"];
    bench.run(&[&what[..], &how, &["--offline", "--exploratory"]].concat()).code(code);
    bench.records("fairground.db").pop().expect("a record")
}

/// The page of the last session, without line ends that its source has.
fn page(bench: &Bench) -> String {
    bench.run(&["report", "-o", "page.html"]).code(0);
    std::fs::read_to_string(bench.path("page.html")).expect("a page")
}

/// For some seconds the starved task waits, and the record has how long.
fn starves(on: &str) {
    let bench = Bench::new();
    let record = run(&bench, on, 5, 0);
    let longest = record.measured.value("longest_wait_ns", "starved");
    assert!(longest > Some(3e9), "on {on}: {longest:?}");
    assert!(record.measured.value("longest_wait_ns", "hog") < Some(1e9));
}

/// In the end the kernel throws bmq out, and names the starved task; so does the report.
fn is_thrown_out(on: &str) {
    let bench = Bench::new();
    let record = run(&bench, on, 60, 1);
    let Outcome::Ejected { reason, .. } = &record.outcome else { panic!("{:?}", record.outcome) };
    assert!(reason.contains("runnable task stall (starved["), "on {on}: {reason}");
    let page = page(&bench);
    assert!(page.contains("Starvation: starved could run, and the scheduler ran others for"));
    assert!(page.contains("Bad at"));
    if on == "sim" {
        assert!(page.contains("meanwhile its CPU ran hog 100"), "who ran instead");
    }
}

#[test]
fn the_simulator_shows_starvation() {
    starves("sim");
    is_thrown_out("sim");
}

#[test]
fn a_real_kernel_shows_starvation() {
    testing::beyond_cargo_test!("boots a kernel");
    need!(guest(&[]));
    starves("vm");
    is_thrown_out("vm");
}
