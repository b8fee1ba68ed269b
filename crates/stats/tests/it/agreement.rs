// SPDX-License-Identifier: GPL-2.0-only
//! Two backends side by side.

use std::collections::BTreeMap;

use crate::common::{record, trials, with};
use model::{Backend, Record};
use stats::{Agreement, Aspect, Options, Within, agreement, compare, counterparts};

const SIX: [f64; 6] = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0];

/// The same trials as the simulator's.
fn simulated(mut records: Vec<Record>) -> Vec<Record> {
    records.iter_mut().for_each(|record| record.trial.backend = Backend::Sim);
    records
}

fn agreed(vm: Vec<Record>, sim: Vec<Record>) -> Agreement {
    let records = [vm, simulated(sim)].concat();
    let options = Options { resamples: 500, ..Options::against("base") };
    let comparison = compare(&records, &options);
    agreement(&records, &comparison, Backend::Vm, Backend::Sim)
}

fn one(name: &str, value: f64) -> Vec<Record> {
    vec![with(record("base", 0), name, value)]
}

fn judged(name: &str, vm: f64, sim: f64) -> Within {
    let agreement = agreed(one(name, vm), one(name, sim));
    let figure = agreement.figures.iter().find(|figure| figure.measure.name == name).unwrap();
    assert_eq!((figure.reference, figure.model), (vm, sim));
    figure.within
}

#[test]
fn each_aspect_has_its_tolerance() {
    use Within::*;
    // 10 %, or a tick of 4 ms.
    let times = [1.09e8, 1.11e8, 1.039e7, 1.05e7].map(|ns| judged("completion_ns", 1e8, ns));
    assert_eq!(times, [Strictly, Outside, Outside, Outside]);
    assert_eq!(judged("completion_ns", 1e4, 3.9e6), ByAllowance);
    // 5 %, or one switch.
    let switches = [(100.0, 105.0), (100.0, 106.0), (3.0, 4.0), (0.0, 2.0)];
    let judge = |(vm, sim)| judged("voluntary_switches", vm, sim);
    assert_eq!(switches.map(judge), [Strictly, Outside, ByAllowance, Outside]);
    // 1 % of the share, or a percentage point.
    let shares = [(0.5, 0.504), (0.5, 0.509), (0.5, 0.52)];
    let judge = |(vm, sim)| judged("cpu_share", vm, sim);
    assert_eq!(shares.map(judge), [Strictly, ByAllowance, Outside]);
    assert_eq!(judged("iterations_per_second", 100.0, 94.0), Outside);
}

#[test]
fn the_sum_of_switches_is_made_trial_by_trial() {
    let both = |voluntary: f64, involuntary: f64, block| {
        let one = with(record("base", block), "voluntary_switches", voluntary);
        with(one, "involuntary_switches", involuntary)
    };
    let vm = vec![both(1.0, 9.0, 0), both(2.0, 2.0, 1), both(9.0, 1.0, 2)];
    let agreement = agreed(vm.clone(), vm);
    let sum = agreement.figures.iter().find(|figure| figure.measure.name == "switches").unwrap();
    assert_eq!((sum.reference, sum.aspect, sum.trials), (10.0, Aspect::Switches, [3, 3]));
    assert_eq!(sum.relative_error(), Some(0.0));
}

#[test]
fn only_what_both_have_is_compared_and_counted() {
    let vm = [one("completion_ns", 1e8), one("cpu_share", 0.5)].concat();
    let sim = [one("completion_ns", 2e8), one("migrations", 7.0)].concat();
    let agreement = agreed(vm, sim);
    assert_eq!(agreement.figures.len(), 1);
    let tally = agreement.tally(|_| true);
    assert_eq!((tally.figures, tally.within, tally.share()), (1, 0, Some(0.0)));
    assert_eq!(agreement.tally(|figure| figure.aspect == Aspect::Rate).share(), None);
}

#[test]
fn claims_are_compared_by_their_sign() {
    let two = |factor: f64| {
        let ours = trials("ours", &SIX.map(|value| value * factor));
        [trials("base", &SIX), ours].concat()
    };
    assert_eq!(agreed(two(0.5), two(0.8)).signs_agreeing(), (1, 1));
    assert_eq!(agreed(two(0.5), two(2.0)).signs_agreeing(), (0, 1));
    // A backend without a claim does not disagree.
    assert_eq!(agreed(two(0.5), two(1.0)).signs_agreeing(), (0, 0));
}

#[test]
fn a_copy_stands_beside_its_original_and_nobody_else() {
    let times = |factor: f64| SIX.map(|value| value * factor);
    let records = [
        trials("cfs-6.1", &times(1e6)),
        trials("cfs", &times(1.2e6)),
        trials("vtime", &times(2e6)),
    ]
    .concat();
    let pairs = BTreeMap::from([("cfs".to_owned(), "cfs-6.1".to_owned())]);
    let figures = counterparts(&records, Backend::Vm, &pairs).figures;
    let [figure] = &figures[..] else { panic!("one figure: {figures:?}") };
    assert_eq!((figure.contestant.as_str(), figure.within), ("cfs", Within::Outside));
    assert_eq!((figure.reference, figure.trials), (102.5e6, [6, 6]));
    assert!((figure.relative_error().unwrap() - 0.2).abs() < 1e-9);
    // The simulator was not asked.
    assert!(counterparts(&records, Backend::Sim, &pairs).figures.is_empty());
}
