// SPDX-License-Identifier: GPL-2.0-only
//! How tasks come to the common start: one after the other, each with a past of its own.
//!
//! A task that waits for the end of others.
//!
//! Clamps of the utilisation, which nothing in the simulator heeds.

use std::cell::RefCell;
use std::rc::Rc;

use model::tables::NO_CLAMPS;
use model::{ControlGroup, Costs, Record, TaskSession, Trial, Workload};
use serde_json::{Value, json};
use sim::{Core, Ops, OpsPresent, TaskId};

use crate::common::reference::Fifo;
use crate::common::{ran, run, run_fifo, trial};

/// Notes which tasks run before the common start, where, and for how long.
#[derive(Default)]
struct Before(RefCell<Vec<(String, i32, u64)>>, RefCell<u64>);

impl Ops for Before {
    fn present(&self) -> OpsPresent {
        OpsPresent { running: true, stopping: true, ..OpsPresent::default() }
    }
    fn running(&self, core: &mut Core, _: TaskId) {
        *self.1.borrow_mut() = core.now();
    }
    fn stopping(&self, core: &mut Core, task: TaskId, _: bool) {
        if !core.has_begun() {
            let ran_us = (core.now() - *self.1.borrow()) / 1_000;
            self.0.borrow_mut().push((core.comm(task), core.task_cpu(task), ran_us));
        }
    }
}

fn before(cpus: u32, tasks: Value) -> (Record, Vec<(String, i32, u64)>) {
    before_of(trial(cpus, 5, tasks))
}

fn before_of(mut trial: Trial) -> (Record, Vec<(String, i32, u64)>) {
    let ops = Rc::new(Before::default());
    trial.machine.costs = Costs { thread_ns: 100_000, thread_start_ns: 50_000, ..Costs::FREE };
    let record = run(&trial, ops.clone());
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    (record, ops.0.take())
}

fn places(cpus: u32) -> Vec<i32> {
    places_in(cpus, "")
}

/// Where the tasks of a session run before the common start; without a name those of none.
fn places_in(cpus: u32, session: &str) -> Vec<i32> {
    let steps = json!([{"run_us": 10}]);
    let mut tasks = json!([{"name": "a", "count": 6, "repeat": 1, "steps": steps}]);
    let mut sessions = vec![];
    if !session.is_empty() {
        tasks[0]["session"] = session.into();
        sessions.push(TaskSession { name: session.into(), ..TaskSession::default() });
    }
    let mut trial = trial(cpus, 5, tasks);
    trial.workload = Workload { sessions, ..(*trial.workload).clone() }.into();
    let all = before_of(trial).1;
    all.iter().filter(|(comm, _, _)| comm == "a").map(|&(_, cpu, _)| cpu).collect()
}

#[test]
fn the_starter_s_cpu_is_the_only_one_on_which_none_has_run() {
    assert_eq!(places(1), [0; 6]);
    assert_eq!(places(2), [0; 6]);
    assert_eq!(places(4), [2, 3, 0, 2, 3, 0]);
}

#[test]
fn the_process_of_a_session_leaves_the_main_task_s_cpu_to_its_starter() {
    assert_eq!(places_in(1, "s"), [0; 6]);
    assert_eq!(places_in(2, "s"), [1; 6]);
    assert_eq!(places_in(4, "s"), [1, 2, 0, 1, 2, 0]);
}

#[test]
fn a_worker_runs_where_a_control_group_gets_its_first_task() {
    let group = |name: &str| ControlGroup { name: name.into(), ..ControlGroup::default() };
    let tasks = json!([
        {"name": "a", "group": "first", "count": 2, "repeat": 1, "steps": [{"run_us": 10}]},
        {"name": "b", "group": "second", "repeat": 1, "steps": [{"run_us": 10}]},
        {"name": "c", "group": "second/below", "repeat": 1, "steps": [{"run_us": 10}]}]);
    let mut trial = trial(2, 5, tasks);
    let control_groups = ["first", "second", "second/below"].map(group).into();
    trial.workload = Workload { control_groups, ..(*trial.workload).clone() }.into();
    let (_, all) = before_of(trial);
    // Without a layout of task_struct, those of no group have the program's name.
    let workers = all.iter().filter(|(comm, _, us)| comm == "fairground" && *us == 10);
    assert_eq!(workers.map(|(_, cpu, _)| *cpu).collect::<Vec<_>>(), [0; 3]);
}

#[test]
fn very_many_tasks_have_no_past() {
    let tasks =
        |count| json!([{"name": "a", "count": count, "repeat": 1, "steps": [{"run_us": 1}]}]);
    let with_past =
        |count| before(4, tasks(count)).1.iter().filter(|(comm, ..)| comm == "a").count();
    assert_eq!((with_past(512), with_past(513)), (512, 0));
}

#[test]
fn the_starter_works_for_each_and_nothing_of_it_is_measured() {
    let tasks = json!([
        {"name": "a", "count": 2, "repeat": 3, "steps": [{"run_us": 10}]},
        {"name": "b", "repeat": 1, "steps": [{"run_us": 10}]}]);
    let (record, all) = before(1, tasks);
    let pieces: Vec<(&str, u64)> =
        all.iter().map(|(comm, _, us)| (comm.as_str(), *us)).filter(|&(_, us)| us > 0).collect();
    let starter = ("fairground", 100);
    // The last one plays no part, and never gets another name.
    let extra = ("fairground", 50);
    assert_eq!(
        pieces,
        [starter, ("a", 50), starter, ("a", 50), starter, ("b", 50), starter, extra]
    );
    assert_eq!(record.measured.value("cpu_time_ns", "a"), Some(60_000.0));
    assert_eq!(record.measured.value("completion_ns", "all"), Some(70_000.0));
    let trace = record.trace.as_ref().expect("a trace");
    assert_eq!(trace.events[0].time_ns, 0);
}

#[test]
fn pages_of_a_file_and_of_its_reader_s_buffer_cost_once() {
    let cost_us = |steps: Value| {
        let tasks = json!([{"name": "a", "repeat": 5, "steps": steps}]);
        let mut trial = trial(1, 5, tasks);
        trial.machine.costs = Costs { touch_ns: 1_000, ..Costs::FREE };
        run(&trial, Rc::new(Fifo::default())).measured.value("cpu_time_ns", "a").unwrap() / 1e3
    };
    assert_eq!(cost_us(json!([{"write_file": {"bytes": 16_384}}])), 4.0);
    assert_eq!(cost_us(json!([{"read_file": {"bytes": 4_096}}])), 2.0);
    let both = json!([{"write_file": {"bytes": 8_192}}, {"read_file": {"bytes": 16_384}}]);
    assert_eq!(cost_us(both), 8.0);
    // Reads of more than the file's 64 KiB begin at its start again.
    assert_eq!(cost_us(json!([{"read_file": {"bytes": 1_000_000}}])), 20.0);
}

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
