// SPDX-License-Identifier: GPL-2.0-only
//! Synthetic experiments with a known truth, through the chain that a report uses:
//! records, intervals, p values, correction, verdicts.

use model::{Record, Seed};
use stats::sample_size::{BLOCKS_MAX, Next, next};
use stats::{Comparison, Entry, Options, Verdict, compare};

use crate::common::{record, with};

/// The promise: the largest part of families with any false claim.
const FALSE_CLAIMS: f64 = 0.05;
/// … the smallest part of 95 % intervals that contain the true shift,
const COVERAGE: f64 = 0.93;
/// … and the largest part of pairs called equivalent that differ by the whole margin.
const FALSE_EQUIVALENTS: f64 = 0.05;

/// How numbers of trials scatter.
#[derive(Clone, Copy)]
pub enum Tail {
    /// Log-normal, with this standard deviation of the logarithm, on top of ten.
    LogNormal(f64),
    /// The same with 0.6, and every twentieth trial takes ten times as long.
    Outliers,
}

pub struct Design {
    pub name: &'static str,
    pub blocks: u32,
    pub trials_per_boot: u32,
    pub tail: Tail,
    /// How much each boot of each contestant is off, relatively.
    pub boot_spread: f64,
    /// How much a block is off for all contestants alike, relatively.
    pub block_spread: f64,
    /// Blocks are added until every interval is within ± this many percent.
    pub until_percent: Option<f64>,
}

/// Every contestant's true shift against the baseline: two alike, two not.
const SHIFTS: [(&str, f64); 5] =
    [("base", 0.0), ("alike", 0.0), ("same", 0.0), ("slower", 4.0), ("faster", -2.0)];

/// The settings of the workload: with them a family has eight comparisons.
const SETTINGS: [i64; 2] = [3, 24];

pub const DESIGNS: [Design; 8] = [
    plain("6 boots", 6, 1, Tail::LogNormal(0.6)),
    Design { boot_spread: 0.2, ..plain("6 boots that differ", 6, 1, Tail::LogNormal(0.6)) },
    Design { boot_spread: 0.3, ..plain("6 boots of 3 trials", 6, 3, Tail::LogNormal(0.6)) },
    Design { block_spread: 0.5, ..plain("8 blocks that differ", 8, 1, Tail::LogNormal(0.6)) },
    Design { block_spread: 0.5, ..plain("12 blocks that differ", 12, 1, Tail::LogNormal(0.6)) },
    Design { boot_spread: 0.1, ..plain("10 boots, outliers", 10, 1, Tail::Outliers) },
    Design { boot_spread: 0.3, ..plain("10 boots of 3 trials", 10, 3, Tail::LogNormal(1.0)) },
    Design { until_percent: Some(8.0), ..plain("until ±8 %", 6, 1, Tail::LogNormal(0.6)) },
];

const fn plain(name: &'static str, blocks: u32, trials_per_boot: u32, tail: Tail) -> Design {
    Design {
        name,
        blocks,
        trials_per_boot,
        tail,
        boot_spread: 0.0,
        block_spread: 0.0,
        until_percent: None,
    }
}

/// What came of a design's experiments.
#[derive(Debug, Default)]
pub struct Rates {
    pub experiments: u32,
    /// Experiments without a difference (A/A), and how many of them have a false claim.
    pub all_alike: u32,
    pub false_alike: u32,
    /// Families with a false claim: a shift where there is none, or one to the wrong side.
    pub false_claims: u32,
    /// What they would be if every interval that excludes zero were a claim.
    pub by_intervals: u32,
    pub comparisons: u32,
    /// Intervals that hold the true shift.
    pub held: u32,
    /// Contestants with a shift, and how many of them were found.
    pub shifted: u32,
    pub found: u32,
}

impl Rates {
    pub fn share(part: u32, of: u32) -> f64 {
        f64::from(part) / f64::from(of.max(1))
    }

    pub fn add(&mut self, more: &Rates) {
        self.experiments += more.experiments;
        self.all_alike += more.all_alike;
        self.false_alike += more.false_alike;
        self.false_claims += more.false_claims;
        self.by_intervals += more.by_intervals;
        self.comparisons += more.comparisons;
        self.held += more.held;
        self.shifted += more.shifted;
        self.found += more.found;
    }

    /// Whether the promises are kept; `apart` is the first of [`equivalents`].
    pub fn are_as_promised(&self, apart: f64) -> bool {
        Rates::share(self.false_claims, self.experiments) <= FALSE_CLAIMS
            && Rates::share(self.false_alike, self.all_alike) <= FALSE_CLAIMS
            && Rates::share(self.held, self.comparisons) >= COVERAGE
            && apart <= FALSE_EQUIVALENTS
    }
}

fn uniform(seed: &mut Seed) -> f64 {
    seed.below(1 << 53) as f64 / (1u64 << 53) as f64
}

/// Nearly normal: the sum of twelve uniform numbers.
pub fn normal(seed: &mut Seed) -> f64 {
    (0..12).map(|_| uniform(seed)).sum::<f64>() - 6.0
}

fn draw(tail: Tail, seed: &mut Seed) -> f64 {
    match tail {
        Tail::LogNormal(spread) => 10.0 + (normal(seed) * spread).exp(),
        Tail::Outliers => {
            let value = 10.0 + (normal(seed) * 0.6).exp();
            if seed.below(20) == 0 { value * 10.0 } else { value }
        }
    }
}

/// One experiment's records. `any_shift`: whether contestants have the shifts of [`SHIFTS`], or
/// none has.
fn records(design: &Design, any_shift: bool, seed: &mut Seed) -> Vec<Record> {
    let mut records = Vec::new();
    let off = |spread: f64, seed: &mut Seed| 1.0 + spread * (normal(seed) * 0.6).exp();
    let blocks = if design.until_percent.is_some() { BLOCKS_MAX as u32 } else { design.blocks };
    for setting in SETTINGS {
        for block in 0..blocks {
            let shared = off(design.block_spread, seed);
            for (contestant, shift) in SHIFTS {
                let boot = shared * off(design.boot_spread, seed);
                let shift = if any_shift { shift } else { 0.0 };
                for _ in 0..design.trials_per_boot {
                    let value = boot * draw(design.tail, seed) + shift;
                    let mut one = with(record(contestant, block), "completion_ns", value);
                    one.trial.workload.parameters.insert("hogs".into(), setting);
                    records.push(one);
                }
            }
        }
    }
    records
}

/// The comparison of a design's blocks, added as a user's declaration has it.
fn whole(design: &Design, records: &[Record], options: &Options) -> Comparison {
    let mut blocks = design.blocks;
    loop {
        let first = records.iter().filter(|record| record.trial.block < blocks);
        let comparison = compare(&first.cloned().collect::<Vec<_>>(), options);
        match design.until_percent.map(|percent| next(&comparison, blocks, percent)) {
            Some(Next::Blocks { blocks: more, .. }) => blocks = more,
            _ => return comparison,
        }
    }
}

/// The comparisons of a family with their true shifts.
fn judged(comparison: &Comparison, any_shift: bool) -> Vec<(&Entry, f64)> {
    let truth = |entry: &Entry| {
        let shift = SHIFTS.iter().find(|(name, _)| *name == entry.contestant);
        shift.map_or(0.0, |(_, shift)| if any_shift { *shift } else { 0.0 })
    };
    let entries = comparison.cells.iter().flat_map(|cell| &cell.rows[0].entries);
    let others = entries.filter(|entry| entry.verdict != Verdict::Baseline);
    others.map(|entry| (entry, truth(entry))).collect()
}

/// Runs a design: every other experiment has no shift at all.
pub fn simulate(design: &Design, experiments: u32, resamples: u32) -> Rates {
    let mut rates = Rates { experiments, ..Rates::default() };
    let mut seed = Seed(20).derive(design.name);
    for number in 0..experiments {
        let any_shift = number % 2 == 1;
        let records = records(design, any_shift, &mut seed);
        let seed = Seed(u64::from(number));
        let options = Options { resamples, seed, ..Options::against("base") };
        let comparison = whole(design, &records, &options);
        let judged = judged(&comparison, any_shift);
        let wrong = |low: f64, high: f64, truth: f64| {
            (low > 0.0 && truth <= 0.0) || (high < 0.0 && truth >= 0.0)
        };
        let false_claim = |(entry, truth): &(&Entry, f64)| match entry.verdict {
            Verdict::Worse => *truth <= 0.0,
            Verdict::Better => *truth >= 0.0,
            _ => false,
        };
        let excludes = |(entry, truth): &(&Entry, f64)| {
            let interval = entry.shift.and_then(|shift| shift.interval);
            interval.is_some_and(|interval| wrong(interval.low, interval.high, *truth))
        };
        let claims = u32::from(judged.iter().any(false_claim));
        rates.false_claims += claims;
        rates.all_alike += u32::from(!any_shift);
        rates.false_alike += if any_shift { 0 } else { claims };
        rates.by_intervals += u32::from(judged.iter().any(excludes));
        for (entry, truth) in &judged {
            let interval = entry.shift.and_then(|shift| shift.interval).expect("an interval");
            rates.comparisons += 1;
            rates.held += u32::from(interval.low <= *truth && *truth <= interval.high);
            rates.shifted += u32::from(*truth != 0.0);
            rates.found += u32::from(*truth != 0.0 && entry.verdict.is_claim());
        }
    }
    rates
}

/// How often contestants that are apart by the whole margin of equivalence (1 %) are said to be
/// equivalent; and how often those that are alike are.
pub fn equivalents(experiments: u32, resamples: u32) -> (f64, f64) {
    let mut seed = Seed(30);
    let mut said = |shift: f64| {
        let equivalent = |number: u32| {
            let mut records = Vec::new();
            for (contestant, shift) in [("base", 0.0), ("ours", shift)] {
                for block in 0..8 {
                    let value = 100.0 + shift + 0.4 * normal(&mut seed);
                    records.push(with(record(contestant, block), "completion_ns", value));
                }
            }
            let seed = Seed(u64::from(number));
            let options = Options { resamples, seed, ..Options::against("base") };
            let verdict = compare(&records, &options).cells[0].rows[0].entries[1].verdict;
            verdict == Verdict::Equivalent
        };
        let count = (0..experiments).map(equivalent).filter(|said| *said).count();
        count as f64 / f64::from(experiments)
    };
    (said(1.0), said(0.0))
}
