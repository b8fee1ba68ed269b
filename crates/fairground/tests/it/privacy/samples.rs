// SPDX-License-Identifier: GPL-2.0-only
//! Values of the types whose fields serde does not report.

use model::trace::{Preemption, Queue, SleepsFor, What};
use model::{KnobValue, Outcome, Policy, SchedulerChoice};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A text in a sample stands for a planted one.
pub const TEXT: &str = "$";

/// One value of each variant of the types whose fields serde does not report. The compiler demands
/// new fields, and `samples_are_all` new variants.
pub fn samples(name: &str) -> Vec<Value> {
    let text = || TEXT.to_owned();
    let policy = Policy::default();
    let members = KnobValue::Table([(text(), KnobValue::Text(text()))].into());
    let knobs = || [(text(), KnobValue::List(vec![KnobValue::Text(text()), members.clone()]))];
    match name {
        "internally tagged enum SchedulerChoice" => [
            SchedulerChoice::File {
                file: text(),
                sha256: text(),
                knobs: knobs().into(),
                settings: knobs().into(),
            },
            SchedulerChoice::Program { command: vec![text()], in_simulator: None },
            SchedulerChoice::Kernel,
            SchedulerChoice::Policy { policy },
            SchedulerChoice::Claimed { name: text() },
        ]
        .iter()
        .map(to_json)
        .collect(),
        "internally tagged enum Outcome" => [
            Outcome::Ok,
            Outcome::Timeout { reason: text() },
            Outcome::Hung { reason: text() },
            Outcome::Ejected { reason: text(), dump: text() },
            Outcome::Crashed { text: text() },
            Outcome::Failed { reason: text() },
            Outcome::Unsupported { reason: text() },
        ]
        .iter()
        .map(to_json)
        .collect(),
        "struct TraceEvent" => events().iter().map(to_json).collect(),
        "sim, vm, live, or a list of them" => vec![json!("sim")],
        // Knobs.
        _ => vec![json!(7)],
    }
}

fn events() -> Vec<What> {
    let switch = What::Switch {
        prev: 1,
        prev_prio: 120,
        prev_state: TEXT.into(),
        next: 2,
        next_prio: 120,
        reason: Some(SleepsFor::Pipe),
    };
    vec![
        switch,
        What::Waking { pid: 1, prio: 120, target: 0, interrupt: false, by: None },
        What::Fork { parent: 1, child: 2 },
        What::Exit { pid: 2 },
        What::Send { pid: 2, stream: 3, bytes: 4 },
        What::Take { pid: 2, stream: 3, bytes: 4 },
        What::Enqueue {
            pid: 1,
            queue: Queue::Local(0),
            from: None,
            vtime: None,
            slice_ns: None,
            ahead: None,
            direct: true,
        },
        What::Choose { pid: 1, slice_ns: None },
        What::Preempt { pid: 1, why: Preemption::SliceEnd },
    ]
}

fn to_json<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).expect("plain data")
}

/// Whether the samples have all variants: serde names them when it meets an unknown one.
#[test]
fn samples_are_all() {
    let unknown = json!({ "kind": "?", "event": "?", "time_ns": 1, "cpu": 1 });
    fn said<T: DeserializeOwned + std::fmt::Debug>(value: &Value) -> String {
        serde_json::from_value::<T>(value.clone()).expect_err("unknown").to_string()
    }
    for (name, said) in [
        ("internally tagged enum SchedulerChoice", said::<SchedulerChoice>(&unknown)),
        ("internally tagged enum Outcome", said::<Outcome>(&unknown)),
        ("struct TraceEvent", said::<What>(&unknown)),
    ] {
        let variants = said.split('`').skip(3).step_by(2).count();
        assert_eq!(variants, samples(name).len(), "{name}: {said}");
    }
}
