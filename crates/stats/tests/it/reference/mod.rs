// SPDX-License-Identifier: GPL-2.0-only
//! Reference implementations: tests that the crate does not need, but that check by another way
//! what it has.

use stats::rank::hodges_lehmann::signed_rank;
use stats::rank::rank_sum::{Tails, doubled_ranks, rank_sum};

/// The p value of the two one-sided tests of equivalence within `margin`, by exact rank-sum tests
/// of shifted samples (Schuirmann, "A comparison of the two one-sided tests procedure and the power
/// approach", Journal of Pharmacokinetics and Biopharmaceutics 15(6), 1987). `None` when a sample
/// is empty.
pub fn two_one_sided(ours: &[f64], baseline: &[f64], margin: f64) -> Option<f64> {
    let moved = |by: f64| ours.iter().map(|value| value + by).collect::<Vec<_>>();
    let not_lower = rank_sum(&moved(margin), baseline)?.above;
    let not_higher = rank_sum(&moved(-margin), baseline)?.below;
    Some(not_lower.max(not_higher))
}

/// The tails of the sum of differences over all 2ⁿ choices of their signs (Fisher, "The Design of
/// Experiments", 1935, section 21). Of the signed ranks it is the signed-rank test.
pub fn sign_flip(differences: &[f64]) -> Tails {
    let sum: f64 = differences.iter().sum();
    // Sums that differ by rounding alone are the same choice of signs seen twice.
    let slack = 1e-12 * differences.iter().map(|d| d.abs()).sum::<f64>();
    let flipped = |set: u64| -> f64 {
        let sign = |at: usize| if set >> at & 1 == 1 { 1.0 } else { -1.0 };
        differences.iter().enumerate().map(|(at, d)| sign(at) * d).sum()
    };
    let sums: Vec<f64> = (0..1 << differences.len()).map(flipped).collect();
    let part = |holds: &dyn Fn(f64) -> bool| {
        sums.iter().filter(|&&flipped| holds(flipped)).count() as f64 / sums.len() as f64
    };
    Tails {
        below: part(&|flipped| flipped <= sum + slack),
        above: part(&|flipped| flipped >= sum - slack),
    }
}

/// The rank-sum test where samples may be exchanged only within their block; each block has the
/// values of both sides. Blocks that lack one of the sides say nothing; `None` when there are no
/// others. With one block it is the rank-sum test.
pub fn blocked_rank_sum(blocks: &[(Vec<f64>, Vec<f64>)]) -> Option<Tails> {
    let whole = blocks.iter().filter(|(ours, baseline)| !ours.is_empty() && !baseline.is_empty());
    let (mut observed, mut chances) = (0, vec![1.0]);
    let mut any = false;
    for (ours, baseline) in whole {
        let ranks = doubled_ranks(&[ours.as_slice(), baseline].concat());
        observed += ranks[..ours.len()].iter().sum::<usize>();
        chances = sums_of(&chances, &sums_of_choices(&ranks, ours.len()));
        any = true;
    }
    let all: f64 = chances.iter().sum();
    let part = |ways: &[f64]| ways.iter().sum::<f64>() / all;
    any.then(|| Tails { below: part(&chances[..=observed]), above: part(&chances[observed..]) })
}

/// How many choices of `chosen` of the ranks have each sum, by trying them all.
fn sums_of_choices(ranks: &[usize], chosen: usize) -> Vec<f64> {
    let mut ways = vec![0.0; ranks.iter().sum::<usize>() + 1];
    for set in (0_u32..1 << ranks.len()).filter(|set| set.count_ones() as usize == chosen) {
        let sum: usize = (0..ranks.len()).filter(|at| set >> at & 1 == 1).map(|at| ranks[at]).sum();
        ways[sum] += 1.0;
    }
    ways
}

/// The distribution of the sum of two independent numbers.
fn sums_of(one: &[f64], two: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; one.len() + two.len() - 1];
    for (at, ways) in one.iter().enumerate() {
        two.iter().enumerate().for_each(|(by, more)| sums[at + by] += ways * more);
    }
    sums
}

#[test]
fn one_block_is_the_rank_sum_test() {
    let block = (vec![1.0, 4.0, 4.0, 9.0], vec![2.0, 4.0, 0.0]);
    let whole = rank_sum(&block.0, &block.1).unwrap();
    let blocked = blocked_rank_sum(&[block, (vec![1.0], vec![])]).unwrap();
    assert!((whole.below - blocked.below).abs() < 1e-12, "{whole:?} {blocked:?}");
    assert!((whole.above - blocked.above).abs() < 1e-12, "{whole:?} {blocked:?}");
    assert_eq!(blocked_rank_sum(&[(vec![1.0], vec![])]), None);
}

/// Fisher's own example, Darwin's maize: of 32,768 choices of signs 863 give a sum as far above as
/// the observed 314 eighths of an inch (he counts 835 above and 28 equal).
#[test]
fn darwins_maize() {
    let maize = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48].map(f64::from);
    let tails = sign_flip(&maize);
    assert!((tails.above - 863.0 / 32_768.0).abs() < 1e-15, "{}", tails.above * 32_768.0);
}

#[test]
fn the_signed_rank_test_flips_the_signs_of_ranks() {
    let differences = [1.0, -2.0, 0.5, 3.0, 1.5, -2.5, 8.0];
    let ranks = [2.0, -4.0, 1.0, 6.0, 3.0, -5.0, 7.0];
    let (ours, flips) = (signed_rank(&differences).unwrap(), sign_flip(&ranks));
    assert!((ours.below - flips.below).abs() < 1e-15, "{ours:?} {flips:?}");
    assert!((ours.above - flips.above).abs() < 1e-15, "{ours:?} {flips:?}");
}

#[test]
fn samples_within_the_margin_are_equivalent() {
    let (ours, base) = ([5.0, 5.1, 5.2, 4.9, 4.8, 5.05], [5.02, 5.12, 4.93, 4.83, 5.23, 5.0]);
    assert!((two_one_sided(&ours, &base, 1.0).unwrap() - 1.0 / 924.0).abs() < 1e-12);
    assert!(two_one_sided(&ours, &base, 0.01).unwrap() > 0.3);
    assert_eq!(two_one_sided(&[], &base, 1.0), None);
}
