// SPDX-License-Identifier: GPL-2.0-only
//! Outliers are flagged and never dropped: an extreme trial did happen, and only its cause (the
//! machine throttled, the scheduler was ejected) may excuse it.
//!
//! The rule is the modified z score: the distance from the median in units of the median absolute
//! deviation (Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993). The cut is ten
//! robust standard deviations, because latencies usually have heavy tails.

use crate::number::median::median;

/// The factor from a median absolute deviation to a normal standard deviation:
/// 1 / Φ⁻¹(3/4).
pub const NORMAL_SCALE: f64 = 1.482_602_218_505_602;

/// Values further than this many robust standard deviations from the median are flagged.
const FAR: f64 = 10.0;

/// The median absolute deviation, in the values' unit; `None` of an empty slice.
pub fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    median(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<_>>())
}

/// The number of outliers. If more than half of the values are the same number, every other value
/// is an outlier. Fewer than five values have none.
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
