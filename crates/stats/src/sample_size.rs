// SPDX-License-Identifier: GPL-2.0-only
//! What a plan can show before it starts: the smallest p value, and the smallest difference.
//!
//! The p value has a floor: with `n` trials of either contestant, chance puts all of one below all
//! of the other in `2 / C(2n, n)` of cases, and Holm's correction multiplies it by the size of the
//! family. The smallest difference is the one that is claimed in 80 % of experiments (Cohen,
//! "Statistical Power Analysis for the Behavioral Sciences", 2nd edition 1988, section 1.4). It is
//! found by drawing experiments with normal noise, because the usual approximations are far off
//! with few trials and large families. A claim needs both a significant test
//! ([`crate::compare::evidence`]) and a narrower interval that excludes zero: the exact one of the
//! matched pairs, or that of Student's t with the units of one contestant, widened by the
//! Hodges-Lehmann shift's efficiency of 3/π. Differences between blocks are ignored: matched pairs
//! remove them, so that such a plan sees smaller differences than it promises.
//!
//! Declared precision: blocks are added until the intervals of the shifts are narrow enough.
//!
//! The rule looks only at the width of intervals, never at their position: stopping when a result
//! looks good would turn chance into a finding; stopping at a fixed width does not (Anscombe,
//! "Large-sample theory of sequential estimation", Proceedings of the Cambridge Philosophical
//! Society 48, 1952; with few trials it holds approximately, and `make validate-statistics` shows
//! how closely).

use std::f64::consts::{PI, TAU};

use model::Seed;

use crate::compare::comparison::Comparison;
use crate::compare::evidence::{ByPairs, Evidence, pairs_tell, smallest_of_pairs};
use crate::compare::verdict::{MARGIN_PERCENT, Verdict};
use crate::number::distributions::student_quantile;
use crate::number::interval::{Interval, TRIALS_NEEDED};
use crate::rank::hodges_lehmann::signed_within;
use crate::rank::rank_sum::{ALPHA, smallest, sums_within};
use crate::rank::selection::Averages;

/// The part of experiments that must find the smallest difference.
const POWER: f64 = 0.8;

const EXPERIMENTS: usize = 500;

/// The bootstrap's interval of a shift is wider than theory by this factor, for normal noise and 6
/// to 20 trials; `tests/it/error_rates.rs` checks the promise against the verdicts.
const WIDER: f64 = 1.08;

/// The largest number of blocks that is recommended.
pub const BLOCKS_MAX: usize = 100;

/// The smallest p value that this many independent trials of either contestant can reach, corrected
/// for a family of this many comparisons.
pub fn smallest_p(units: usize, comparisons: usize) -> f64 {
    let (by_ranks, pairs) = (smallest(units, units), units);
    let by_pairs = Some(ByPairs { p: smallest_of_pairs(pairs), pairs });
    (Evidence { by_ranks, by_pairs }.p(comparisons) * comparisons as f64).min(1.0)
}

/// The smallest shift that is claimed in 80 % of experiments, in standard deviations between
/// trials; `None` where no claim is possible. The comparison is judged as the most certain one of
/// its family, which is multiplied by the family's whole size.
fn smallest_shift(units: usize, comparisons: usize) -> Option<f64> {
    if units < TRIALS_NEEDED {
        return None;
    }
    let limits = Limits::new(units, comparisons.max(1))?;
    let mut seed = Seed(1);
    let mut shifts: Vec<f64> = (0..EXPERIMENTS).map(|_| limits.needed(units, &mut seed)).collect();
    shifts.sort_unstable_by(f64::total_cmp);
    shifts.get((POWER * EXPERIMENTS as f64) as usize).copied()
}

/// The largest values of the test statistics that still allow a claim.
struct Limits {
    /// Pairs of trials, one of each side, in the wrong order: Mann and Whitney's U.
    by_ranks: Option<usize>,
    /// Walsh averages above zero: the signed-rank test's statistic.
    by_pairs: Option<usize>,
}

impl Limits {
    /// `None` where no claim is possible.
    fn new(units: usize, comparisons: usize) -> Option<Limits> {
        let both = pairs_tell(units, comparisons);
        let tail = ALPHA / 2.0 / comparisons as f64 / if both { 2.0 } else { 1.0 };
        let by_ranks = sums_within(units, units, tail).checked_sub(1);
        let by_pairs = if both { signed_within(units, tail).checked_sub(1) } else { None };
        (by_ranks.is_some() || by_pairs.is_some()).then_some(Limits { by_ranks, by_pairs })
    }

    /// By how much one of two equal samples must be lowered until a test makes a claim and the
    /// interval lies below zero.
    fn needed(&self, units: usize, seed: &mut Seed) -> f64 {
        let mut sample = || -> Vec<f64> { (0..units).map(|_| normal(seed)).collect() };
        let (ours, base) = (sample(), sample());
        let mut apart: Vec<f64> =
            ours.iter().flat_map(|own| base.iter().map(move |base| own - base)).collect();
        apart.sort_unstable_by(f64::total_cmp);
        let differences: Vec<f64> = ours.iter().zip(&base).map(|(own, base)| own - base).collect();
        let averages = Averages::new(&differences);
        let from_above = |values: &[f64], limit: Option<usize>| {
            limit.and_then(|limit| values.iter().rev().nth(limit).copied()).unwrap_or(f64::INFINITY)
        };
        let by_ranks = from_above(&apart, self.by_ranks);
        let by_tests = by_ranks.min(from_above(averages.values(), self.by_pairs));
        by_tests.max(upper_end(&ours, &base, averages.interval(units)))
    }
}

/// The upper end of the narrower of two intervals: that of the pairs, and that of all trials.
fn upper_end(ours: &[f64], base: &[f64], of_pairs: Option<Interval>) -> f64 {
    let trials = ours.len() as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / trials;
    let squares = |values: &[f64]| {
        let mean = mean(values);
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let variance = (squares(ours) + squares(base)) / (2.0 * trials - 2.0);
    let error = (variance * 2.0 / trials * PI / 3.0).sqrt();
    let half = WIDER * student_quantile(ours.len() - 1) * error;
    match of_pairs.filter(|interval| interval.width() <= 2.0 * half) {
        Some(interval) => interval.high,
        None => mean(ours) - mean(base) + half,
    }
}

/// The same in percent, where logarithms scatter by `deviation` between trials.
pub fn smallest_percent(deviation: f64, units: usize, comparisons: usize) -> Option<f64> {
    let shift = smallest_shift(units, comparisons)?.max(0.0) * deviation;
    Some((shift.exp_m1() * 100.0).max(MARGIN_PERCENT))
}

/// How many trials of either contestant show a difference of this many percent; `None` if more than
/// [`BLOCKS_MAX`].
pub fn units_for(percent: f64, deviation: f64, comparisons: usize) -> Option<usize> {
    let enough = |&units: &usize| {
        smallest_percent(deviation, units, comparisons).is_some_and(|least| least <= percent)
    };
    let (mut low, mut high) = (1, BLOCKS_MAX);
    enough(&high).then_some(())?;
    while low < high {
        let middle = usize::midpoint(low, high);
        if enough(&middle) { high = middle } else { low = middle + 1 }
    }
    Some(high)
}

/// A draw from the standard normal distribution (Box and Muller, Annals of Mathematical Statistics
/// 29(2), 1958).
pub(crate) fn normal(seed: &mut Seed) -> f64 {
    let mut uniform = || ((seed.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    let (radius, angle) = (uniform(), uniform());
    (-2.0 * radius.ln()).sqrt() * (TAU * angle).cos()
}

/// A step enlarges a plan by at most half: widths shrink with the square root of the blocks, and
/// superfluous blocks are wasted.
const STEP: f64 = 1.5;

/// The decision from the widths of the intervals.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// All intervals are narrow enough; the widest is ± this many percent.
    Enough {
        /// Half of the widest interval, in percent.
        half_width: f64,
    },
    Blocks {
        /// Half of the widest interval, in percent.
        half_width: f64,
        of: String,
        /// The plan's new number of blocks.
        blocks: u32,
    },
    /// The precision cannot be reached.
    Never { why: String },
}

impl Next {
    /// The sentence for the user, after this many blocks with ± `percent` wanted.
    pub fn words(&self, blocks: u32, percent: f64) -> String {
        match self {
            Next::Enough { half_width } => format!(
                "{blocks} blocks: every shift is known to ±{half_width:.2} % ({percent} % wanted)"
            ),
            Next::Blocks { half_width, of, blocks: more } => format!(
                "{blocks} blocks: {of} is known to ±{half_width:.2} % only; going on to {more}"
            ),
            Next::Never { why } => format!("{blocks} blocks, and no more: {why}"),
        }
    }
}

/// What to do after this many blocks.
pub fn next(comparison: &Comparison, blocks: u32, percent: f64) -> Next {
    let Some((half_width, of)) = widest(comparison) else {
        return Next::Never { why: "no shift has an interval in percent".into() };
    };
    if half_width <= percent {
        return Next::Enough { half_width };
    }
    if blocks as usize >= BLOCKS_MAX {
        let why = format!("{of} is known to ±{half_width:.2} % only, {percent} % was wanted");
        return Next::Never { why };
    }
    let ratio = (half_width / percent).powi(2).min(STEP);
    let more = (f64::from(blocks) * ratio).ceil() as u32;
    Next::Blocks { half_width, of, blocks: more.clamp(blocks + 1, BLOCKS_MAX as u32) }
}

/// Half of the widest interval of a shift, among headline measures that judge.
fn widest(comparison: &Comparison) -> Option<(f64, String)> {
    let mut widest: Option<(f64, String)> = None;
    for cell in &comparison.cells {
        for row in cell.headline().filter(|row| row.judges()) {
            for entry in row.entries.iter().filter(|entry| entry.verdict != Verdict::Baseline) {
                let interval = entry.shift.and_then(|shift| shift.percent_interval);
                let Some(interval) = interval else { continue };
                let half = interval.width() / 2.0;
                if widest.as_ref().is_none_or(|(most, _)| half > *most) {
                    let of = format!("{} of {} in {}", row.measure, entry.contestant, cell.name);
                    widest = Some((half, of));
                }
            }
        }
    }
    widest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_comparison_of_ten_trials_needs_what_books_say() {
        // Student's t needs 1.325 deviations; ranks have 95.5 % of its efficiency, and two tests
        // share the 5 %.
        let shift = smallest_shift(10, 1).unwrap();
        assert!((1.3..1.7).contains(&shift), "{shift}");
        assert!((smallest_p(4, 1) - 2.0 / 70.0).abs() < 1e-15);
    }

    #[test]
    fn more_trials_see_less_and_larger_families_more() {
        let shift = |units, comparisons| smallest_shift(units, comparisons).unwrap();
        assert!(shift(6, 1) > shift(10, 1) && shift(10, 1) > shift(40, 1));
        assert!(shift(10, 20) > shift(10, 1));
        assert_eq!(smallest_shift(6, 24), None, "6 trials carry 23 comparisons");
        assert_eq!(smallest_shift(3, 1), None);
    }

    #[test]
    fn the_number_of_trials_is_the_smallest_that_does() {
        let units = units_for(3.0, 0.02, 5).unwrap();
        let least = |units| smallest_percent(0.02, units, 5).unwrap();
        assert!(least(units) <= 3.0 && least(units - 1) > 3.0, "{units}");
        assert_eq!(units_for(0.001, 0.5, 5), None);
    }
}
