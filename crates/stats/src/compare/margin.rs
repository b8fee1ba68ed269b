// SPDX-License-Identifier: GPL-2.0-only
//! The margin: the smallest difference that matters, the same one in every rule.
//!
//! A smaller difference can be certain, as under a virtual clock, where rates differ in their sixth
//! digit because trials end some nanoseconds apart. It is no claim, because no user notices it.

/// No claim is made of a smaller difference, and an interval within it is an equivalence.
pub const MARGIN_PERCENT: f64 = 1.0;

/// The logarithm of the ratio of two numbers; infinite from 0, to 0 and between numbers of
/// different signs. Exchanging the two changes the sign.
pub fn log_ratio(base: f64, value: f64) -> f64 {
    let ratio = value / base;
    if base == value {
        0.0
    } else if ratio > 0.0 && ratio.is_finite() {
        ratio.ln() * base.signum()
    } else {
        f64::INFINITY.copysign(value - base)
    }
}

/// The logarithm of the ratio that a change in percent means.
pub fn log_ratio_of_percent(percent: f64) -> f64 {
    (percent / 100.0).max(-1.0).ln_1p()
}

/// Whether the logarithm of a ratio lies beyond a margin in percent, upwards or downwards.
pub fn is_beyond(log_ratio: f64, margin_percent: f64) -> bool {
    log_ratio.abs() > (margin_percent / 100.0).ln_1p()
}

/// Whether two numbers differ by more than [`MARGIN_PERCENT`].
pub fn differ(one: f64, other: f64) -> bool {
    is_beyond(log_ratio(one, other), MARGIN_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_and_its_way_back_are_beyond_the_margin_together() {
        for (one, other) in [(100.0, 101.1), (100.0, 98.9), (0.0, 1e-9), (-1.0, 1.0), (5.0, 0.0)] {
            assert!(differ(one, other) && differ(other, one), "{one} {other}");
            let (there, back) = (log_ratio(one, other), log_ratio(other, one));
            assert!(there == -back || (there + back).abs() < 1e-12, "{there} {back}");
        }
        for (one, other) in [(100.0, 100.9), (0.0, 0.0), (-1.0, -1.0)] {
            assert!(!differ(one, other) && !differ(other, one), "{one} {other}");
        }
    }

    #[test]
    fn percents_are_ratios() {
        assert!((log_ratio_of_percent(100.0) - 2.0_f64.ln()).abs() < 1e-15);
        assert_eq!(log_ratio_of_percent(-100.0), f64::NEG_INFINITY);
        assert_eq!(log_ratio_of_percent(-250.0), f64::NEG_INFINITY, "a shift of other trials");
    }
}
