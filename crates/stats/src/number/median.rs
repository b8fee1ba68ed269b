// SPDX-License-Identifier: GPL-2.0-only
//! The median: the middle of the ordered values, or the mean of the two middle ones.
//!
//! Tables print it as the location, because run times have heavy tails and a mean follows them
//! (Hoefler and Belli, "Scientific benchmarking of parallel computing systems", SC 2015).

/// The median; `None` of an empty slice. The values must be numbers (no NaN).
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    weighted(sorted.iter().map(|&value| (value, 1)), sorted.len() as u64)
}

/// The median of values in ascending order where each counts as often as its weight says; `total`
/// is the sum of the weights. `None` when that is 0. A resample is a vector of weights, so that the
/// order is found once and not once per resample.
pub fn weighted(sorted: impl Iterator<Item = (f64, u64)>, total: u64) -> Option<f64> {
    let ranks = Ranks::new(total)?;
    let (mut seen, mut low) = (0, None);
    for (value, weight) in sorted {
        seen += weight;
        if low.is_none() && seen >= ranks.low {
            low = Some(value);
        }
        if seen >= ranks.high {
            return low.map(|low| midpoint(low, value));
        }
    }
    None
}

/// The mean of two values that may be infinite. Opposite infinities favour neither side: 0.
fn midpoint(low: f64, high: f64) -> f64 {
    match (low.is_infinite(), high.is_infinite()) {
        (false, false) => low + (high - low) / 2.0,
        (true, true) if low != high => 0.0,
        _ => low + high,
    }
}

/// The ranks, counted from 1, of the two values whose mean the median is; equal for odd totals.
#[derive(Clone, Copy)]
pub(crate) struct Ranks {
    pub low: u64,
    pub high: u64,
}

impl Ranks {
    /// For this many values; `None` for none.
    pub fn new(total: u64) -> Option<Ranks> {
        (total > 0).then_some(Ranks { low: total.div_ceil(2), high: total / 2 + 1 })
    }
}

/// The factor from a median absolute deviation to a normal standard deviation:
/// 1 / Φ⁻¹(3/4).
pub const NORMAL_SCALE: f64 = 1.482_602_218_505_602;

/// Values further than this many robust standard deviations from the median are flagged. Ten,
/// because latencies usually have heavy tails.
const FAR: f64 = 10.0;

/// The median absolute deviation, in the values' unit; `None` of an empty slice.
pub fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    median(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<_>>())
}

/// The number of outliers. If more than half of the values are the same number, every other value
/// is an outlier. Fewer than five values have none. Outliers are flagged and never dropped: an
/// extreme trial did happen, and only its cause (the machine throttled, the scheduler was ejected)
/// may excuse it. The rule is the modified z score: the distance from the median in units of the
/// median absolute deviation (Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993).
pub fn outliers(values: &[f64]) -> usize {
    let (Some(middle), Some(deviation)) = (median(values), median_absolute_deviation(values))
    else {
        return 0;
    };
    if values.len() < 5 {
        return 0;
    }
    let far = |value: f64| (value - middle).abs() > FAR * NORMAL_SCALE * deviation;
    values.iter().filter(|value| far(**value)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_answers() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[1.0, 1.0, 1.0, 1e9]), Some(1.0));
    }

    #[test]
    fn infinite_values_have_a_median() {
        let infinite = f64::INFINITY;
        assert_eq!(median(&[infinite, infinite]), Some(infinite));
        assert_eq!(median(&[1.0, infinite]), Some(infinite));
        assert_eq!(median(&[-infinite, 1.0]), Some(-infinite));
        assert_eq!(median(&[-infinite, infinite]), Some(0.0));
    }

    #[test]
    fn weights_are_repetitions() {
        let repeated = median(&[1.0, 5.0, 5.0, 5.0, 9.0, 9.0]);
        assert_eq!(weighted([(1.0, 1), (5.0, 3), (7.0, 0), (9.0, 2)].into_iter(), 6), repeated);
        assert_eq!(weighted([(1.0, 0)].into_iter(), 0), None);
    }

    proptest! {
        #[test]
        fn half_lies_on_each_side(values in prop::collection::vec(-1e9..1e9f64, 1..60)) {
            let middle = median(&values).unwrap();
            let below = values.iter().filter(|&&value| value < middle).count();
            let above = values.iter().filter(|&&value| value > middle).count();
            prop_assert!(below * 2 <= values.len() && above * 2 <= values.len());
        }

        #[test]
        fn moves_with_its_values(
            values in prop::collection::vec(-1e6..1e6f64, 1..40), by in -1e6..1e6f64,
        ) {
            let moved: Vec<f64> = values.iter().map(|value| value + by).collect();
            prop_assert!((median(&moved).unwrap() - median(&values).unwrap() - by).abs() < 1e-6);
        }
    }

    #[test]
    fn far_values_are_counted() {
        assert_eq!(median_absolute_deviation(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), Some(1.0));
        assert_eq!(outliers(&[1.0, 2.0, 3.0, 4.0, 5.0, 900.0]), 1);
        // The cut by hand: the median is 3, the deviation 1, so 3 + 14.826 is the last that is not.
        assert_eq!(outliers(&[1.0, 2.0, 3.0, 4.0, 17.826]), 0);
        assert_eq!(outliers(&[1.0, 2.0, 3.0, 4.0, 17.827]), 1);
        assert_eq!((outliers(&[1.0, 2.0, 3.0, 900.0]), outliers(&[])), (0, 0));
    }

    proptest! {
        #[test]
        fn at_most_half_are_outliers(values in prop::collection::vec(-1e9..1e9f64, 0..50)) {
            prop_assert!(outliers(&values) * 2 <= values.len());
        }

        #[test]
        fn neither_scale_nor_place_counts(
            values in prop::collection::vec((-99..99i32).prop_map(f64::from), 5..30),
        ) {
            let moved: Vec<f64> = values.iter().map(|value| value * 4.0 + 1024.0).collect();
            prop_assert_eq!(outliers(&values), outliers(&moved));
        }
    }
}
