// SPDX-License-Identifier: GPL-2.0-only
//! Cliff's delta: how completely two samples are separated, whatever the size of the gap.
//!
//! The chance that a run of ours is above one of the baseline's, minus the chance that it is below
//! (Cliff, "Dominance statistics: ordinal analyses to answer ordinal questions", Psychological
//! Bulletin 114(3), 1993). It is ±1 as soon as the samples do not overlap and says nothing beyond
//! that, so it stands beside the shift in percent, never alone.

/// How large a delta is (Romano et al., "Appropriate statistics for ordinal level data", 2006).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// Below 0.147.
    Negligible,
    /// Below 0.33.
    Small,
    /// Below 0.474.
    Medium,
    /// From 0.474 on.
    Large,
}

/// The delta, −1 … 1; above 0: ours are higher. `None` when a sample is empty.
pub fn delta(ours: &[f64], baseline: &[f64]) -> Option<f64> {
    let pairs = ours.iter().flat_map(|a| baseline.iter().map(move |b| a.total_cmp(b)));
    let sum: i64 = pairs.map(|order| order as i64).sum();
    let count = ours.len() * baseline.len();
    (count > 0).then(|| sum as f64 / count as f64)
}

/// The size of a delta.
pub fn size(delta: f64) -> Size {
    match delta.abs() {
        below if below < 0.147 => Size::Negligible,
        below if below < 0.33 => Size::Small,
        below if below < 0.474 => Size::Medium,
        _ => Size::Large,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_cases_by_hand() {
        assert_eq!(delta(&[1.0, 2.0], &[3.0, 4.0]), Some(-1.0));
        assert_eq!(delta(&[1.0, 3.0], &[2.0, 2.0]), Some(0.0));
        // Of six pairs four are above, one is equal, one is below.
        assert_eq!(delta(&[2.0, 5.0], &[1.0, 2.0, 3.0]), Some(0.5));
        assert_eq!(delta(&[], &[1.0]), None);
    }

    #[test]
    fn the_published_cuts() {
        let sizes = [0.1, -0.2, 0.4, -0.5, 1.0].map(size);
        assert_eq!(sizes, [Size::Negligible, Size::Small, Size::Medium, Size::Large, Size::Large]);
    }

    fn sample() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((-9..9i32).prop_map(f64::from), 1..12)
    }

    proptest! {
        #[test]
        fn changes_sign_with_the_sides(a in sample(), b in sample()) {
            prop_assert_eq!(delta(&a, &b).unwrap(), -delta(&b, &a).unwrap());
        }

        #[test]
        fn only_the_order_counts(a in sample(), b in sample()) {
            let bent = |values: &[f64]| values.iter().map(|v| v.powi(3) + v).collect::<Vec<_>>();
            prop_assert_eq!(delta(&a, &b), delta(&bent(&a), &bent(&b)));
        }
    }
}
