// SPDX-License-Identifier: GPL-2.0-only
//! P values, by the ranks of all trials and by matched pairs.
//!
//! The rank-sum test needs no pairs and reaches small p values with few trials, but differences
//! between blocks hide those between contestants. The signed-rank test removes what a block does to
//! both trials of a pair, but with n pairs its smallest p value is 2 of 2ⁿ. Both tests are used
//! where either could make a claim, and the smaller p value counts twice: the chance of a false
//! claim is at most the sum of theirs (Bonferroni's inequality; Dunn, "Multiple Comparisons among
//! Means", Journal of the American Statistical Association 56, 1961). Where pairs could not make a
//! claim the rank-sum test is used alone. The choice depends on the number of pairs and of
//! comparisons, and not on measured values.

use serde::{Deserialize, Serialize};

use crate::rank::holm::{ALPHA, adjust, can_claim};
use crate::rank::rank_sum::{Tails, rank_sum};
use crate::rank::signed_rank::signed_rank;
use crate::records::pairing::MatchedPairs;

/// The p values of one comparison, uncorrected.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The two-sided p value of the exact rank-sum test.
    pub by_ranks: f64,
    /// That of the signed-rank test; `None` where trials are not paired.
    pub by_pairs: Option<ByPairs>,
}

/// The result of the signed-rank test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ByPairs {
    pub p: f64,
    pub pairs: usize,
}

impl Evidence {
    /// Tests the independent trials of both samples, and their pairs if there are any; `None` if
    /// the contestant or the baseline has no number.
    pub(crate) fn from_samples(
        ours: &[f64],
        baseline: &[f64],
        pairs: Option<&MatchedPairs>,
    ) -> Option<Evidence> {
        let by_ranks = rank_sum(ours, baseline)?.two_sided();
        let by_pairs = pairs.map(|pairs| ByPairs {
            // If all differences are 0, there are no ranks and no claim.
            p: signed_rank(&pairs.differences).map_or(1.0, Tails::two_sided),
            pairs: pairs.differences.len(),
        });
        Some(Evidence { by_ranks, by_pairs })
    }

    /// The p value in a family of this many comparisons, before Holm's correction.
    pub fn p(&self, comparisons: usize) -> f64 {
        match self.by_pairs.filter(|by| pairs_tell(by.pairs, comparisons)) {
            Some(by) => (2.0 * self.by_ranks.min(by.p)).min(1.0),
            None => self.by_ranks,
        }
    }
}

/// Whether this many pairs that all agree are enough for a claim among this many comparisons: seven
/// for one, ten for 12, twelve for 51.
pub fn pairs_tell(pairs: usize, comparisons: usize) -> bool {
    2.0 * smallest_of_pairs(pairs) * comparisons as f64 <= ALPHA
}

/// The smallest two-sided p value that this many pairs can give.
pub fn smallest_of_pairs(pairs: usize) -> f64 {
    (2.0 * 0.5_f64.powi(pairs.try_into().unwrap_or(i32::MAX))).min(1.0)
}

/// How often chance alone makes a difference as large as one that was found, 0 … 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PValue {
    /// Two-sided, by the tests that a family of this size uses, before the correction.
    pub raw: f64,
    /// Corrected for all comparisons of the family (Holm).
    pub adjusted: f64,
    /// The number of comparisons in the family: all contestants against the baseline in one measure
    /// of one workload on one machine, over all settings of the workload's parameters.
    pub comparisons: usize,
    /// Independent trials: boots, or trials where all are of one boot; the smaller side's.
    pub units: usize,
    /// The tests that it comes from.
    pub evidence: Evidence,
}

impl PValue {
    /// Whether so few units can support any claim in so large a family.
    pub fn can_claim(&self) -> bool {
        can_claim(self.units, self.units, self.comparisons)
    }
}

/// Gives every comparison of a family its p value, and corrects it for the family (Holm).
pub(crate) fn correct(family: &mut [&mut PValue]) {
    let comparisons = family.len();
    for p in &mut *family {
        p.raw = p.evidence.p(comparisons);
        p.comparisons = comparisons;
    }
    let raw: Vec<f64> = family.iter().map(|p| p.raw).collect();
    family.iter_mut().zip(adjust(&raw)).for_each(|(p, adjusted)| p.adjusted = adjusted);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(by_ranks: f64, p: f64, pairs: usize) -> Evidence {
        Evidence { by_ranks, by_pairs: Some(ByPairs { p, pairs }) }
    }

    #[test]
    fn both_are_asked_where_pairs_could_tell() {
        assert_eq!(evidence(0.3, 0.002, 10).p(12), 0.004);
        assert_eq!(evidence(0.001, 0.5, 10).p(12), 0.002);
        assert_eq!(evidence(0.9, 0.8, 10).p(12), 1.0);
        assert_eq!(evidence(0.3, 0.002, 10).p(13), 0.3, "ten pairs carry twelve comparisons");
        assert_eq!(Evidence { by_ranks: 0.3, by_pairs: None }.p(1), 0.3);
    }

    #[test]
    fn larger_families_need_more_pairs() {
        let carried = |pairs| (1..99).take_while(|&family| pairs_tell(pairs, family)).count();
        assert_eq!([6, 7, 8, 10, 12].map(carried), [0, 1, 3, 12, 51]);
    }

    #[test]
    fn a_family_is_corrected_as_a_whole() {
        let p = |evidence| PValue { raw: 9.0, adjusted: 9.0, comparisons: 0, units: 10, evidence };
        let (mut one, mut other) = (p(evidence(0.3, 0.004, 10)), p(evidence(0.01, 0.9, 10)));
        correct(&mut [&mut one, &mut other]);
        assert_eq!((one.raw, one.adjusted, one.comparisons), (0.008, 0.016, 2));
        assert_eq!((other.raw, other.adjusted), (0.02, 0.02));
    }
}
