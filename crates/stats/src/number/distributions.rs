// SPDX-License-Identifier: GPL-2.0-only
//! The distributions that the statistics need: normal, Student's t, binomial. They are short, and
//! implemented here so that tables stay reproducible for years.
//!
//! Abramowitz and Stegun, "Handbook of Mathematical Functions", 1964: 7.1.6 and 7.1.14 (error
//! function), 26.7.3 to 26.7.5 (Student's t).

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};

/// The 97.5 % quantile of the normal distribution.
const NORMAL_QUANTILE: f64 = 1.959_963_984_540_054;

/// The probability that a standard normal number is below `z`; relatively precise in the lower
/// tail.
pub fn normal_below(z: f64) -> f64 {
    let half = error_complement(z.abs() * FRAC_1_SQRT_2) / 2.0;
    if z > 0.0 { 1.0 - half } else { half }
}

/// 1 − erf(x) for x ≥ 0: the series for small x, the continued fraction for large ones.
fn error_complement(x: f64) -> f64 {
    if x < 2.5 {
        let (mut term, mut sum, mut n) = (x, x, 0.0);
        while term > sum * 1e-17 {
            n += 1.0;
            term *= 2.0 * x * x / (2.0 * n + 1.0);
            sum += term;
        }
        return 1.0 - FRAC_2_SQRT_PI * (-x * x).exp() * sum;
    }
    let fraction = (1..=80).rev().fold(x, |below, k| x + f64::from(k) / 2.0 / below);
    (-x * x).exp() / PI.sqrt() / fraction
}

/// The probability that Student's t with this many degrees of freedom (≥ 1) lies within ±`t`.
pub fn student_within(t: f64, degrees: usize) -> f64 {
    let angle = (t / (degrees as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let odd = degrees % 2 == 1;
    let mut term = if odd { cosine } else { 1.0 };
    let mut sum = if degrees == 1 { 0.0 } else { term };
    for step in 1..(degrees / 2) {
        let k = 2.0 * step as f64;
        term *= cosine * cosine * if odd { k / (k + 1.0) } else { (k - 1.0) / k };
        sum += term;
    }
    if odd { 2.0 / PI * (angle + sine * sum) } else { sine * sum }
}

/// The 97.5 % quantile of Student's t.
pub fn student_quantile(degrees: usize) -> f64 {
    if degrees > 200 {
        return student_expansion(degrees as f64);
    }
    let (mut low, mut high) = (NORMAL_QUANTILE, 12.8);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if student_within(middle, degrees) < 0.95 { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Cornish and Fisher's expansion; the next term is below 1e-11 from 200 degrees on.
fn student_expansion(degrees: f64) -> f64 {
    let x = NORMAL_QUANTILE;
    let terms = [
        (x.powi(3) + x) / 4.0,
        (5.0 * x.powi(5) + 16.0 * x.powi(3) + 3.0 * x) / 96.0,
        (3.0 * x.powi(7) + 19.0 * x.powi(5) + 17.0 * x.powi(3) - 15.0 * x) / 384.0,
        (79.0 * x.powi(9) + 776.0 * x.powi(7) + 1482.0 * x.powi(5)
            - 1920.0 * x.powi(3)
            - 945.0 * x)
            / 92160.0,
    ];
    terms.iter().rev().fold(0.0, |sum, term| (sum + term) / degrees) + x
}

/// The probabilities of a binomial number of `n` trials with chance 0 < `q` < 1, as the first
/// number and the probabilities from it on; what is left out at both ends is below 1e-25.
pub fn binomial(n: u64, q: f64) -> (u64, Vec<f64>) {
    let mode = (((n + 1) as f64 * q) as u64).min(n);
    let odds = q / (1.0 - q);
    let falling = std::iter::successors(Some((mode, 1.0)), |&(k, p)| {
        let next = p * k as f64 / ((n - k + 1) as f64 * odds);
        (k > 0 && next > 1e-30).then(|| (k - 1, next))
    });
    let rising = std::iter::successors(Some((mode, 1.0)), |&(k, p)| {
        let next = p * (n - k) as f64 * odds / (k + 1) as f64;
        (k < n && next > 1e-30).then_some((k + 1, next))
    });
    let mut terms: Vec<f64> = falling.map(|(_, p)| p).collect();
    let first = mode + 1 - terms.len() as u64;
    terms.reverse();
    terms.extend(rising.skip(1).map(|(_, p)| p));
    let total: f64 = terms.iter().sum();
    terms.iter_mut().for_each(|term| *term /= total);
    (first, terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn printed_tables() {
        assert!((normal_below(-1.96) - 0.024_997_895).abs() < 1e-9);
        assert!((normal_below(3.0) - 0.998_650_102).abs() < 1e-9);
        for (degrees, printed) in [(1, 12.706), (2, 4.303), (5, 2.571), (10, 2.228), (30, 2.042)] {
            assert!((student_quantile(degrees) - printed).abs() < 5e-4, "{degrees}");
        }
        let (first, terms) = binomial(4, 0.5);
        assert_eq!(
            (first, terms),
            (0, [1.0, 4.0, 6.0, 4.0, 1.0].iter().map(|c| c / 16.0).collect())
        );
    }

    proptest! {
        #[test]
        fn both_halves_of_the_normal_sum_to_one(z in -8.0..8.0f64) {
            prop_assert!((normal_below(z) + normal_below(-z) - 1.0).abs() < 1e-14);
        }

        #[test]
        fn quantiles_fall_towards_the_normal(degrees in 1usize..400) {
            let here = student_quantile(degrees);
            prop_assert!(here > student_quantile(degrees + 1) && here > NORMAL_QUANTILE);
        }

        #[test]
        fn binomials_have_their_mean(n in 1u64..5_000, q in 0.001..0.999f64) {
            let (first, terms) = binomial(n, q);
            let mean: f64 = terms.iter().zip(first..).map(|(p, k)| p * k as f64).sum();
            prop_assert!((mean - n as f64 * q).abs() < 1e-8 * n as f64);
        }
    }
}
