// SPDX-License-Identifier: GPL-2.0-only
//! What counts as not having survived.

use model::trace::{Trace, TraceEvent, TraceTask, What};
use model::{Backend, Histogram, Outcome, Policy, PolicyClass, Record, Step, TaskGroup};
use stats::view::survival::{IDLE_REAL_NS, IDLE_SIMULATED_NS, faults, idle_ns};

fn group(count: u32) -> TaskGroup {
    TaskGroup { count, ..TaskGroup::once("hog", vec![Step::RunUs(1)]) }
}

/// Two tasks that have ended.
fn survivor() -> Record {
    let mut record = crate::common::record("mine", 0);
    record.trial.workload.tasks = vec![group(2)];
    record.measured.histograms = vec![Histogram::from_samples("turnaround_ns", "hog", &[5, 6])];
    record
}

/// CPU 1 idles for a time while task 2 waits.
fn idling(ns: u64) -> Record {
    let switch = |prev, next, state: &str| {
        let prev_state = state.into();
        What::Switch { prev, prev_prio: 120, prev_state, next, next_prio: 120, reason: None }
    };
    let waking = What::Waking { pid: 2, prio: 120, target: 0, interrupt: false, by: None };
    let events = [
        (0, 0, switch(0, 1, "R")),
        (0, 1, switch(3, 0, "S")),
        (1_000, 0, waking),
        (1_000 + ns, 1, switch(0, 2, "R")),
    ];
    let task = |pid| TraceTask { pid, comm: "hog".into(), group: "hog".into() };
    let event = |(time_ns, cpu, what)| TraceEvent { time_ns, cpu, what };
    let mut record = survivor();
    record.trial.machine.cpus = 2;
    record.trace = Some(Trace {
        tasks: (1..4).map(task).collect(),
        events: events.map(event).to_vec(),
        lost: 0,
    });
    record
}

#[test]
fn whoever_ends_all_tasks_survives() {
    assert_eq!(faults(&survivor(), 0), [""; 0]);
}

#[test]
fn every_other_outcome_is_a_fault() {
    let mut record = survivor();
    record.outcome = Outcome::Ejected { reason: "stall".into(), dump: String::new() };
    assert_eq!(faults(&record, 0), ["ejected: stall"]);
}

#[test]
fn a_task_that_did_not_end_is_lost() {
    let mut record = survivor();
    record.trial.workload.tasks = vec![group(3)];
    assert_eq!(faults(&record, 0), ["1 of 3 tasks of hog are lost"]);
    record.measured.histograms.clear();
    assert_eq!(faults(&record, 0), ["3 of 3 tasks of hog are lost"]);
    // With a duration they need not end.
    record.trial.workload.duration_us = Some(1);
    assert_eq!(faults(&record, 0), [""; 0]);
}

#[test]
fn reloads_are_counted() {
    let mut record = crate::common::with(survivor(), "reloads", 2.0);
    record.trial.workload.reloads = 2;
    assert_eq!(faults(&record, 0), [""; 0]);
    record.trial.workload.reloads = 3;
    assert_eq!(faults(&record, 0), ["2 of 3 reloads took place"]);
}

#[test]
fn idling_beside_a_waiting_task_has_an_allowance() {
    let long = idling(3 * IDLE_REAL_NS);
    assert_eq!(idle_ns(&long), Some(3 * IDLE_REAL_NS));
    let said = faults(&long, 0);
    assert!(said[0].starts_with("a CPU idled for 300.0 ms while a task waited"), "{said:?}");
    assert!(said[0].contains("100.0 ms are allowed"), "{said:?}");
    // The kernel's own scheduler did it too.
    assert_eq!(faults(&long, 2 * IDLE_REAL_NS), [""; 0]);
    assert_eq!(faults(&idling(IDLE_REAL_NS), 0), [""; 0]);
}

#[test]
fn the_simulator_is_allowed_less() {
    let mut record = idling(2 * IDLE_SIMULATED_NS);
    assert_eq!(faults(&record, 0), [""; 0]);
    record.trial.backend = Backend::Sim;
    assert_eq!(faults(&record, u64::MAX).len(), 1);
}

#[test]
fn what_a_trace_cannot_tell_is_not_judged() {
    let mut moves = idling(1);
    moves.trial.workload.tasks[0].steps.push(Step::Affinity(vec![0]));
    let mut real_time = idling(1);
    let fifo = Policy { class: PolicyClass::Fifo, priority: 1, ..Policy::default() };
    real_time.trial.workload.tasks[0].policy = Some(fifo);
    let mut holes = idling(1);
    holes.trace.as_mut().unwrap().lost = 1;
    for record in [moves, real_time, holes, survivor()] {
        assert_eq!(idle_ns(&record), None);
    }
}
