// SPDX-License-Identifier: GPL-2.0-only
//! The exact rank test of two samples (Mann and Whitney, "On a Test of Whether one of Two Random
//! Variables is Stochastically Larger than the Other", Annals of Mathematical Statistics 18(1),
//! 1947), given the ties, and Holm's correction for several of them.
//!
//! The distribution of the rank sum is counted by the shift algorithm (Streitberg and Röhmel,
//! "Exact Distributions for Permutation and Rank Tests", Statistical Software Newsletter 12(1),
//! 1986).

/// The middle ranks of values, doubled so that they are whole: ties share the mean of their places.
pub fn doubled_ranks(values: &[f64]) -> Vec<usize> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        2 * below + equal + 1
    };
    values.iter().map(rank).collect()
}

/// How likely two samples of the same kind lie at least so far apart, on either side.
pub fn rank_test(one: &[f64], other: &[f64]) -> f64 {
    let together: Vec<f64> = one.iter().chain(other).copied().collect();
    let ranks = doubled_ranks(&together);
    let ways = ways(&ranks, one.len());
    let seen: usize = ranks[..one.len()].iter().sum();
    // Twice the expected sum, so that it is whole: n ranks of a mean of (N + 1) / 2, doubled twice.
    let expected = 2 * one.len() * (together.len() + 1);
    let distance = (2 * seen).abs_diff(expected);
    let far = |sum: usize| (2 * sum).abs_diff(expected) >= distance;
    let all: f64 = ways.iter().sum();
    let extreme: f64 =
        ways.iter().enumerate().filter(|(sum, _)| far(*sum)).map(|(_, ways)| ways).sum();
    if all > 0.0 { extreme / all } else { 1.0 }
}

/// In how many ways so many of the ranks make each sum.
fn ways(ranks: &[usize], chosen: usize) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0; most + 1]; chosen + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        for count in (1..=chosen).rev() {
            for sum in (rank..=most).rev() {
                ways[count][sum] += ways[count - 1][sum - rank];
            }
        }
    }
    ways.swap_remove(chosen)
}

/// Holm's adjusted chances, in the given order (Holm, "A Simple Sequentially Rejective Multiple
/// Test Procedure", Scandinavian Journal of Statistics 6(2), 1979).
pub fn holm(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|&a, &b| chances[a].total_cmp(&chances[b]));
    let (mut adjusted, mut most) = (vec![0.0; chances.len()], 0.0f64);
    for (done, at) in order.into_iter().enumerate() {
        most = most.max(chances[at] * (chances.len() - done) as f64).min(1.0);
        adjusted[at] = most;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Mann and Whitney's table for n = m = 4: P(U = 0) = 1 of 70 on either side.
    #[test]
    fn the_outermost_value_is_as_rare_as_in_the_table() {
        let p = rank_test(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]);
        assert!((p - 2.0 / 70.0).abs() < 1e-12, "{p}");
        assert!((rank_test(&[1.0, 1.0], &[1.0, 1.0]) - 1.0).abs() < 1e-12);
    }

    /// By hand: 0.01 · 4 = 0.04; 0.02 · 3 = 0.06; 0.03 · 2 = 0.06; 0.5.
    #[test]
    fn holm_steps_down_and_never_back() {
        let adjusted = holm(&[0.03, 0.01, 0.5, 0.02]);
        for (adjusted, by_hand) in adjusted.iter().zip([0.06, 0.04, 0.5, 0.06]) {
            assert!((adjusted - by_hand).abs() < 1e-12, "{adjusted} {by_hand}");
        }
        assert!(holm(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn sides_may_be_swapped(
            one in prop::collection::vec(0u8..9, 1..9),
            other in prop::collection::vec(0u8..9, 1..9),
        ) {
            let floats = |values: &[u8]| values.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
            let (one, other) = (floats(&one), floats(&other));
            let (p, q) = (rank_test(&one, &other), rank_test(&other, &one));
            prop_assert!((p - q).abs() < 1e-9 && p > 0.0 && p <= 1.0 + 1e-9);
        }
    }
}
