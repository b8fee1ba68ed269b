// SPDX-License-Identifier: GPL-2.0-only
//! What a plan can show before it runs: the smallest p value, and the smallest difference.
//!
//! The p value has a floor: with `n` runs on either side, all of one below all of the other, chance
//! does that in `2 / C(2n, n)` of cases, and Holm's correction multiplies it by the size of the
//! family. The smallest difference is that which is claimed in 80 % of experiments (Cohen,
//! "Statistical Power Analysis for the Behavioral Sciences", 2nd edition 1988, section 1.4), by
//! drawing experiments with normal scatter: with few runs and large families the usual
//! approximations are far off. A claim needs both that the rank-sum test says so and that the
//! interval excludes zero; the latter is that of Student's t with the units of one side, widened by
//! the Hodges-Lehmann shift's efficiency of 3/π.

use std::f64::consts::{PI, TAU};

use model::Seed;

use crate::distributions::student_quantile;
use crate::holm::ALPHA;
use crate::rank_sum::{smallest, sums_within};
use crate::verdict::{PERCENT_THAT_MATTERS, RUNS_NEEDED};

/// How often the smallest difference is found.
pub const POWER: f64 = 0.8;

/// Experiments that are drawn.
const EXPERIMENTS: usize = 500;

/// The bootstrap's interval of a shift comes out so much wider than theory has it for normal
/// scatter and 6 to 20 runs; `tests/error_rates.rs` holds the promise against the verdicts.
const WIDER: f64 = 1.08;

/// The most blocks that anybody is advised to run.
pub const BLOCKS_MAX: usize = 100;

/// The smallest p value that so many independent runs on either side can reach, corrected for a
/// family of so many comparisons.
pub fn smallest_p(units: usize, comparisons: usize) -> f64 {
    (smallest(units, units) * comparisons as f64).min(1.0)
}

/// The smallest shift that is claimed in 80 % of experiments, in standard deviations between runs;
/// `None` where no claim is possible. The comparison is judged as the most certain one of its
/// family, which is multiplied by the family's whole size.
pub fn smallest_shift(units: usize, comparisons: usize) -> Option<f64> {
    if units < RUNS_NEEDED {
        return None;
    }
    let claims = sums_within(units, units, ALPHA / 2.0 / comparisons.max(1) as f64);
    let least = claims.checked_sub(1)?;
    let mut seed = Seed(1);
    let mut shifts: Vec<f64> = (0..EXPERIMENTS).map(|_| needed(units, least, &mut seed)).collect();
    shifts.sort_unstable_by(f64::total_cmp);
    shifts.get((POWER * EXPERIMENTS as f64) as usize).copied()
}

/// By how much one of two equal samples must be lowered until no more than `least` of its values
/// lie above one of the other's, and the interval below zero.
fn needed(units: usize, least: usize, seed: &mut Seed) -> f64 {
    let mut sample = || -> Vec<f64> { (0..units).map(|_| normal(seed)).collect() };
    let (ours, base) = (sample(), sample());
    let mut apart: Vec<f64> =
        ours.iter().flat_map(|one| base.iter().map(move |other| one - other)).collect();
    apart.sort_unstable_by(|a, b| b.total_cmp(a));
    apart[least].max(upper_end(&ours, &base))
}

/// The upper end of the interval of two samples' difference.
fn upper_end(ours: &[f64], base: &[f64]) -> f64 {
    let runs = ours.len() as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / runs;
    let squares = |values: &[f64]| {
        let mean = mean(values);
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let variance = (squares(ours) + squares(base)) / (2.0 * runs - 2.0);
    let half = student_quantile(ours.len() - 1) * (variance * 2.0 / runs * PI / 3.0).sqrt();
    mean(ours) - mean(base) + WIDER * half
}

/// The same in percent, where logarithms scatter by `deviation` between runs.
pub fn smallest_percent(deviation: f64, units: usize, comparisons: usize) -> Option<f64> {
    let shift = smallest_shift(units, comparisons)?.max(0.0) * deviation;
    Some(shift.exp_m1() * 100.0 + PERCENT_THAT_MATTERS)
}

/// How many runs on either side show a difference of so many percent; `None` if more than
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_comparison_of_ten_runs_needs_what_books_say() {
        // Student's t needs 1.325 deviations; the rank sum has 95.5 % of its efficiency, and the
        // interval has the degrees of freedom of one side.
        let shift = smallest_shift(10, 1).unwrap();
        assert!((1.3..1.7).contains(&shift), "{shift}");
        assert!((smallest_p(4, 1) - 2.0 / 70.0).abs() < 1e-15);
    }

    #[test]
    fn more_runs_see_less_and_larger_families_more() {
        let shift = |units, comparisons| smallest_shift(units, comparisons).unwrap();
        assert!(shift(6, 1) > shift(10, 1) && shift(10, 1) > shift(40, 1));
        assert!(shift(10, 20) > shift(10, 1));
        assert_eq!(smallest_shift(6, 24), None, "6 runs carry 23 comparisons");
        assert_eq!(smallest_shift(3, 1), None);
    }

    #[test]
    fn the_number_of_runs_is_the_smallest_that_does() {
        let units = units_for(3.0, 0.02, 5).unwrap();
        let least = |units| smallest_percent(0.02, units, 5).unwrap();
        assert!(least(units) <= 3.0 && least(units - 1) > 3.0, "{units}");
        assert_eq!(units_for(0.001, 0.5, 5), None);
    }
}
