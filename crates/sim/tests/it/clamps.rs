// SPDX-License-Identifier: GPL-2.0-only
//! Clamps of the utilisation, which nothing in the simulator heeds.

use crate::common::{run_fifo, trial};
use model::tables::NO_CLAMPS;
use serde_json::json;

#[test]
fn a_record_says_that_nothing_heeds_clamps() {
    let notes = |task: serde_json::Value| {
        let record = run_fifo(&trial(1, 10, json!([task])));
        let notes = record.provenance.notes.iter();
        notes.filter(|note| note.starts_with(NO_CLAMPS)).count()
    };
    let run = json!({"run_us": 100});
    assert_eq!(notes(json!({"name": "t", "steps": [run]})), 0);
    assert_eq!(notes(json!({"name": "t", "uclamp": {"max": 9}, "steps": [run]})), 1);
    let inside = json!({"loop": {"count": 1, "steps": [{"uclamp": {"min": 9}}]}});
    assert_eq!(notes(json!({"name": "t", "steps": [run, inside]})), 1);
}
