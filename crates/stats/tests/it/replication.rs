// SPDX-License-Identifier: GPL-2.0-only
//! Findings from records: known answers, zeros and holes, error rates, symmetry.

use crate::common::{histogram, record, trials};
use model::claim::{By, Expectation, Is};
use model::{Backend, Clock, Metric, Outcome, Record, Seed};
use proptest::prelude::*;
use stats::decide::replication::{Reproduction, judge};

/// Whether `o1` takes more of it than `cfs`.
fn expectation() -> Expectation {
    Expectation {
        cell: Some("messaging".into()),
        machine: Some("one".into()),
        over: Some("cfs".into()),
        measure: "completion_ns all".into(),
        of: "o1".into(),
        ..Expectation::default()
    }
}

fn hung(contestant: &str, trials: u32) -> Vec<Record> {
    let outcome = || Outcome::Hung { reason: "the guest said nothing".into() };
    (0..trials).map(|at| Record { outcome: outcome(), ..record(contestant, 50 + at) }).collect()
}

fn both(o1: &[f64], cfs: &[f64]) -> Vec<Record> {
    [trials("o1", o1), trials("cfs", cfs)].concat()
}

fn verdict_of(expectation: &Expectation, o1: &[f64], cfs: &[f64]) -> Reproduction {
    judge(expectation, Backend::Vm, &both(o1, cfs)).verdict
}

const LOW: [f64; 6] = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0];
const HIGH: [f64; 6] = [200.0, 202.0, 204.0, 206.0, 208.0, 210.0];

#[test]
fn a_ratio_is_the_shift_of_logarithms() {
    let finding = judge(&expectation(), Backend::Vm, &both(&HIGH, &LOW));
    let estimate = finding.estimate.unwrap();
    assert!((estimate.value - 2.0).abs() < 1e-9, "{estimate:?}");
    // The sixth smallest and largest of the 36 quotients.
    let mut quotients: Vec<f64> =
        HIGH.iter().flat_map(|high| LOW.iter().map(move |low| high / low)).collect();
    quotients.sort_unstable_by(f64::total_cmp);
    assert!((estimate.interval.low - quotients[5]).abs() < 1e-9);
    assert!((estimate.interval.high - quotients[30]).abs() < 1e-9);
    assert_eq!((finding.of.units.len(), finding.of.median), (6, Some(205.0)));
    assert_eq!((finding.verdict, finding.against.len()), (Reproduction::Reproduced, 0));
}

#[test]
fn the_rules() {
    let more = |size: Option<[f64; 2]>| Expectation {
        size: size.map(|ends| ends.to_vec()),
        ..expectation()
    };
    let is = |is, size: [f64; 2]| Expectation { is, ..more(Some(size)) };
    assert_eq!(verdict_of(&more(Some([1.5, 2.5])), &HIGH, &LOW), Reproduction::Reproduced);
    assert_eq!(verdict_of(&more(Some([1.05, 1.5])), &HIGH, &LOW), Reproduction::DirectionOnly);
    assert_eq!(verdict_of(&more(None), &LOW, &HIGH), Reproduction::Contradicted);
    assert_eq!(verdict_of(&more(None), &LOW, &LOW), Reproduction::NotReproduced);
    assert_eq!(verdict_of(&is(Is::Less, [0.4, 0.6]), &LOW, &HIGH), Reproduction::Reproduced);
    assert_eq!(verdict_of(&is(Is::Equal, [0.9, 1.1]), &LOW, &LOW), Reproduction::Reproduced);
    assert_eq!(verdict_of(&is(Is::Equal, [0.9, 1.1]), &HIGH, &LOW), Reproduction::Contradicted);
    assert_eq!(verdict_of(&is(Is::Equal, [0.99, 1.01]), &LOW, &LOW), Reproduction::NotReproduced);
    let tenfold = Expectation { than: Some(10.0), ..expectation() };
    assert_eq!(verdict_of(&tenfold, &HIGH, &LOW), Reproduction::Contradicted);
}

#[test]
fn a_difference_has_the_measures_unit_and_a_value_stands_alone() {
    let difference = Expectation { by: By::Difference, ..expectation() };
    let finding = judge(&difference, Backend::Vm, &both(&HIGH, &LOW));
    assert!((finding.estimate.unwrap().value - 102.5).abs() < 1e-9);
    let value = Expectation { by: By::Value, over: None, than: Some(150.0), ..expectation() };
    let finding = judge(&value, Backend::Vm, &both(&HIGH, &[]));
    let estimate = finding.estimate.unwrap();
    assert_eq!((estimate.value, finding.over), (205.0, None));
    assert_eq!((estimate.interval.low, estimate.interval.high), (200.0, 210.0));
    assert_eq!(finding.verdict, Reproduction::Reproduced);
    let few = judge(&value, Backend::Vm, &both(&HIGH[..5], &[]));
    assert_eq!(few.why.unwrap(), "5 independent trials are too few for an interval; it needs 6");
}

#[test]
fn zeros_have_no_ratio() {
    let finding = judge(&expectation(), Backend::Vm, &both(&HIGH, &[0.0, 0.0, 1.0, 2.0, 3.0, 4.0]));
    assert_eq!(finding.verdict, Reproduction::NoData);
    assert!(finding.why.unwrap().starts_with("cfs has 0 in 2 of 6 independent trials"));
    let difference = Expectation { by: By::Difference, ..expectation() };
    assert_eq!(verdict_of(&difference, &HIGH, &[0.0; 6]), Reproduction::Reproduced);
    // Nobody ever missed one: equal, and no more than that.
    let equal = Expectation { is: Is::Equal, size: Some(vec![0.9, 1.1]), ..expectation() };
    assert_eq!(verdict_of(&equal, &[0.0; 6], &[0.0; 6]), Reproduction::Reproduced);
    assert_eq!(verdict_of(&expectation(), &[0.0; 6], &[0.0; 6]), Reproduction::NotReproduced);
}

#[test]
fn what_is_missing_is_counted_and_said() {
    let mut records = [both(&HIGH, &LOW), hung("o1", 2)].concat();
    let mut hole = record("cfs", 9);
    hole.measured.metrics.push(Metric::missing("completion_ns", "all", "it never ended"));
    records.push(hole);
    let finding = judge(&expectation(), Backend::Vm, &records);
    assert_eq!(finding.verdict, Reproduction::Reproduced);
    assert_eq!(
        finding.against,
        [
            "2 of 8 trials of o1 did not end well (hung: the guest said nothing)",
            "1 of 7 trials of cfs have no number (it never ended)",
        ]
    );
    let finding =
        judge(&expectation(), Backend::Vm, &[trials("cfs", &LOW), hung("o1", 6)].concat());
    assert_eq!(finding.verdict, Reproduction::NoData);
    assert_eq!(finding.why.unwrap(), "o1 has no number: hung: the guest said nothing");
    let finding = judge(&expectation(), Backend::Vm, &trials("cfs", &LOW));
    assert_eq!(finding.why.unwrap(), "there is no trial of o1");
    let finding = judge(&expectation(), Backend::Vm, &both(&HIGH[..3], &LOW[..3]));
    assert_eq!(
        finding.why.unwrap(),
        "3 and 3 independent trials are too few for an interval; it needs 4 and 4"
    );
}

#[test]
fn what_a_machine_cannot_run_is_not_tested_there() {
    let mut records = [trials("cfs", &LOW), hung("o1", 6)].concat();
    for record in records.iter_mut().filter(|record| !record.outcome.is_ok()) {
        record.outcome = Outcome::Unsupported { reason: "it needs root".into() };
    }
    let finding = judge(&expectation(), Backend::Vm, &records);
    assert_eq!(finding.verdict, Reproduction::Untested);
    assert_eq!(finding.why.unwrap(), "o1 has no number: unsupported: it needs root");
}

#[test]
fn quantiles_need_samples_and_a_side_can_be_another_cell() {
    let mut records = Vec::new();
    for (cell, scale) in [("few", 10_u64), ("many", 30)] {
        for block in 0..6 {
            let mut record = record("o1", block);
            record.trial.workload.name = cell.into();
            let waits = (1..=400).map(|wait| wait * scale + u64::from(block));
            record.measured.histograms.push(histogram("wakeup_latency_ns", "recorder", waits));
            records.push(record);
        }
    }
    let growth = Expectation {
        measure: "wakeup_latency_ns.p99 recorder".into(),
        cell: Some("many".into()),
        over: None,
        over_cell: Some("few".into()),
        ..expectation()
    };
    let estimate = judge(&growth, Backend::Vm, &records).estimate.unwrap();
    assert!((estimate.value - 3.0).abs() < 0.02, "{estimate:?}");
    let tail = Expectation { measure: "wakeup_latency_ns.p999 recorder".into(), ..growth };
    let finding = judge(&tail, Backend::Vm, &records);
    assert_eq!(finding.verdict, Reproduction::NoData);
    assert!(finding.why.unwrap().contains("too few samples in the trial for p99.9"));
}

/// Under a virtual clock the same seed is the same trial, however often it is asked.
#[test]
fn seeds_are_the_trials_of_a_virtual_clock_and_boots_of_a_real_one() {
    let mut records = both(&HIGH, &LOW);
    let mut again = records.clone();
    again.iter_mut().for_each(|record| record.trial.position += 100);
    records.extend(again);
    let units = |records: &[Record]| judge(&expectation(), Backend::Vm, records).of.units.len();
    assert_eq!(units(&records), 6, "two trials in each boot");
    for record in &mut records {
        record.trial.machine.clock = Clock::Virtual;
        record.trial.boot = 0;
    }
    assert_eq!(units(&records), 6, "two trials of each seed");
}

#[test]
fn alike_sides_are_seldom_called_different() {
    let (mut seed, mut claims) = (Seed(7), [0, 0]);
    let experiments = 2_000;
    for _ in 0..experiments {
        let mut sample =
            || -> Vec<f64> { (0..6).map(|_| (1 + seed.below(1 << 30)) as f64).collect() };
        let records = both(&sample(), &sample());
        for (is, claims) in [Is::More, Is::Less].into_iter().zip(&mut claims) {
            let verdict =
                judge(&Expectation { is, ..expectation() }, Backend::Vm, &records).verdict;
            *claims += u32::from(verdict == Reproduction::Reproduced);
        }
    }
    let most = f64::from(experiments) * 0.025;
    assert!(claims.iter().all(|&count| f64::from(count) <= most), "{claims:?} of {experiments}");
}

fn sample() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(1.0..1e6f64, 4..9)
}

proptest! {
    #[test]
    fn swapping_the_sides_mirrors_more_and_less(a in sample(), b in sample()) {
        let records = both(&a, &b);
        for by in [By::Ratio, By::Difference] {
            let more = Expectation { by, ..expectation() };
            let (of, over) = ("cfs".into(), Some("o1".into()));
            let less = Expectation { of, over, is: Is::Less, ..more.clone() };
            let (one, other) =
                (judge(&more, Backend::Vm, &records), judge(&less, Backend::Vm, &records));
            prop_assert_eq!(one.verdict, other.verdict);
            let same = Expectation { is: Is::Less, ..more };
            let opposite = judge(&same, Backend::Vm, &records).verdict;
            let sum = u32::from(opposite == Reproduction::Contradicted);
            prop_assert_eq!(sum, u32::from(one.verdict == Reproduction::Reproduced));
        }
    }

    #[test]
    fn the_estimate_lies_in_its_interval(a in sample(), b in sample()) {
        let finding = judge(&expectation(), Backend::Vm, &both(&a, &b));
        let estimate = finding.estimate.unwrap();
        let ends = estimate.interval;
        prop_assert!(ends.low <= estimate.value * (1.0 + 1e-12));
        prop_assert!(estimate.value <= ends.high * (1.0 + 1e-12));
    }
}
