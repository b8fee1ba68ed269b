// SPDX-License-Identifier: GPL-2.0-only
//! The interval of a quantile by order statistics, which needs no distribution.
//!
//! Of n samples the number below the true quantile is binomial with chance q. So the l-th smallest
//! lies above it with probability P(B ≤ l − 1), and the u-th below it with P(B ≥ u). The interval
//! takes the innermost samples for which either is at most 2.5 % (David and Nagaraja, "Order
//! Statistics", 3rd edition 2003, section 7.1). Without such samples it is refused: p99 needs 368
//! samples, p99.9 3,688, see [`samples_needed`].

use crate::number::distributions::binomial;
use crate::number::quantile::samples_needed;

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

/// The number of probabilities, from an end on, whose sum is at most [`TAIL`].
fn steps_within<'a>(terms: impl Iterator<Item = &'a f64>) -> u64 {
    let mut sum = 0.0;
    let within = terms.take_while(|&&term| {
        sum += term;
        sum <= TAIL
    });
    within.count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
}
