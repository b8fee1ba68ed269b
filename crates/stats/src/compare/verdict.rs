// SPDX-License-Identifier: GPL-2.0-only
//! The verdict on a contestant compared with the baseline, in one measure of one cell.

use model::metric::Direction;
use serde::{Deserialize, Serialize};

use crate::compare::shift::Shift;
use crate::number::interval::TRIALS_NEEDED;
use crate::rank::rank_sum::ALPHA;
use crate::records::pairing::SeedCounts;

/// A claim, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Baseline,
    /// The interval of the shift lies wholly on the good side, the shift or every matched pair
    /// differs by more than [`MARGIN_PERCENT`], and the corrected p value is at most 5 %; the same
    /// with the baseline and the contestant exchanged.
    Better,
    /// The same on the bad side.
    Worse,
    /// The same above 0, of a measure that explains and does not judge.
    More,
    /// The same below 0, of a measure that explains and does not judge.
    Less,
    /// The interval lies wholly within [`MARGIN_PERCENT`], also with the sides exchanged.
    Equivalent,
    /// Everything else: the interval reaches beyond the margin, and contains 0; or the shift lies
    /// within the margin; or the corrected p value is above 5 %.
    NotDistinguishable,
    /// Under a virtual clock: the same number in every pair of trials with the same seed.
    Equal,
    /// Under a virtual clock, with too few seeds for an interval: the numbers differ, exactly as
    /// shown.
    Differs,
    /// Used by the gate only: the p value is too large, or the difference lies within the margin.
    #[serde(rename = "none")]
    Unchanged,
    /// The baseline or the contestant has fewer than [`TRIALS_NEEDED`] trials.
    TooFewTrials,
    /// The contestant or the baseline has no number.
    NotMeasured,
}

impl Verdict {
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Baseline => "baseline",
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::More => "more",
            Verdict::Less => "less",
            Verdict::Equivalent => "equivalent",
            Verdict::NotDistinguishable => "not distinguishable",
            Verdict::Equal => "exactly equal",
            Verdict::Differs => "differs (few seeds)",
            Verdict::Unchanged => "no change",
            Verdict::TooFewTrials => "too few trials",
            Verdict::NotMeasured => "not measured",
        }
    }

    pub fn is_claim(self) -> bool {
        matches!(self, Verdict::Better | Verdict::Worse | Verdict::More | Verdict::Less)
    }

    /// Whether it rests on an interval, which from the other side is another one.
    pub(crate) fn needs_both_sides(self) -> bool {
        self.is_claim() || self == Verdict::Equivalent
    }

    /// The verdict on the baseline compared with the contestant.
    fn turned(self) -> Verdict {
        match self {
            Verdict::Better => Verdict::Worse,
            Verdict::Worse => Verdict::Better,
            Verdict::More => Verdict::Less,
            Verdict::Less => Verdict::More,
            other => other,
        }
    }

    /// What holds from both sides, whichever of them is called the baseline: percents of the two
    /// differ, and so does what chance draws for their intervals.
    pub(crate) fn agreed(self, from_baseline: Verdict) -> Verdict {
        if self == from_baseline.turned() { self } else { Verdict::NotDistinguishable }
    }
}

/// The verdict on a shift. `p` is the corrected p value, `trials` the smaller side's number of
/// trials; `by_seed` is given under a virtual clock.
pub fn judge(
    shift: Option<&Shift>,
    p: Option<f64>,
    by_seed: Option<SeedCounts>,
    trials: usize,
    direction: Direction,
) -> Verdict {
    let Some(shift) = shift else { return Verdict::NotMeasured };
    if by_seed.is_some_and(|seeds| seeds.equal > 0 && seeds.lower + seeds.higher == 0) {
        return Verdict::Equal;
    }
    if trials < TRIALS_NEEDED {
        return if by_seed.is_some() { Verdict::Differs } else { Verdict::TooFewTrials };
    }
    let Some(interval) = shift.shown_interval() else { return Verdict::NotDistinguishable };
    // If the baseline is 0 there are no percents, and any distance from 0 counts.
    let is_within = |end: f64| match shift.percent_interval {
        Some(_) => !is_beyond(log_ratio_of_percent(end), MARGIN_PERCENT),
        None => end == 0.0,
    };
    let all_pairs_beyond = shift.all_pairs_beyond(MARGIN_PERCENT);
    let is_claim = p.is_some_and(|p| p <= ALPHA) && shift.is_beyond(MARGIN_PERCENT);
    if is_within(interval.low) && is_within(interval.high) && !all_pairs_beyond {
        Verdict::Equivalent
    } else if is_claim && interval.low > 0.0 {
        towards(direction, true)
    } else if is_claim && interval.high < 0.0 {
        towards(direction, false)
    } else {
        Verdict::NotDistinguishable
    }
}

/// The claim that a number is higher, or lower.
pub(crate) fn towards(direction: Direction, is_higher: bool) -> Verdict {
    match (direction, is_higher) {
        (Direction::Lower, true) | (Direction::Higher, false) => Verdict::Worse,
        (Direction::Lower, false) | (Direction::Higher, true) => Verdict::Better,
        (Direction::Neutral, true) => Verdict::More,
        (Direction::Neutral, false) => Verdict::Less,
    }
}

/// The smallest difference that matters, the same in every rule. No claim is made of a smaller
/// difference, and an interval within it is an equivalence. A smaller difference can be certain, as
/// under a virtual clock, where rates differ in their sixth digit because trials end some
/// nanoseconds apart; no user notices it.
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
    use crate::compare::shift::LeastPair;
    use crate::number::interval::Interval;

    fn shift(low: f64, high: f64) -> Shift {
        let interval = Some(Interval { low, high });
        Shift {
            value: (low + high) / 2.0,
            interval,
            percent: None,
            percent_interval: None,
            matched_pairs: None,
            least_pair: None,
        }
    }

    #[test]
    fn only_an_interval_without_zero_is_a_claim() {
        let judged =
            |low, high, direction| judge(Some(&shift(low, high)), Some(0.01), None, 6, direction);
        assert_eq!(judged(-2.0, -1.0, Direction::Lower), Verdict::Better);
        assert_eq!(judged(-2.0, -1.0, Direction::Higher), Verdict::Worse);
        assert_eq!(judged(1.0, 2.0, Direction::Lower), Verdict::Worse);
        assert_eq!(judged(1.0, 2.0, Direction::Neutral), Verdict::More);
        assert_eq!(judged(-1.0, 2.0, Direction::Lower), Verdict::NotDistinguishable);
        assert_eq!(judged(0.0, 2.0, Direction::Lower), Verdict::NotDistinguishable);
    }

    #[test]
    fn a_difference_in_the_sixth_digit_is_nobodys() {
        let percent = |low: f64, high: f64| Shift {
            percent: Some((low + high) / 2.0),
            percent_interval: Some(Interval { low, high }),
            ..shift(low / 5.0, high / 5.0)
        };
        let judged =
            |low, high| judge(Some(&percent(low, high)), Some(0.01), None, 6, Direction::Higher);
        assert_eq!(judged(1e-5, 2e-5), Verdict::Equivalent);
        assert_eq!(judged(-0.9, 0.99), Verdict::Equivalent);
        assert_eq!(judged(0.2, 0.99), Verdict::Equivalent);
        assert_eq!(judged(-1e-5, 10.0), Verdict::NotDistinguishable);
        assert_eq!(judged(0.2, 10.0), Verdict::Better);
        assert_eq!(judged(0.2, 1.6), Verdict::NotDistinguishable, "certain, and too small");
        assert_eq!(judged(-10.0, -0.2), Verdict::Worse);
    }

    #[test]
    fn pairs_that_all_agree_are_never_equivalent() {
        let agreeing = Shift {
            percent: Some(0.4),
            percent_interval: Some(Interval { low: 0.1, high: 0.8 }),
            least_pair: Some(LeastPair { value: 0.01, percent: Some(1.1) }),
            ..shift(0.01, 0.9)
        };
        let judged = |p| judge(Some(&agreeing), Some(p), None, 8, Direction::Lower);
        assert_eq!((judged(0.01), judged(0.2)), (Verdict::Worse, Verdict::NotDistinguishable));
    }

    #[test]
    fn what_chance_makes_too_often_is_no_claim() {
        let judged = |p| judge(Some(&shift(1.0, 2.0)), p, None, 6, Direction::Lower);
        assert_eq!(
            (judged(Some(0.05)), judged(Some(0.051))),
            (Verdict::Worse, Verdict::NotDistinguishable)
        );
        assert_eq!(judged(None), Verdict::NotDistinguishable);
    }

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
