// SPDX-License-Identifier: GPL-2.0-only
//! Quantiles of one trial's distribution, refused when the trial has too few samples for them.
//!
//! A quantile is bounded from both sides with 95 % confidence only if order statistics exist above
//! and below it: `q^n ≤ 0.025` (David and Nagaraja, "Order Statistics", 3rd edition 2003, section
//! 7.1). That takes 6 samples for the median, 36 for p90, 368 for p99, and 3,688 for p99.9. The
//! value that is compared is a trial's quantile, so the samples must be in that trial; pooling
//! trials would hide how much they differ.
//!
//! The interval of a quantile by order statistics, which needs no distribution.
//!
//! Of n samples the number below the true quantile is binomial with chance q. So the l-th smallest
//! lies above it with probability P(B ≤ l − 1), and the u-th below it with P(B ≥ u). The interval
//! takes the innermost samples for which either is at most 2.5 % (David and Nagaraja, "Order
//! Statistics", 3rd edition 2003, section 7.1). Without such samples it is refused: p99 needs 368
//! samples, p99.9 3,688, see [`samples_needed`].
//!
//! The median: the middle of the ordered values, or the mean of the two middle ones.
//!
//! Tables print it as the location, because run times have heavy tails and a mean follows them
//! (Hoefler and Belli, "Scientific benchmarking of parallel computing systems", SC 2015).

use model::Histogram;

use crate::number::distributions::binomial;
use crate::number::interval::Interval;

/// The number of samples that a quantile (0 < q < 1) needs, see the module's text.
pub fn samples_needed(quantile: f64) -> u64 {
    let outer = quantile.max(1.0 - quantile);
    (0.025f64.ln() / outer.ln()).ceil() as u64
}

/// A trial's quantile in the samples' unit, or why there is none.
pub fn quantile(histogram: &Histogram, quantile: f64) -> Result<f64, String> {
    let needed = samples_needed(quantile);
    if histogram.count < needed {
        let percent = (quantile * 1e6).round() / 1e4;
        return Err(format!("too few samples in the trial for p{percent} (it needs {needed})"));
    }
    histogram.quantile(quantile).map(|value| value as f64).ok_or_else(|| "no samples".into())
}

/// The probability that is left out on each side.
const TAIL: f64 = 0.025;

/// The two ranks, counted from 1, whose samples bound the quantile (0 < q < 1) with 95 %
/// confidence.
///
/// # Errors
/// The number of samples that it needs, if there are fewer.
pub fn ranks(count: u64, quantile: f64) -> Result<(u64, u64), u64> {
    let needed = samples_needed(quantile);
    if count < needed {
        return Err(needed);
    }
    let (first, terms) = binomial(count, quantile);
    let below = steps_within(terms.iter());
    let above = steps_within(terms.iter().rev());
    let last = first + terms.len() as u64 - 1;
    Ok(((first + below).max(1), (last + 1 - above).min(count)))
}

/// The 95 % interval of the median of a sample; `None` of fewer than six values, which have none.
pub fn median_interval(values: &[f64]) -> Option<Interval> {
    let (low, high) = ranks(values.len() as u64, 0.5).ok()?;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let of_rank = |rank: u64| sorted.get(rank as usize - 1).copied();
    Some(Interval { low: of_rank(low)?, high: of_rank(high)? })
}

/// The number of probabilities, from an end on, whose sum is at most [`TAIL`].
fn steps_within<'a>(terms: impl Iterator<Item = &'a f64>) -> u64 {
    let mut sum = 0.0;
    let within = terms.take_while(|&&term| {
        sum += term;
        sum <= TAIL
    });
    within.count() as u64
}

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
    use proptest::prelude::*;

    use super::*;

    fn uniform(count: u64) -> Histogram {
        let buckets = (1..=count).map(|value| (value, 1)).collect();
        Histogram { count, min: 1, max: count, buckets, ..Histogram::default() }
    }

    #[test]
    fn the_published_sample_sizes() {
        let sizes =
            [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368), (0.999, 3_688), (0.9999, 36_887)];
        for (quantile, needed) in sizes {
            assert_eq!(samples_needed(quantile), needed, "{quantile}");
        }
    }

    #[test]
    fn refuses_what_the_samples_cannot_carry() {
        assert_eq!(quantile(&uniform(368), 0.99), Ok(365.0));
        let refusal = quantile(&uniform(367), 0.99).unwrap_err();
        assert_eq!(refusal, "too few samples in the trial for p99 (it needs 368)");
        assert!(quantile(&uniform(1000), 0.999).unwrap_err().contains("p99.9 (it needs 3688)"));
        assert!(quantile(&Histogram::default(), 0.5).is_err());
    }

    proptest! {
        #[test]
        fn grows_with_the_quantile(
            count in 3_688u64..5_000, low in 0.01..0.5f64, high in 0.5..0.999f64,
        ) {
            let histogram = uniform(count);
            prop_assert!(quantile(&histogram, low).unwrap() <= quantile(&histogram, high).unwrap());
        }
    }

    /// By the printed binomial table: of 10 samples the second and the ninth (P(B ≤ 1) = 0.011, P(B
    /// ≤ 2) = 0.055), of 20 the sixth and the fifteenth (0.021 and 0.058).
    #[test]
    fn the_medians_printed_ranks() {
        assert_eq!(
            (ranks(6, 0.5), ranks(10, 0.5), ranks(20, 0.5)),
            (Ok((1, 6)), Ok((2, 9)), Ok((6, 15)))
        );
    }

    #[test]
    fn tails_are_refused_without_the_samples_for_them() {
        assert_eq!((ranks(367, 0.99), ranks(3_687, 0.999)), (Err(368), Err(3_688)));
        assert_eq!(ranks(368, 0.99).map(|(_, high)| high), Ok(368));
        assert_eq!(ranks(3_688, 0.999).map(|(_, high)| high), Ok(3_688));
        assert_eq!(ranks(5, 0.5), Err(6));
    }

    proptest! {
        #[test]
        fn the_quantile_lies_between_the_ranks(n in 6u64..20_000, q in 0.02..0.98f64) {
            if let Ok((low, high)) = ranks(n, q) {
                prop_assert!(low as f64 <= n as f64 * q + 1.0 && n as f64 * q <= high as f64);
                prop_assert!(1 <= low && low < high && high <= n);
            }
        }
    }

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
