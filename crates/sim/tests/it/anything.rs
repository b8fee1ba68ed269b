// SPDX-License-Identifier: GPL-2.0-only
//! Any workload on any machine: nothing panics, nothing is lost, and the same comes out twice.

use std::rc::Rc;

use crate::common::reference::{Fifo, Vtime};
use crate::common::{Tracer, trial};
use model::trace::What;
use model::{Channel, Costs, Mutex, Protocol, Record, Seed, Trial};
use proptest::prelude::*;
use serde_json::{Value, json};
use sim::Ops;

fn policy() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-20..20).prop_map(|nice| json!({"class": "other", "nice": nice})),
        (1..99u32).prop_map(|priority| json!({"class": "fifo", "priority": priority})),
        (1..99u32).prop_map(|priority| json!({"class": "rr", "priority": priority})),
        Just(json!({"class": "deadline", "runtime_us": 50, "period_us": 10_000})),
        Just(json!({"class": "idle"})),
    ]
}

fn mutex() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("l"), Just("m")]
}

fn step() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (1..2_000u64).prop_map(|us| json!({"run_us": us})),
        3 => (0..2_000u64).prop_map(|us| json!({"sleep_us": us})),
        1 => (0..500u64).prop_map(|us| json!({"run_until_us": us})),
        1 => (500..3_000u64, any::<bool>(), any::<bool>()).prop_map(|(period, relative, skip)| {
            json!({"timer": {"period_us": period, "relative": relative, "skip": skip,
                             "name": format!("{period} {relative} {skip}")}})
        }),
        2 => mutex().prop_map(|mutex| json!({"lock": mutex})),
        2 => mutex().prop_map(|mutex| json!({"unlock": mutex})),
        1 => Just(json!({"wait": {"condition": "c", "lock": "l"}})),
        1 => Just(json!({"broadcast": "c"})),
        1 => Just(json!({"semaphore_post": "s"})),
        1 => Just(json!({"semaphore_wait": "s"})),
        1 => Just(json!({"barrier": "b"})),
        1 => (1..70_000u32).prop_map(|bytes| json!({"send": {"channel": "p", "bytes": bytes, "fan": 2}})),
        1 => (1..9_000u32).prop_map(|bytes| json!({"receive": {"channel": "p", "bytes": bytes}})),
        1 => any::<bool>().prop_map(|sync| json!({"write_file": {"bytes": 5_000, "sync": sync}})),
        1 => (1..2_000_000u64).prop_map(|bytes| json!({"write_memory": {"bytes": bytes}})),
        1 => (1..9_000u64).prop_map(|bytes| json!({"write_null": {"bytes": bytes, "buffer": 1_000}})),
        1 => (1..4u32).prop_map(|count| json!({"fork": {"task": "child", "count": count}})),
        1 => Just(json!("wait_children")),
        2 => Just(json!("yield")),
        1 => (-20..20).prop_map(|nice| json!({"nice": nice})),
        2 => policy().prop_map(|policy| json!({"policy": policy})),
        2 => prop::collection::vec(0..4u32, 1..3).prop_map(|cpus| json!({"affinity": cpus})),
        1 => Just(json!({"loop": {"count": 3, "steps": [{"run_us": 30}, {"sleep_us": 20}]}})),
    ]
}

fn group(name: &'static str) -> impl Strategy<Value = Value> {
    (1..5u32, 0..1_000u64, prop::collection::vec(step(), 1..8)).prop_map(
        move |(count, jitter, mut steps)| {
            // Rounds that take no time would be played for ever at one instant.
            steps.push(json!({"run_us": 10}));
            json!({"name": name, "count": count, "jitter_us": jitter, "steps": steps})
        },
    )
}

fn workload() -> impl Strategy<Value = Value> {
    let child = prop::collection::vec((1..300u64).prop_map(|us| json!({"run_us": us})), 1..3);
    (group("a"), group("b"), child).prop_map(
        |(a, b, steps)| json!([a, b, {"name": "child", "template": true, "steps": steps}]),
    )
}

fn any_trial() -> impl Strategy<Value = Trial> {
    let shape = prop_oneof![Just((1, 1, 1)), Just((4, 2, 1)), Just((8, 2, 4)), Just((70, 1, 7))];
    let protocol = prop_oneof![Just(Protocol::None), Just(Protocol::Inherit)];
    let chance = (any::<u64>(), any::<bool>(), protocol, any::<bool>());
    (workload(), shape, chance).prop_map(|(tasks, shape, (seed, free, protocol, socket))| {
        let mut trial = trial(shape.0, 30, tasks);
        (trial.machine.smt, trial.machine.llcs) = (shape.1, shape.2);
        trial.machine.costs = if free { Costs::FREE } else { Costs::default() };
        trial.machine.hz = 250;
        trial.seed = Seed(seed);
        let mutex = |name: &str| Mutex { name: name.into(), protocol, ceiling: 0 };
        trial.workload.mutexes = ["l", "m"].map(mutex).into();
        trial.workload.channels.push(Channel { name: "p".into(), count: 2, socket });
        trial
    })
}

fn check(trial: &Trial, ops: fn() -> Rc<dyn Ops>) -> Result<(), TestCaseError> {
    let record: Record = crate::common::run(trial, ops());
    if record.outcome.word() == "unsupported" || record.outcome.word() == "failed" {
        return Ok(());
    }
    prop_assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    // Of the trial's own time: a deadline task is above the one that ends the trial.
    let used = record.measured.value("cpu_share", "all").unwrap_or(0.0);
    let slack = 1.02 + 0.02 * f64::from(u8::from(trial.machine.costs != Costs::FREE));
    prop_assert!(used <= slack, "{used} of all CPU time");
    sums_agree(&record)?;
    prop_assert_eq!(record.measured.hash(), crate::common::run(trial, ops()).measured.hash());
    Ok(())
}

/// What is shown over time adds up to what is measured in all.
fn sums_agree(record: &Record) -> Result<(), TestCaseError> {
    let sum = |name: &str| record.measured.series(name).map_or(0.0, |series| series.integral());
    let value = |name: &str| record.measured.value(name, "all").unwrap_or(0.0);
    let seconds = record.measured.series.first().map_or(0, |series| series.end_ns) as f64 / 1e9;
    let cpus = f64::from(record.trial.machine.cpus);
    // Half a millionth of the machine's time is lost to rounding, half a thousandth of a switch.
    let cpu_s = value("cpu_time_ns") / 1e9;
    let busy_s = sum("busy_share") * cpus;
    prop_assert!((busy_s - cpu_s).abs() <= 1e-6 * seconds * cpus, "{busy_s} s of {cpu_s} s");
    let switches = value("voluntary_switches") + value("involuntary_switches");
    let seen = sum("switches_per_second");
    prop_assert!((seen - switches).abs() <= 1e-3 * seconds, "{seen} of {switches} switches");
    let trace = record.trace.as_ref().expect("a trace");
    let forks = trace.events.iter().filter(|event| matches!(event.what, What::Fork { .. })).count();
    let seen = sum("forks_per_second");
    prop_assert!((seen - forks as f64).abs() <= 1e-3 * seconds, "{seen} of {forks} forks");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn anything_goes_under_vtime(trial in any_trial()) {
        check(&trial, || Rc::new(Vtime::default()))?;
    }

    #[test]
    fn anything_goes_under_a_short_fifo(trial in any_trial()) {
        check(&trial, || Rc::new(Fifo { slice_ns: 1_000_000 }))?;
    }

    #[test]
    fn anything_goes_through_every_callback(trial in any_trial()) {
        check(&trial, || Rc::new(Tracer { direct: true, ..Tracer::default() }))?;
    }
}
