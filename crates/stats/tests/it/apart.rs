// SPDX-License-Identifier: GPL-2.0-only
//! Pairs of contestants, and what tells them apart.

use crate::common::{record, trials};
use model::{Metric, Record};
use stats::decide::separation::separations;
use stats::{Options, compare};

/// Six trials of a contestant with a number for each headline measure.
fn measured(contestant: &str, completion_ns: f64, wakeup_ns: f64) -> Vec<Record> {
    let trial = |block| {
        let mut record = record(contestant, block);
        let spread = f64::from(block);
        let numbers = [("completion_ns", completion_ns), ("wakeup_latency_ns", wakeup_ns)];
        record.trial.workload.headline =
            vec!["completion_ns all".into(), "wakeup_latency_ns all".into()];
        record.measured.metrics =
            numbers.map(|(name, value)| Metric::number(name, "all", value + spread)).to_vec();
        record
    };
    (0..6).map(trial).collect()
}

fn pairs(records: &[Record]) -> Vec<String> {
    let comparison = compare(records, &Options { resamples: 10, ..Options::against("a") });
    let word = |pair: stats::decide::separation::Separation| match pair.evidence {
        Some(found) => format!("{} {} {}", pair.one, pair.other, found.measure),
        None => format!("{} {} alike in {}", pair.one, pair.other, pair.looked_at),
    };
    separations(records, &comparison).into_iter().map(word).collect()
}

#[test]
fn each_pair_is_told_apart_by_the_measure_that_differs_most() {
    let records =
        [measured("a", 1000.0, 500.0), measured("b", 2000.0, 500.0), measured("c", 2000.0, 5000.0)];
    assert_eq!(
        pairs(&records.concat()),
        ["a b completion_ns all", "a c wakeup_latency_ns all", "b c wakeup_latency_ns all"]
    );
}

#[test]
fn trials_that_overlap_and_trials_of_one_boot_are_alike() {
    let records = [measured("a", 1000.0, 500.0), measured("b", 1003.0, 500.0)].concat();
    assert_eq!(pairs(&records), ["a b alike in 2"]);
    let mut one_boot = [measured("a", 1000.0, 500.0), measured("b", 2000.0, 500.0)].concat();
    one_boot.iter_mut().for_each(|record| record.trial.boot = 0);
    assert_eq!(pairs(&one_boot), ["a b alike in 2"]);
}

#[test]
fn what_only_one_has_tells_nothing() {
    let records = [trials("a", &[1.0; 6]), measured("b", 1000.0, 500.0)].concat();
    assert_eq!(pairs(&records), ["a b completion_ns all"]);
}
