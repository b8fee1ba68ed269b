// SPDX-License-Identifier: GPL-2.0-only
//! The promised error rates, by simulation.

use crate::common::trials;
use crate::experiments::{DESIGNS, Rates, equivalents, normal, simulate};
use model::Seed;
use stats::sample_size::smallest_percent;
use stats::{Options, Verdict, compare};

/// What a plan says before it runs is what the verdicts then do.
#[test]
fn the_smallest_difference_that_a_plan_promises_is_found_in_four_of_five_experiments() {
    for (deviation, boots) in [(0.01, 10), (0.03, 6), (0.03, 20), (0.2, 10)] {
        let percent = smallest_percent(deviation, boots, 1).unwrap();
        let found = times_found(deviation, boots, 1.0 + percent / 100.0);
        println!("{boots} boots, {deviation}: {percent:.2} % found in {found} of 500");
        assert!((365..=435).contains(&found), "{boots} boots, {deviation}: {found}");
    }
}

/// In how many of 500 experiments a slower contestant is said to be worse.
fn times_found(deviation: f64, boots: usize, factor: f64) -> usize {
    let mut seed = Seed(40);
    let mut found = |number: u64| {
        let mut values = |factor: f64| -> Vec<f64> {
            (0..boots).map(|_| factor * (normal(&mut seed) * deviation).exp()).collect()
        };
        let records = [trials("base", &values(1.0)), trials("ours", &values(factor))].concat();
        let options = Options { resamples: 500, seed: Seed(number), ..Options::against("base") };
        let verdict = compare(&records, &options).cells[0].rows[0].entries[1].verdict;
        verdict == Verdict::Worse
    };
    (0..500).filter(|&number| found(number)).count()
}

/// The short form of `make validate-statistics`, with its designs and its chain.
#[test]
fn families_keep_their_promises() {
    let mut all = Rates::default();
    for design in &DESIGNS {
        let rates = simulate(design, 50, 500);
        let excluding = Rates::share(rates.by_intervals, rates.experiments);
        println!("{}: {} false, {excluding:.2} by intervals", design.name, rates.false_claims);
        all.add(&rates);
    }
    let (apart, alike) = equivalents(200, 500);
    assert!(all.are_as_promised(apart) && alike > 0.5, "{all:?} {apart} {alike}");
}
