// SPDX-License-Identifier: GPL-2.0-only
//! What is shown over time is what has happened.

use std::rc::Rc;

use crate::common::reference::Fifo;
use crate::common::{run, run_fifo, trial};
use serde_json::json;

#[test]
fn a_duty_cycle_is_seen_as_one() {
    // Two tasks on one CPU, each for 1.5 of 5 ms: the second waits for the first.
    let steps = json!([{"run_us": 1500}, {"timer": {"period_us": 5_000}}]);
    let tasks = json!([{"name": "worker", "count": 2, "steps": steps}]);
    let record = run_fifo(&trial(1, 200, tasks));
    let series = |name: &str| record.measured.series(name).expect("it is measured");
    assert_eq!(
        (series("busy_share").interval_ns, series("busy_share").values.len()),
        (10_000_000, 20)
    );
    assert_eq!(series("busy_share").values, [0.6; 20]);
    assert_eq!(series("waiting_tasks").values, [0.3; 20]);
    assert_eq!(series("forks_per_second").values, [0.0; 20]);
    // The end of the trial takes the CPU from a worker that has just begun.
    assert_eq!(series("switches_per_second").values[..19], [400.0; 19]);
    assert_eq!(series("switches_per_second").values[19], 500.0);
}

#[test]
fn who_waits_to_the_end_is_seen_in_every_interval() {
    // Nobody but the first of two tasks with an endless slice ever runs.
    let tasks = json!([{"name": "hog", "count": 2, "steps": [{"run_us": 1_000_000}]}]);
    let record = run(&trial(1, 2_500, tasks), Rc::new(Fifo { slice_ns: u64::MAX }));
    let series = |name: &str| record.measured.series(name).expect("it is measured");
    assert_eq!(
        (series("busy_share").interval_ns, series("busy_share").values.len()),
        (40_000_000, 63)
    );
    assert!(series("waiting_tasks").values.iter().all(|&value| value == 1.0));
    assert!(series("busy_share").values.iter().all(|&value| value == 1.0));
}

#[test]
fn forks_are_seen_when_they_happen() {
    let tasks = json!([
        {"name": "shell", "repeat": 1, "delay_us": 31_000, "steps": [
            {"fork": {"task": "job", "count": 3}}, "wait_children"]},
        {"name": "job", "template": true, "steps": [{"run_us": 100}]},
        {"name": "idler", "steps": [{"sleep_us": 1_000}]}]);
    let record = run_fifo(&trial(2, 60, tasks));
    let forks = &record.measured.series("forks_per_second").expect("it is measured").values;
    assert_eq!(forks, &[0.0, 0.0, 0.0, 300.0, 0.0, 0.0]);
}
