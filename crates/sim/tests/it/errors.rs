// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduler must not do, and how the core ends it.

use std::rc::Rc;

use crate::common::{MS, Tracer, run, trial};
use model::{Outcome, Trial};
use serde_json::json;
use sim::flags::*;
use sim::{Core, TaskId};

type Misdeed = fn(&mut Core, TaskId);

/// What a careless scheduler does with an answer.
fn ignore(_done: bool) {}

fn hogs() -> Trial {
    trial(2, 40, json!([{"name": "hog", "count": 5, "steps": [{"run_us": 100_000}]}]))
}

fn reason(misdeed: Misdeed) -> String {
    let tracer = Rc::new(Tracer { misdeed: Some(misdeed), ..Tracer::default() });
    let record = run(&hogs(), tracer.clone());
    assert_eq!(tracer.log.borrow().last().unwrap(), "exit 1024");
    match record.outcome {
        Outcome::Ejected { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn mistakes_are_named() {
    let cases: [(Misdeed, &str); 7] = [
        (|core, task| ignore(core.dsq_insert(task, 77, 1, 0)), "non-existent DSQ 0x4d"),
        (
            |core, task| {
                core.dsq_insert(task, DSQ_LOCAL, 1, 0);
                core.dsq_insert(task, DSQ_LOCAL, 1, 0);
            },
            "already direct-dispatched",
        ),
        (|core, task| ignore(core.dsq_insert_vtime(task, DSQ_LOCAL, 1, 5, 0)), "cannot use vtime"),
        (|core, task| ignore(core.dsq_insert(task, DSQ_LOCAL_ON | 9, 1, 0)), "invalid CPU 9"),
        (
            |core, task| ignore(core.dsq_insert(TaskId(task.0 - 1), 0, 1, 0)),
            "trying to direct-dispatch",
        ),
        (|core, _| core.kick_cpu(0, KICK_IDLE | KICK_PREEMPT), "PREEMPT/WAIT cannot be used"),
        (|core, task| ignore(core.dsq_insert(task, 0, 1, ENQ_DSQ_PRIQ)), "invalid enq_flags"),
    ];
    for (misdeed, expected) in cases {
        let reason = reason(misdeed);
        assert!(reason.contains(expected), "{reason}");
    }
}

#[test]
fn fifo_and_vtime_do_not_mix() {
    let mixed = reason(|core, task| {
        match task.0 % 2 {
            0 => core.dsq_insert(task, 0, MS, 0),
            _ => core.dsq_insert_vtime(task, 0, MS, 1, 0),
        };
    });
    assert!(mixed.contains("already had"), "{mixed}");
}

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
