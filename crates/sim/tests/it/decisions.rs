// SPDX-License-Identifier: GPL-2.0-only
//! Decisions in the trace: what was decided about a task, in order, scene by scene.

use std::rc::Rc;

use crate::common::{MS, Tracer, run, trial};
use model::Record;
use model::trace::{Preemption, Queue, What};
use serde_json::{Value, json};
use sim::flags::*;

/// The decisions and switches about a group's only task, in order of time.
fn decisions(record: &Record, group: &str) -> Vec<String> {
    let trace = record.trace.as_ref().expect("a trace");
    let task = trace.tasks.iter().find(|task| task.group == group).expect("the task");
    let name = |pid: u32| {
        let task = trace.tasks.iter().find(|task| task.pid == pid);
        task.map_or("idle", |task| task.group.as_str()).to_owned()
    };
    let ours = |what: &What| match *what {
        What::Enqueue { pid, queue, from, ahead, direct, slice_ns, .. } if pid == task.pid => {
            let from = from.map_or(String::new(), |from| format!(" from {from:?}"));
            let (ahead, direct) = (ahead.unwrap_or(99), if direct { " direct" } else { "" });
            let slice = slice_ns.map_or("-".into(), |ns| format!("{}", ns / MS));
            Some(format!("enqueue {queue:?} ahead {ahead} slice {slice}{from}{direct}"))
        }
        What::Choose { pid, .. } if pid == task.pid => Some("choose".into()),
        What::Preempt { pid, why } if pid == task.pid => Some(match why {
            Preemption::MoreImportant { pid } => format!("preempt for {}", name(pid)),
            Preemption::Inserted { pid } => format!("preempt inserted {}", name(pid)),
            other => format!("preempt {other:?}"),
        }),
        What::Switch { prev, .. } if prev == task.pid => Some("off".into()),
        What::Switch { next, .. } if next == task.pid => Some("on".into()),
        _ => None,
    };
    trace.events.iter().filter_map(|event| ours(&event.what)).collect()
}

fn decided(tracer: Tracer, cpus: u32, tasks: Value, group: &str) -> Vec<String> {
    let record = run(&trial(cpus, 30, tasks), Rc::new(tracer));
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    decisions(&record, group)
}

#[test]
fn a_wake_up_through_a_shared_queue_and_the_end_of_a_slice() {
    let hogs = json!([
        {"name": "a", "steps": [{"run_us": 100_000}]},
        {"name": "b", "delay_us": 1, "steps": [{"run_us": 100_000}]}]);
    let log = decided(Tracer::default(), 1, hogs, "a");
    let expected = [
        "enqueue Shared(0) ahead 0 slice 5 direct",
        "enqueue Local(0) ahead 0 slice 5 from Shared(0)",
        "choose",
        "on",
        "preempt SliceEnd",
        "enqueue Shared(0) ahead 0 slice 5 direct",
        "off",
        "enqueue Local(0) ahead 0 slice 5 from Shared(0)",
        "choose",
        "on",
    ];
    assert_eq!(log[..10], expected.map(|line| line.to_owned()), "{log:#?}");
}

#[test]
fn a_direct_dispatch_and_a_task_that_may_run_on() {
    let tracer = Tracer { direct: true, ..Tracer::default() };
    let log = decided(tracer, 2, json!([{"name": "a", "steps": [{"run_us": 8_000}]}]), "a");
    assert!(log[0].starts_with("enqueue Local(") && log[0].ends_with(" direct"), "{log:#?}");
    assert_eq!(log[1..3], ["choose", "on"], "{log:#?}");
    // Its slice ends, nobody else waits, and it is chosen again without a switch.
    assert!(log[3..].iter().all(|line| line == "choose"), "{log:#?}");
    assert!(log.len() > 4, "{log:#?}");
}

#[test]
fn a_real_time_task_takes_the_cpu_and_the_other_keeps_its_place() {
    let tasks = json!([
        {"name": "a", "steps": [{"run_us": 100_000}]},
        {"name": "rt", "delay_us": 2_000, "policy": {"class": "fifo", "priority": 5},
         "steps": [{"run_us": 1_000}, {"sleep_us": 100_000}]}]);
    let log = decided(Tracer::default(), 1, tasks.clone(), "a");
    let at = log.iter().position(|line| line.starts_with("preempt")).expect("a preemption");
    assert_eq!(log[at], "preempt for rt");
    assert!(log[at + 1].starts_with("enqueue Local(0) ahead 0"), "{log:#?}");
    let rt = decided(Tracer::default(), 1, tasks, "rt");
    let wake_up = ["enqueue RealTime(0) ahead 0 slice -", "choose", "on"];
    assert!(rt.windows(3).any(|lines| lines == wake_up), "{rt:#?}");
}

#[test]
fn a_yield_and_a_preempting_insertion_are_told_apart() {
    let tasks = json!([
        {"name": "a", "steps": [{"run_us": 1_000}, "yield"]},
        {"name": "b", "delay_us": 1, "steps": [{"run_us": 100_000}]}]);
    let log = decided(Tracer::default(), 1, tasks, "a");
    assert!(log.contains(&"preempt Yield".to_owned()), "{log:#?}");
    let tasks = json!([
        {"name": "a", "steps": [{"run_us": 100_000}]},
        {"name": "b", "delay_us": 2_500, "steps": [{"run_us": 100}, {"sleep_us": 90_000}]}]);
    let inserts = |core: &mut sim::Core, task| {
        core.dsq_insert(task, DSQ_LOCAL, MS, ENQ_PREEMPT);
    };
    let log = decided(Tracer { misdeed: Some(inserts), ..Tracer::default() }, 1, tasks, "a");
    assert!(log.contains(&"preempt inserted b".to_owned()), "{log:#?}");
}

#[test]
fn without_a_trace_nothing_changes() {
    let tasks = json!([
        {"name": "a", "count": 3, "steps": [{"run_us": 700}, {"sleep_us": 300}]},
        {"name": "b", "policy": {"class": "rr", "priority": 2},
         "steps": [{"run_us": 90}, {"sleep_us": 1_000}]}]);
    let mut trial = trial(2, 30, tasks);
    let with = run(&trial, Rc::new(Tracer::default()));
    trial.trace = false;
    let without = run(&trial, Rc::new(Tracer::default()));
    assert!(with.trace.is_some() && without.trace.is_none());
    assert_eq!(with.measured, without.measured);
    let queues =
        with.trace.expect("a trace").events.into_iter().filter_map(|event| match event.what {
            What::Enqueue { queue, .. } => Some(queue),
            _ => None,
        });
    assert!(queues.into_iter().any(|queue| matches!(queue, Queue::RealTime(_))));
}
