// SPDX-License-Identifier: GPL-2.0-only
//! `make validate-statistics`: whether the chain from records to verdicts keeps its promises, on
//! synthetic experiments with a known truth. It fails if it does not.

mod common;
mod experiments;

use std::process::ExitCode;

use experiments::{
    COVERAGE, DESIGNS, FALSE_CLAIMS, FALSE_EQUIVALENTS, Rates, equivalents, simulate,
};
use stats::Options;

const EXPERIMENTS: u32 = 400;

fn main() -> ExitCode {
    let resamples = Options::against("").resamples;
    println!("| design | experiments | false, A/A | false, all | by intervals | hold | found |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let mut all = Rates::default();
    for design in &DESIGNS {
        let rates = simulate(design, EXPERIMENTS, resamples);
        print(design.name, &rates);
        add(&mut all, &rates);
    }
    print("all", &all);
    let (apart, alike) = equivalents(1_000, resamples);
    println!();
    println!(
        "Said to be equivalent: {:.1} % of 1,000 pairs that are 1 % apart, {:.1} % of 1,000 that \
         are alike.",
        100.0 * apart,
        100.0 * alike
    );
    let kept = Rates::share(all.false_claims, all.experiments) <= FALSE_CLAIMS
        && Rates::share(all.false_alike, all.all_alike) <= FALSE_CLAIMS
        && Rates::share(all.held, all.comparisons) >= COVERAGE
        && apart <= FALSE_EQUIVALENTS;
    println!("The promises are {}.", if kept { "kept" } else { "broken" });
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print(name: &str, rates: &Rates) {
    let percent = |part: u32, of: u32| 100.0 * Rates::share(part, of);
    println!(
        "| {name} | {} | {:.1} % | {:.1} % | {:.1} % | {:.1} % | {:.0} % |",
        rates.experiments,
        percent(rates.false_alike, rates.all_alike),
        percent(rates.false_claims, rates.experiments),
        percent(rates.by_intervals, rates.experiments),
        percent(rates.held, rates.comparisons),
        percent(rates.found, rates.shifted),
    );
}

fn add(all: &mut Rates, rates: &Rates) {
    all.experiments += rates.experiments;
    all.all_alike += rates.all_alike;
    all.false_alike += rates.false_alike;
    all.false_claims += rates.false_claims;
    all.by_intervals += rates.by_intervals;
    all.comparisons += rates.comparisons;
    all.held += rates.held;
    all.shifted += rates.shifted;
    all.found += rates.found;
}
