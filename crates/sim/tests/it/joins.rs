// SPDX-License-Identifier: GPL-2.0-only
//! A task that waits for the end of others.

use crate::common::{ran, run_fifo, trial};
use serde_json::json;

#[test]
fn a_task_goes_on_when_the_last_of_the_others_has_ended() {
    let tasks = json!([
        {"name": "main", "repeat": 1, "steps": [
            {"join": "workers"}, {"run_us": 1_000}, {"join": "leaver"}, {"run_us": 1_000}]},
        {"name": "workers", "count": 2, "repeat": 3, "steps": [{"run_us": 2_000}, {"sleep_us": 1_000}]},
        {"name": "leaver", "delay_us": 1_000, "steps": [{"run_us": 1_000}, "exit"]},
        {"name": "late", "delay_us": 50_000, "repeat": 1, "steps": [{"run_us": 1_000}]},
    ]);
    let record = run_fifo(&trial(4, 100, tasks));
    let begins = |group: &str| {
        let pieces = ran(&record, group).into_iter().filter(|piece| piece.1 - piece.0 > 500);
        pieces.map(|piece| piece.0 / 1_000).collect::<Vec<_>>()
    };
    // Three rounds of 3 ms; the other group has ended before it is joined.
    assert_eq!(begins("main"), [9]);
    let end_us = ran(&record, "main").last().unwrap().1;
    assert_eq!(end_us / 1_000, 11);
}
