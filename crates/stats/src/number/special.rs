// SPDX-License-Identifier: GPL-2.0-only
//! The functions behind tables of distributions: gamma, χ², and the range of normal
//! variables. Formula numbers are those of Abramowitz and Stegun, "Handbook of Mathematical
//! Functions".

use crate::number::distributions::normal_below;

/// The most terms of a series or a fraction; they converge long before.
const TERMS: u32 = 1_000;

/// Their relative precision.
const PRECISION: f64 = 1e-15;

/// `ln Γ(x)` for x > 0 (Lanczos, "A Precision Approximation of the Gamma Function", SIAM Journal on
/// Numerical Analysis 1, 1964, with the coefficients for g = 7 and 9 terms).
fn ln_gamma(x: f64) -> f64 {
    const G: f64 = 7.0;
    const C: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let sum = C.iter().zip(0..).skip(1).fold(C[0], |sum, (c, i)| sum + c / (x + f64::from(i)));
    let t = x + G + 0.5;
    0.5 * std::f64::consts::TAU.ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// The part of the gamma integral above x: Q(a, x), by the series 6.5.29 or the fraction 6.5.31.
fn gamma_above(a: f64, x: f64) -> f64 {
    match x {
        x if x <= 0.0 => 1.0,
        x if x < a + 1.0 => 1.0 - below_by_series(a, x),
        x => above_by_fraction(a, x),
    }
}

fn below_by_series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0 / a, 1.0 / a);
    for n in 1..TERMS {
        term *= x / (a + f64::from(n));
        sum += term;
        if term < sum * PRECISION {
            break;
        }
    }
    sum * (a * x.ln() - x - ln_gamma(a)).exp()
}

/// The fraction is evaluated by Lentz's method as Thompson and Barnett modified it ("Coulomb and
/// Bessel Functions of Complex Arguments and Order", Journal of Computational Physics 64, 1986).
fn above_by_fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1.0 / TINY, 1.0 / b);
    let mut fraction = d;
    for n in (1..TERMS).map(f64::from) {
        let numerator = -n * (n - a);
        b += 2.0;
        d = 1.0 / (numerator * d + b);
        c = b + numerator / c;
        fraction *= d * c;
        if (d * c - 1.0).abs() < PRECISION {
            break;
        }
    }
    fraction * (a * x.ln() - x - ln_gamma(a)).exp()
}

/// The chance of a χ² of this many degrees of freedom beyond x (26.4.19).
pub(crate) fn chi_squared_above(x: f64, degrees: f64) -> f64 {
    gamma_above(degrees / 2.0, x / 2.0)
}

/// The chance that the range of k standard normal variables stays below q: the integral over the
/// largest of them, `k ∫ φ(z) (Φ(z) − Φ(z − q))^(k−1) dz`, by Simpson's rule.
fn range_below(q: f64, k: u32) -> f64 {
    const ENDS: f64 = 8.0;
    const STEPS: u32 = 400;
    let width = 2.0 * ENDS / f64::from(STEPS);
    let at = |step: u32| {
        let z = f64::from(step) * width - ENDS;
        let density = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
        density * (normal_below(z) - normal_below(z - q)).powi(k as i32 - 1)
    };
    let weight = |step: u32| match step {
        0 | STEPS => 1.0,
        odd if odd % 2 == 1 => 4.0,
        _ => 2.0,
    };
    let sum: f64 = (0..=STEPS).map(|step| weight(step) * at(step)).sum();
    f64::from(k) * sum * width / 3.0
}

/// The range that k standard normal variables exceed with this chance: the studentized range for
/// infinite degrees of freedom.
pub(crate) fn range_exceeded(chance: f64, k: u32) -> f64 {
    let (mut low, mut high) = (0.0, 16.0);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        match range_below(middle, k) < 1.0 - chance {
            true => low = middle,
            false => high = middle,
        }
    }
    f64::midpoint(low, high)
}
