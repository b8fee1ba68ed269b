// SPDX-License-Identifier: GPL-2.0-only
//! The times of a witness: per iteration, on the CPU and altogether, and the medians of its waits.

use std::collections::BTreeMap;

use model::{Record, TaskGroup};

/// Medians of fewer samples are left out, because single samples scatter too much.
const SAMPLES_MIN: u64 = 20;

/// The distributions whose medians costs explain.
const WAITS: [&str; 3] = ["wakeup_latency_ns", "timer_lateness_ns", "turnaround_ns"];

/// Every time, ns, by a name that is the same for the same trial on every backend.
pub fn of(records: &[Record]) -> BTreeMap<String, f64> {
    records.iter().flat_map(of_record).collect()
}

fn of_record(record: &Record) -> Vec<(String, f64)> {
    let trial = &record.trial;
    let label = format!("{} {}", trial.workload.name, trial.contestant.name);
    trial.workload.tasks.iter().flat_map(|group| of_group(record, &label, group)).collect()
}

fn of_group(record: &Record, label: &str, group: &TaskGroup) -> Vec<(String, f64)> {
    let (measured, name) = (&record.measured, group.name.as_str());
    let mut times = Vec::new();
    let rate = measured.value("iterations_per_second", name).unwrap_or(0.0);
    if rate > 0.0 && !group.template {
        let iteration_ns = 1e9 / rate;
        times.push((format!("{label} {name} iteration"), iteration_ns));
        let share = measured.value("cpu_share", name).filter(|&share| share > 0.0);
        times.extend(share.map(|share| (format!("{label} {name} cpu"), share * iteration_ns)));
    }
    for wait in WAITS {
        let median = measured
            .histogram(wait, name)
            .filter(|histogram| histogram.count >= SAMPLES_MIN)
            .and_then(|histogram| histogram.quantile(0.5));
        let median = median.filter(|&ns| ns > 0);
        times.extend(median.map(|ns| (format!("{label} {name} {wait}"), ns as f64)));
    }
    times
}
