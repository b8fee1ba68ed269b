// SPDX-License-Identifier: GPL-2.0-only
//! The order of callbacks, scene by scene, on one CPU unless something else is said.

use std::rc::Rc;

use crate::common::{Tracer, trial};
use serde_json::json;

fn check(log: &[String], expected: &[&str]) {
    assert_eq!(&log[..expected.len().min(log.len())], expected, "{log:#?}");
}

#[test]
fn every_stay_in_custody_ends_with_one_dequeue() {
    let tasks = json!([{"name": "a", "count": 3, "repeat": 1, "steps": [{"run_us": 10}]}]);
    let log = Tracer::default().log_of(&trial(1, 3, tasks), "runnable");
    let count = |what: &str| log.iter().filter(|line| line.starts_with(what)).count();
    assert_eq!((count("enqueue a"), count("dequeue a 0x0")), (3, 3));
}

#[test]
fn unloading_takes_every_task_back_before_the_scheduler_is_told() {
    let hogs = json!([{"name": "hog", "count": 3, "steps": [{"run_us": 100_000}]}]);
    let tracer = Rc::new(Tracer::default());
    let record = crate::common::run(&trial(1, 2, hogs), tracer.clone());
    assert!(record.outcome.is_ok(), "what it does wrong in ops.exit() comes too late");
    assert_eq!(tracer.queued_at_exit.get(), 0);
    let log = tracer.log.take();
    // The end of the trial has preempted one, which waits in its CPU's own queue.
    let preempted = ["quiescent hog 0x20000000e", "runnable hog 0xe"];
    let cycled = ["dequeue hog 0x20000000e", "quiescent hog 0x20000000e", "runnable hog 0xe"];
    let gone = ["quiescent hog 0x20000004e", "disable hog", "exit_task hog"];
    let expected = [
        &preempted[..],
        &cycled,
        &cycled,
        &["exit_task fairground"],
        &gone,
        &gone,
        &gone,
        &["exit 64"],
    ]
    .concat();
    check(&log[log.len() - expected.len()..], &expected);
}
