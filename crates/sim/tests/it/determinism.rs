// SPDX-License-Identifier: GPL-2.0-only
//! Same trial, same bytes.

use std::rc::Rc;

use crate::common::reference::{Fifo, Vtime};
use crate::common::trial;
use model::{Costs, Seed, Trial};
use serde_json::json;
use sim::{Ops, TaskLayout};

fn busy(seed: u64) -> Trial {
    let tasks = json!([
        {"name": "worker", "count": 24, "jitter_us": 900, "steps": [{"run_us": 200}, {"sleep_us": 700}]},
        {"name": "rt", "count": 2, "policy": {"class": "fifo", "priority": 10},
         "steps": [{"run_us": 50}, {"timer": {"period_us": 1_000}}]},
        {"name": "writer", "count": 4, "steps": [{"send": {"channel": "c", "bytes": 100, "fan": 4}}, {"run_us": 20}]},
        {"name": "reader", "count": 4, "steps": [{"receive": {"channel": "c", "bytes": 100}}]},
        {"name": "make", "steps": [{"fork": {"task": "job", "count": 3}}, "wait_children", {"write_file": {"bytes": 4096, "sync": true}}]},
        {"name": "job", "template": true, "steps": [{"run_us": 300}]}]);
    let mut trial = trial(8, 200, tasks);
    trial.workload.channels.push(model::Channel { name: "c".into(), count: 4 });
    (trial.machine.smt, trial.machine.llcs, trial.machine.nodes) = (2, 2, 1);
    trial.machine.costs = Costs::default();
    trial.seed = Seed(seed);
    trial
}

fn record(seed: u64, ops: Rc<dyn Ops>) -> (String, String) {
    let record = sim::run_ops(&busy(seed), Some(ops), TaskLayout::compact());
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    (record.measured.hash(), serde_json::to_string(&record.trace).unwrap())
}

#[test]
fn twice_the_same() {
    let (first, second) =
        (record(1, Rc::new(Vtime::default())), record(1, Rc::new(Vtime::default())));
    assert!(first == second);
    assert_ne!(first.0, record(2, Rc::new(Vtime::default())).0);
}

/// Kept in the repository: a change of the model changes these, and its commit says why.
#[test]
fn the_hashes_are_the_known_ones() {
    let hashes = [
        record(1, Rc::new(Vtime::default())).0,
        record(1, Rc::new(Fifo::default())).0,
        record(2, Rc::new(Vtime::default())).0,
    ];
    assert_eq!(hashes.join(" "), include_str!("../hashes.txt").trim());
}
