// SPDX-License-Identifier: GPL-2.0-only
//! `make validate-statistics`: whether the chain from records to verdicts keeps its promises, on
//! synthetic experiments with a known truth. It fails if it does not.

mod common;
mod experiments;

use std::process::ExitCode;

use experiments::{DESIGNS, Rates, equivalents, simulate};
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
        all.add(&rates);
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
    let kept = all.are_as_promised(apart);
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
