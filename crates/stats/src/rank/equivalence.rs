// SPDX-License-Identifier: GPL-2.0-only
//! Practical equivalence: that nothing was found is not that nothing is there.
//!
//! Two one-sided tests (Schuirmann, "A comparison of the two one-sided tests procedure and the
//! power approach", Journal of Pharmacokinetics and Biopharmaceutics 15(6), 1987): contestant and
//! baseline are equivalent within a margin when both "it is lower by the margin or more" and "it is
//! higher by the margin or more" are refuted. Asking the interval is the same: it must lie wholly
//! inside. Ours is the 95 % one, which is stricter than the customary 90 %.

use crate::compare::comparison::Interval;
use crate::rank::rank_sum::rank_sum;

/// What an interval says, by a margin in its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It lies wholly inside the margin: no difference that matters.
    Equivalent,
    /// It lies wholly below 0, and reaches beyond the margin.
    Lower,
    /// It lies wholly above 0, and reaches beyond the margin.
    Higher,
    /// It reaches both 0 and beyond the margin: these runs do not tell.
    Inconclusive,
}

/// What the interval of a shift says; `margin` ≥ 0 is a half-width.
pub fn answer(interval: Interval, margin: f64) -> Answer {
    match interval {
        Interval { low, high } if low >= -margin && high <= margin => Answer::Equivalent,
        Interval { low, .. } if low > 0.0 => Answer::Higher,
        Interval { high, .. } if high < 0.0 => Answer::Lower,
        _ => Answer::Inconclusive,
    }
}

/// The p value of the two one-sided tests by exact ranks: how often chance makes two samples look
/// as alike as these when they are `margin` apart, in the values' unit. `None` when a sample is
/// empty.
pub fn two_one_sided(ours: &[f64], baseline: &[f64], margin: f64) -> Option<f64> {
    let moved = |by: f64| ours.iter().map(|value| value + by).collect::<Vec<_>>();
    let not_lower = rank_sum(&moved(margin), baseline)?.above;
    let not_higher = rank_sum(&moved(-margin), baseline)?.below;
    Some(not_lower.max(not_higher))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn four_answers() {
        let say = |low, high| answer(Interval { low, high }, 1.0);
        assert_eq!(say(-0.5, 0.9), Answer::Equivalent);
        assert_eq!(say(0.2, 0.9), Answer::Equivalent, "a difference that does not matter");
        assert_eq!((say(0.2, 1.1), say(-3.0, -2.0)), (Answer::Higher, Answer::Lower));
        assert_eq!((say(-0.1, 1.1), say(-9.0, 9.0)), (Answer::Inconclusive, Answer::Inconclusive));
    }

    #[test]
    fn alike_within_the_margin_is_refuted_as_apart() {
        let (ours, base) = ([5.0, 5.1, 5.2, 4.9, 4.8, 5.05], [5.02, 5.12, 4.93, 4.83, 5.23, 5.0]);
        assert!((two_one_sided(&ours, &base, 1.0).unwrap() - 1.0 / 924.0).abs() < 1e-12);
        assert!(two_one_sided(&ours, &base, 0.01).unwrap() > 0.3);
        assert_eq!(two_one_sided(&[], &base, 1.0), None);
    }

    proptest! {
        #[test]
        fn a_wider_margin_is_easier(
            ours in prop::collection::vec(-9.0..9.0f64, 2..9),
            base in prop::collection::vec(-9.0..9.0f64, 2..9), margin in 0.0..9.0f64,
        ) {
            let p = |margin| two_one_sided(&ours, &base, margin).unwrap();
            prop_assert!(p(margin + 1.0) <= p(margin) + 1e-12);
        }
    }
}
