// SPDX-License-Identifier: GPL-2.0-only
//! The expanded percentile interval of bootstrap replicates.
//!
//! The plain percentile interval is too narrow for few units: with six boots a "95 %" interval
//! misses about one time in eight. Hesterberg ("What teachers should know about the bootstrap", The
//! American Statistician 69(4), 2015, section 5.2) widens the nominal level so that a mean gets the
//! interval of Student's t: `Φ(−√(n/(n−1)) · t)` in place of 2.5 % on each side.

use crate::comparison::Interval;

/// The confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// The 97.5 % quantiles of Student's t for 1 … 30 degrees of freedom (any printed table).
const T_QUANTILES: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// The interval that replicates of a statistic give when it rests on so many independent units;
/// `None` without replicates or with fewer than two units.
pub fn expanded_percentile(replicates: &mut [f64], units: usize) -> Option<Interval> {
    if replicates.is_empty() || units < 2 {
        return None;
    }
    let last = replicates.len() - 1;
    let cut = (tail(units) * replicates.len() as f64).floor() as usize;
    let cut = cut.min(last / 2);
    let low = *replicates.select_nth_unstable_by(cut, f64::total_cmp).1;
    let high = *replicates.select_nth_unstable_by(last - cut, f64::total_cmp).1;
    Some(Interval { low, high })
}

/// What is cut off on each side: a part of one, below 2.5 %.
fn tail(units: usize) -> f64 {
    let n = units as f64;
    normal_below(-(n / (n - 1.0)).sqrt() * t_quantile(units - 1))
}

/// The 97.5 % quantile of Student's t; beyond the table by Cornish and Fisher's expansion
/// (Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.5).
fn t_quantile(degrees: usize) -> f64 {
    const NORMAL: f64 = 1.959_963_984_540_054;
    match T_QUANTILES.get(degrees.wrapping_sub(1)) {
        Some(&quantile) => quantile,
        None => NORMAL + (NORMAL.powi(3) + NORMAL) / (4.0 * degrees as f64),
    }
}

/// The standard normal distribution function below zero (Abramowitz and Stegun, 26.2.17; the error
/// is at most 7.5e-8).
fn normal_below(z: f64) -> f64 {
    const B: [f64; 5] = [0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429];
    let t = 1.0 / (1.0 + 0.2316419 * z.abs());
    let polynomial = B.iter().rev().fold(0.0, |sum, b| (sum + b) * t);
    ((-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt() * polynomial).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_answers() {
        assert!((normal_below(-1.959_964) - 0.025).abs() < 1e-6);
        assert!((normal_below(-3.0) - 0.001_349_898).abs() < 1e-7);
        assert!((t_quantile(60) - 2.000).abs() < 2e-3);
        assert!((t_quantile(1) - 12.706).abs() < 1e-9);
        // The formula by hand: Φ(−√(5/4) · 2.776) and so on.
        for (units, by_hand) in [(5, 0.0010), (10, 0.0086), (20, 0.0159), (40, 0.0203)] {
            assert!((tail(units) - by_hand).abs() < 1e-4, "{units}: {}", tail(units));
        }
    }

    #[test]
    fn many_units_give_the_plain_percentiles() {
        let mut replicates: Vec<f64> = (0..10_000).map(f64::from).collect();
        let interval = expanded_percentile(&mut replicates, 1_000_000).unwrap();
        assert!((interval.low - 250.0).abs() <= 1.0 && (interval.high - 9749.0).abs() <= 1.0);
    }

    #[test]
    fn one_unit_has_no_interval() {
        assert_eq!(expanded_percentile(&mut [1.0, 2.0], 1), None);
        assert_eq!(expanded_percentile(&mut [], 9), None);
    }

    proptest! {
        #[test]
        fn fewer_units_are_never_narrower(
            mut values in prop::collection::vec(-1e6..1e6f64, 50..300), units in 2usize..60,
        ) {
            let few = expanded_percentile(&mut values, units).unwrap();
            let many = expanded_percentile(&mut values, units + 1).unwrap();
            prop_assert!(few.low <= many.low && few.high >= many.high && few.low <= few.high);
        }
    }
}
