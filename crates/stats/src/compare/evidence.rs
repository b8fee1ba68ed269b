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
//!
//! The noise floor: the largest difference that two sets of trials show although nothing differs.
//!
//! Between independent trials of one contestant, logarithms of a measure have a standard deviation
//! `s`. The difference between the means of `n` trials and of `n` others then lies within `± t · s
//! · √(2/n)` in 95 % of experiments (Student, "The probable error of a mean", Biometrika 6(1),
//! 1908; `t` with `2n − 2` degrees of freedom). A smaller difference is not distinguishable from
//! none. Under a virtual clock there is no noise: seeds are a parameter.

use std::collections::BTreeMap;

use model::{Clock, MeasureKey, Record, Scatter};
use serde::{Deserialize, Serialize};

use crate::number::distributions::student_quantile;
use crate::rank::hodges_lehmann::signed_rank;
use crate::rank::rank_sum::{ALPHA, Tails, adjust, can_claim, rank_sum};
use crate::records::columns::{Column, Numbers, cells, headlines};
use crate::records::pairing::MatchedPairs;

/// The p values of one comparison, uncorrected.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The two-sided p value of the exact rank-sum test.
    pub by_ranks: f64,
    /// That of the signed-rank test; `None` where trials are not paired.
    pub by_pairs: Option<ByPairs>,
}

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

/// The fewest trials from which a scatter is estimated.
pub const TRIALS_FOR_SCATTER: usize = 3;

/// The noise floor of a measure in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// The noise floor: differences within ± this many percent are no larger than those between
    /// trials of the same contestant.
    pub percent: f64,
    /// The number of independent trials that it comes from.
    pub trials: usize,
    /// Whether these were A/A trials before the experiment; else the baseline's own trials.
    pub before: bool,
}

/// The floor for `units` independent trials of either contestant, in percent; `deviation` is that
/// of natural logarithms. `None` for fewer than two trials.
fn floor_percent(deviation: f64, units: usize) -> Option<f64> {
    let degrees = units.checked_sub(1).filter(|&more| more > 0)? * 2;
    let half_width = student_quantile(degrees) * deviation * (2.0 / units as f64).sqrt();
    Some(half_width.exp_m1() * 100.0)
}

/// The pooled standard deviation of natural logarithms within groups of equal trials. `None`
/// with fewer than [`TRIALS_FOR_SCATTER`] trials, and where a number is not above 0.
pub fn deviation(groups: &[Vec<f64>]) -> Option<f64> {
    let trials: usize = groups.iter().map(Vec::len).sum();
    let degrees = trials.checked_sub(groups.iter().filter(|group| !group.is_empty()).count())?;
    if trials < TRIALS_FOR_SCATTER
        || degrees == 0
        || groups.iter().flatten().any(|value| *value <= 0.0)
    {
        return None;
    }
    let squares: f64 = groups.iter().map(|group| squares(group)).sum();
    Some((squares / degrees as f64).sqrt())
}

/// The sum of squared distances of logarithms from their mean.
fn squares(values: &[f64]) -> f64 {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    logarithms.iter().map(|value| (value - mean).powi(2)).sum()
}

/// The scatter between A/A trials, whose contestants are all the same. Only of headline measures
/// with a better direction, and only under a real clock.
pub fn scatter(records: &[Record]) -> Vec<Scatter> {
    let mut all = Vec::new();
    for (key, records) in cells(records) {
        if records[0].trial.clock() == Clock::Virtual {
            continue;
        }
        let numbers = Numbers::new(&records);
        for measure in headlines(&records).into_iter().filter(MeasureKey::judges) {
            let groups = units(&numbers.columns(&measure));
            let Some(deviation) = deviation(&groups) else { continue };
            all.push(Scatter {
                backend: key.backend,
                machine: key.machine.clone(),
                cell: records[0].trial.workload.cell(),
                measure: measure.to_string(),
                deviation,
                trials: groups.iter().map(Vec::len).sum(),
            });
        }
    }
    all
}

fn units(columns: &BTreeMap<String, Column>) -> Vec<Vec<f64>> {
    columns.values().map(|column| column.independent_values(Clock::Real)).collect()
}

/// The noise floor of a row: from A/A trials before the experiment, else from the baseline's own
/// trials.
pub(crate) fn noise(
    before: Option<&Scatter>,
    baseline: &Column,
    measure: &MeasureKey,
    clock: Clock,
) -> Option<Noise> {
    if clock == Clock::Virtual || !measure.judges() {
        return None;
    }
    let own = baseline.independent_values(clock);
    let (deviation, trials) = match before {
        Some(found) => (found.deviation, found.trials),
        None => (deviation(std::slice::from_ref(&own))?, own.len()),
    };
    let percent = floor_percent(deviation, own.len())?;
    Some(Noise { percent, trials, before: before.is_some() })
}

#[cfg(test)]
mod tests {
    use model::Seed;

    use super::*;
    use crate::sample_size::normal;

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

    #[test]
    fn equals_come_out_within_the_floor_as_often_as_promised() {
        let (mut seed, mut within) = (Seed(1), 0);
        let mut trials = || (0..8).map(|_| (normal(&mut seed) * 0.03).exp() * 7.0).collect();
        for _ in 0..2_000 {
            let (ours, base): (Vec<f64>, Vec<f64>) = (trials(), trials());
            let mean = |v: &[f64]| v.iter().map(|x| x.ln()).sum::<f64>() / v.len() as f64;
            let apart = ((mean(&ours) - mean(&base)).exp() - 1.0).abs() * 100.0;
            let deviation = deviation(&[ours, base]).unwrap();
            within += u32::from(apart <= floor_percent(deviation, 8).unwrap());
        }
        assert!((1_860..=1_940).contains(&within), "{within} of 2,000; 1,900 are promised");
    }

    #[test]
    fn a_case_by_hand() {
        // Logarithms 0, 1, 2 about 1: variance 1; t with 4 degrees of freedom is 2.776.
        let values = [0.0_f64, 1.0, 2.0].map(f64::exp).to_vec();
        let found = deviation(&[values]).unwrap();
        assert!((found - 1.0).abs() < 1e-12);
        let percent = floor_percent(0.01, 3).unwrap();
        assert!((percent - 2.2926).abs() < 1e-3, "{percent}");
    }

    #[test]
    fn what_says_nothing_is_nothing() {
        assert_eq!(deviation(&[vec![1.0, 2.0]]), None);
        assert_eq!(deviation(&[vec![1.0], vec![2.0], vec![3.0]]), None);
        assert_eq!(deviation(&[vec![0.0, 1.0, 2.0]]), None);
        assert_eq!((floor_percent(0.1, 1), floor_percent(0.1, 0)), (None, None));
    }
}
