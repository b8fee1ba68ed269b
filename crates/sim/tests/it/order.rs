// SPDX-License-Identifier: GPL-2.0-only
//! The order of callbacks, scene by scene, on one CPU unless something else is said.

use std::rc::Rc;

use crate::common::{MS, Tracer, trial};
use serde_json::{Value, json};

fn once(steps: Value) -> Value {
    json!([{"name": "task", "repeat": 1, "steps": steps}])
}

fn check(log: &[String], expected: &[&str]) {
    assert_eq!(&log[..expected.len().min(log.len())], expected, "{log:#?}");
}

#[test]
fn loading_and_forking() {
    let log = Tracer::default().log_of(&trial(1, 10, once(json!([{"run_us": 0}]))), "init");
    check(
        &log,
        &[
            "init",
            "init_task fairground false",
            "enable fairground",
            "set_weight fairground 100",
            "set_cpumask fairground 1",
            "dispatch idle",
            "update_idle 0 true",
            "init_task task true",
            "enable task",
            "set_weight task 100",
        ],
    );
    assert_eq!(log.last().unwrap(), "exit 64");
}

#[test]
fn a_wake_up_through_the_scheduler_and_the_task_s_end() {
    // The common start wakes tasks from a task that is above them, so nobody preempts, and the
    // CPU is not idle. A second task keeps the trial from ending with the first.
    let tasks = json!([
        {"name": "task", "repeat": 1, "steps": [{"run_us": 5}]},
        {"name": "later", "repeat": 1, "delay_us": 9_000, "policy": {"class": "fifo", "priority": 1},
         "steps": [{"run_us": 0}]}]);
    let log = Tracer::default().log_of(&trial(1, 10, tasks), "runnable task");
    check(
        &log,
        &[
            "runnable task 0x9",
            "enqueue task 0x9",
            "dispatch idle",
            "dequeue task 0x0",
            "running task @0",
            "stopping task false",
            "quiescent task 0x20000000e",
            "runnable task 0x100000000000000e",
            "running task @0",
            "stopping task false",
            "quiescent task 0x10009",
            "dispatch task",
            "update_idle 0 true",
            "disable task",
            "exit_task task",
        ],
    );
}

#[test]
fn a_direct_dispatch_skips_enqueue_and_dispatch() {
    let tracer = Tracer { direct: true, ..Tracer::default() };
    let log = tracer.log_of(&trial(2, 10, once(json!([{"run_us": 5}]))), "select_cpu");
    let expected =
        ["select_cpu task 0x8", "runnable task 0x140009", "update_idle 1 false", "running task @1"];
    let log: Vec<String> = log
        .into_iter()
        .filter(|line| line != "dispatch idle" && line != "update_idle 0 true")
        .collect();
    check(&log, &expected);
}

#[test]
fn a_pinned_task_is_not_asked_for_a_cpu() {
    let steps = json!([{"run_us": 5}, {"sleep_us": 100}, {"run_us": 5}]);
    let log = Tracer::default().log_of(&trial(1, 10, once(steps)), "runnable");
    check(&log, &["runnable task 0x9", "enqueue task 0x9", "dispatch idle", "dequeue task 0x0"]);
}

#[test]
fn at_a_slice_end_dispatch_comes_before_the_old_task_is_queued() {
    let hogs = json!([
        {"name": "a", "steps": [{"run_us": 100_000}]},
        {"name": "b", "delay_us": 1, "steps": [{"run_us": 100_000}]}]);
    let log = Tracer::default().log_of(&trial(1, 20, hogs), "running a");
    check(
        &log,
        &[
            "running a @0",
            "dispatch a",
            "dequeue b 0x0",
            "stopping a true",
            "enqueue a 0x0",
            "running b @0",
            "dispatch b",
            "dequeue a 0x0",
            "stopping b true",
            "enqueue b 0x0",
            "running a @0",
        ],
    );
}

#[test]
fn slices_end_at_ticks() {
    // 700 µs at 1000 Hz are noticed after one tick or, if the tick comes early, after two.
    let hogs = json!([{"name": "a", "count": 2, "steps": [{"run_us": 100_000}]}]);
    let tracer = Tracer { slice_ns: 7 * MS / 10, ..Tracer::default() };
    let record = crate::common::run(&trial(1, 100, hogs), std::rc::Rc::new(tracer));
    let delays = record.measured.histogram("run_delay_ns", "a").unwrap();
    assert_eq!(delays.quantile(0.5), Some(model::histogram::lowest_equivalent(MS)));
}

#[test]
fn alone_the_task_keeps_the_cpu_without_stopping() {
    let log = Tracer::default()
        .log_of(&trial(1, 30, json!([{"name": "a", "steps": [{"run_us": 100_000}]}])), "running");
    check(&log, &["running a @0", "dispatch a", "dispatch a"]);
}

#[test]
fn with_enq_last_the_scheduler_gets_the_last_task_back() {
    let flags = sim::flags::OPS_ENQ_LAST | sim::flags::OPS_KEEP_BUILTIN_IDLE;
    let tracer = Tracer { flags, ..Tracer::default() };
    let log = tracer
        .log_of(&trial(1, 30, json!([{"name": "a", "steps": [{"run_us": 9_000}]}])), "running");
    let last = format!("enqueue a {:#x}", sim::flags::ENQ_LAST);
    check(&log, &["running a @0", "dispatch a", "stopping a true", &last, "update_idle 0 true"]);
}

#[test]
fn a_sleep_ends_with_dispatch_of_the_next() {
    let steps = json!([{"run_us": 5}, {"sleep_us": 100}]);
    let log = Tracer::default().log_of(&trial(1, 1, once(steps)), "stopping task false");
    let expected =
        ["stopping task false", "quiescent task 0x9", "dispatch task", "update_idle 0 true"];
    check(&log, &expected);
}

#[test]
fn a_real_time_task_interrupts_without_enqueue() {
    let tasks = json!([
        {"name": "hog", "steps": [{"run_us": 100_000}]},
        {"name": "rt", "delay_us": 1_000, "repeat": 1, "steps": [{"run_us": 100}],
         "policy": {"class": "fifo", "priority": 5}}]);
    let log = Tracer::default().log_of(&trial(1, 3, tasks), "running hog");
    check(&log, &["running hog @0", "stopping hog true", "running hog @0"]);
}

#[test]
fn a_nice_change_goes_out_and_in_again() {
    let steps = json!([{"run_us": 5}, {"nice": 19}, {"run_us": 5}]);
    let log = Tracer::default().log_of(&trial(1, 3, once(steps)), "running");
    check(
        &log,
        &[
            "running task @0",
            "stopping task false",
            "quiescent task 0x20000000a",
            "set_weight task 1",
            "runnable task 0x100000000000000a",
            "running task @0",
            // The last task's end ends the trial.
            "stopping task true",
        ],
    );
}

#[test]
fn an_affinity_change_moves_the_running_task() {
    let steps = json!([{"run_us": 5}, {"affinity": [0]}, {"run_us": 5}]);
    let log = Tracer::default().log_of(&trial(2, 3, once(steps)), "running");
    check(
        &log,
        &[
            "running task @1",
            "dispatch idle",
            "update_idle 0 true",
            "stopping task false",
            "quiescent task 0x20000000a",
            "set_cpumask task 1",
            "runnable task 0x100000000000000a",
            "running task @1",
            "stopping task true",
            "enqueue task 0x40000",
        ],
    );
    assert!(log.contains(&"running task @0".to_owned()));
}

#[test]
fn a_change_of_class_leaves_and_joins() {
    let fifo = json!({"class": "fifo", "priority": 5});
    let steps = json!([{"run_us": 5}, {"policy": fifo}, {"run_us": 5}, {"policy": {"class": "other"}}, {"run_us": 5}]);
    let log = Tracer::default().log_of(&trial(1, 3, once(steps)), "running");
    check(
        &log,
        &[
            "running task @0",
            "stopping task false",
            "quiescent task 0x20000004e",
            "disable task",
            "enable task",
            "set_weight task 100",
            "set_cpumask task 1",
            "runnable task 0x100000000001004e",
            "running task @0",
        ],
    );
}

#[test]
fn a_yield_gives_the_rest_of_the_slice_away() {
    let tasks = json!([
        {"name": "a", "repeat": 1, "steps": [{"run_us": 10}, "yield", {"run_us": 10}]},
        {"name": "b", "repeat": 1, "delay_us": 1, "steps": [{"run_us": 10}]}]);
    let log = Tracer::default().log_of(&trial(1, 3, tasks), "dispatch a");
    let expected =
        ["dispatch a", "dequeue b 0x0", "stopping a true", "enqueue a 0x0", "running b @0"];
    check(&log, &expected);
}

#[test]
fn a_fork_is_initialised_enabled_and_placed() {
    let tasks = json!([
        {"name": "parent", "repeat": 1, "steps": [{"fork": {"task": "child"}}, "wait_children"]},
        {"name": "child", "template": true, "steps": [{"run_us": 10}]}]);
    let log = Tracer::default().log_of(&trial(2, 3, tasks), "init_task child");
    check(
        &log,
        &[
            "init_task child true",
            "enable child",
            "set_weight child 100",
            "select_cpu child 0x4",
            "runnable child 0x80008",
            "enqueue child 0x80008",
        ],
    );
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
