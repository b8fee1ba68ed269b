// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduler must not do, and how the core ends it.

use std::rc::Rc;

use crate::common::{MS, Tracer, run, trial};
use model::Outcome;
use serde_json::json;
use sim::flags::*;
use sim::{Core, TaskId};

type Misdeed = fn(&mut Core, TaskId);

#[test]
fn a_cpu_that_the_task_may_not_use_is_an_error() {
    let pinned = json!([{"name": "hog", "affinity": [1], "steps": [{"run_us": 100_000}]}]);
    let misdeed: Misdeed = |core, task| {
        core.dsq_insert(task, DSQ_LOCAL_ON, MS, 0);
    };
    let tracer = Tracer { misdeed: Some(misdeed), ..Tracer::default() };
    let record = run(&trial(2, 40, pinned), Rc::new(tracer));
    assert!(record.outcome.reason().contains("target CPU 0 not allowed for hog["));
}

#[test]
fn the_watchdog_finds_a_forgotten_task() {
    let tracer = Tracer { timeout_ms: 1_000, ..Tracer::default() };
    tracer.swallow.set(1);
    let hogs = json!([{"name": "hog", "count": 2, "steps": [{"run_us": 100_000}]}]);
    let record = run(&trial(1, 5_000, hogs), Rc::new(tracer));
    let reason = record.outcome.reason();
    let Outcome::Ejected { dump, .. } = &record.outcome else { panic!("{:?}", record.outcome) };
    assert!(dump.starts_with("CPU 0: curr=hog[") && dump.contains("with the scheduler"), "{dump}");
    assert_eq!(record.provenance.scheduler_after.sched_ext_state, "disabled");
    assert!(
        reason.starts_with("runnable task stall (hog[") && reason.contains("failed to run for 1.")
    );
}

#[test]
fn a_workload_that_waits_for_itself_is_a_timeout() {
    let mut trial =
        trial(1, 5, json!([{"name": "a", "repeat": 1, "steps": [{"semaphore_wait": "s"}]}]));
    trial.workload.duration_us = None;
    let record = run(&trial, Rc::new(Tracer::default()));
    assert_eq!(record.outcome.word(), "timeout", "{:?}", record.outcome);
}
