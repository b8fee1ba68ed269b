// SPDX-License-Identifier: GPL-2.0-only
//! Synthetic records.

use model::histogram::lowest_equivalent;
use model::*;

/// A record that ran well and measured nothing yet.
#[allow(dead_code)]
pub fn record(contestant: &str, block: u32) -> Record {
    let workload = Workload {
        name: "messaging".into(),
        headline: vec!["completion_ns all".into(), "wakeup_latency_ns.p99 waker".into()],
        ..Workload::default()
    };
    let machine = Machine { name: "one".into(), cpus: 1, clock: Clock::Real, ..Machine::default() };
    let mut trial = Trial {
        backend: Backend::Vm,
        workload: workload.into(),
        machine: machine.into(),
        seed: Seed(u64::from(block)),
        block,
        boot: block,
        position: block,
        ..Trial::default()
    };
    trial.contestant.name = contestant.into();
    Record::without_measurement(trial, Outcome::Ok, Provenance::default())
}

/// The same with a number.
#[allow(dead_code)]
pub fn with(mut record: Record, name: &str, value: f64) -> Record {
    record.measured.metrics.push(Metric::number(name, "all", value));
    record
}

/// Records of one contestant, a boot for each value of `completion_ns`.
#[allow(dead_code)]
pub fn trials(contestant: &str, values: &[f64]) -> Vec<Record> {
    let trial = |(&value, block)| with(record(contestant, block), "completion_ns", value);
    values.iter().zip(0..).map(trial).collect()
}

#[allow(dead_code)]
pub fn under(clock: Clock, mut records: Vec<Record>) -> Vec<Record> {
    records.iter_mut().for_each(|record| record.trial.machine.clock = clock);
    records
}

#[allow(dead_code)]
pub fn histogram(name: &str, group: &str, samples: impl Iterator<Item = u64>) -> Histogram {
    let mut whole = Histogram { name: name.into(), group: group.into(), ..Histogram::default() };
    for sample in samples {
        let buckets = vec![(lowest_equivalent(sample), 1)].into();
        whole.merge(&Histogram {
            count: 1,
            min: sample,
            max: sample,
            buckets,
            ..Histogram::default()
        });
    }
    whole
}
