// SPDX-License-Identifier: GPL-2.0-only
//! The promised error rates, by simulation: heavy tails, differences between boots, and no real
//! shift.

use crate::common::{record, trials, with};
use crate::experiments::{
    COVERAGE, DESIGNS, FALSE_CLAIMS, FALSE_EQUIVALENTS, Rates, equivalents, normal, simulate,
};
use model::{Record, Seed};
use stats::sample_size::power::smallest_percent;
use stats::{Options, Verdict, compare};

/// A design of `boots` with `trials` each, and how much boots differ relative to trials.
struct Design {
    boots: u32,
    trials: u32,
    boot_spread: f64,
}

/// A number with a log-normal right tail.
fn heavy(seed: &mut Seed) -> f64 {
    (normal(seed) * 0.6).exp()
}

fn experiment(design: &Design, factor: f64, seed: &mut Seed) -> Vec<Record> {
    let mut records = Vec::new();
    for (contestant, factor) in [("base", 1.0), ("ours", factor)] {
        for boot in 0..design.boots {
            let effect = 1.0 + design.boot_spread * heavy(seed);
            for _ in 0..design.trials {
                let value = factor * effect * (10.0 + heavy(seed));
                records.push(with(record(contestant, boot), "completion_ns", value));
            }
        }
    }
    records
}

/// How often an experiment without any difference claims one, and how often the interval holds the
/// truth.
fn rates(design: &Design, experiments: u32) -> (f64, f64) {
    let (mut claims, mut held, mut seed) = (0, 0, Seed(20));
    for number in 0..experiments {
        let records = experiment(design, 1.0, &mut seed);
        let options =
            Options { resamples: 1_000, seed: Seed(u64::from(number)), ..Options::against("base") };
        let entry = compare(&records, &options).cells[0].rows[0].entries[1].clone();
        claims += u32::from(entry.verdict.is_claim());
        let interval = entry.shift.unwrap().interval.unwrap();
        held += u32::from(interval.low <= 0.0 && 0.0 <= interval.high);
    }
    (f64::from(claims) / f64::from(experiments), f64::from(held) / f64::from(experiments))
}

#[test]
fn no_difference_is_claimed_in_at_most_one_of_twenty_experiments_without_one() {
    for (boots, trials, boot_spread) in
        [(6, 1, 0.0), (6, 1, 0.2), (10, 1, 0.1), (6, 3, 0.1), (10, 4, 0.3)]
    {
        let (claimed, held) = rates(&Design { boots, trials, boot_spread }, 1_000);
        println!(
            "{boots} boots × {trials} trials, boots {boot_spread}: claims {claimed:.3}, held {held:.3}"
        );
        assert!(claimed <= 0.055, "{boots} × {trials}: {claimed}");
        assert!(held >= 0.93, "{boots} × {trials}: {held}");
    }
}

#[test]
fn a_real_difference_is_found() {
    let (mut seed, mut found) = (Seed(5), 0);
    let design = Design { boots: 10, trials: 1, boot_spread: 0.02 };
    for _ in 0..100 {
        let records = experiment(&design, 0.7, &mut seed);
        let options = Options { resamples: 1_000, ..Options::against("base") };
        found +=
            u32::from(compare(&records, &options).cells[0].rows[0].entries[1].verdict.is_claim());
    }
    println!("found {found} of 100");
    assert!(found >= 90, "{found}");
}

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
    let (mut false_claims, mut experiments, mut held, mut comparisons) = (0, 0, 0, 0);
    let (mut false_alike, mut all_alike) = (0, 0);
    for design in &DESIGNS {
        let rates = simulate(design, 50, 500);
        let excluding = Rates::share(rates.by_intervals, rates.experiments);
        println!("{}: {} false, {excluding:.2} by intervals", design.name, rates.false_claims);
        false_claims += rates.false_claims;
        experiments += rates.experiments;
        false_alike += rates.false_alike;
        all_alike += rates.all_alike;
        held += rates.held;
        comparisons += rates.comparisons;
    }
    let (claimed, held) =
        (Rates::share(false_claims, experiments), Rates::share(held, comparisons));
    println!("{experiments} families: {claimed:.3} with a false claim, {held:.3} intervals hold");
    assert!(claimed <= FALSE_CLAIMS && held >= COVERAGE, "{claimed} {held}");
    assert!(Rates::share(false_alike, all_alike) <= FALSE_CLAIMS, "{false_alike} of {all_alike}");
    let (apart, alike) = equivalents(200, 500);
    assert!(apart <= FALSE_EQUIVALENTS && alike > 0.5, "{apart} {alike}");
}
