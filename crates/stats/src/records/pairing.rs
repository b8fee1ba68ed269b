// SPDX-License-Identifier: GPL-2.0-only
//! Which samples of a contestant and of the baseline are compared with each other.
//!
//! - **By seed** ([`by_seed`]). Under a virtual clock a number is exact, and trials of one seed
//!   faced the same arrivals, in whatever block or session they ran.
//! - **By block and seed** ([`MatchedPairs`]): the matched pairs of a randomised block design. Both
//!   trials ran in the same block with the same arrivals, and on a kernel in the same boot. The
//!   effect of the block on both is not a difference between them (Fisher, "The Design of
//!   Experiments", 1935, chapter 4).

use serde::{Deserialize, Serialize};

use crate::number::interval::TRIALS_NEEDED;
use crate::number::quantile::median;
use crate::records::columns::{Sample, boots};
use crate::resample::Clusters;

/// The numbers of every seed that both have, ours first, in the order of the seeds. Several samples
/// of one seed give their median.
pub(crate) fn by_seed(ours: &[Sample], baseline: &[Sample]) -> Vec<(f64, f64)> {
    let (ours, baseline) = (medians_by_seed(ours), medians_by_seed(baseline));
    let pair = |&(seed, value): &(u64, f64)| {
        let partner = baseline.binary_search_by_key(&seed, |of_seed| of_seed.0).ok()?;
        Some((value, baseline[partner].1))
    };
    ours.iter().filter_map(pair).collect()
}

/// In the order of the seeds.
fn medians_by_seed(samples: &[Sample]) -> Vec<(u64, f64)> {
    let mut values: Vec<(u64, f64)> = samples.iter().map(|one| (one.seed.0, one.value)).collect();
    values.sort_by_key(|value| value.0);
    let of_seed = |same: &[(u64, f64)]| match same {
        [only] => Some(*only),
        many => Some((many[0].0, median(&many.iter().map(|value| value.1).collect::<Vec<_>>())?)),
    };
    values.chunk_by(|a, b| a.0 == b.0).filter_map(of_seed).collect()
}

/// In how many seeds a contestant's number is below, equal to or above the baseline's number of the
/// same seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedCounts {
    /// Seeds with a lower number than the baseline's.
    pub lower: usize,
    /// Seeds with exactly the baseline's number.
    pub equal: usize,
    /// Seeds with a higher number than the baseline's.
    pub higher: usize,
}

impl SeedCounts {
    pub(crate) fn from_samples(ours: &[Sample], baseline: &[Sample]) -> SeedCounts {
        let pairs = by_seed(ours, baseline);
        let count = |holds: fn(f64, f64) -> bool| {
            pairs.iter().filter(|&&(own, base)| holds(own, base)).count()
        };
        SeedCounts {
            lower: count(|own, base| own < base),
            equal: count(|own, base| own == base),
            higher: count(|own, base| own > base),
        }
    }
}

/// The matched pairs of a contestant and the baseline: one pair for each independent unit (a boot,
/// or a trial where all trials belong to one boot).
#[derive(Debug, PartialEq)]
pub(crate) struct MatchedPairs {
    /// The contestant's number minus the baseline's.
    pub differences: Vec<f64>,
    /// The baseline's numbers, in the same order.
    pub base: Vec<f64>,
}

impl MatchedPairs {
    /// `None` with fewer than [`TRIALS_NEEDED`] pairs, or if a unit of the smaller side has no
    /// partner: then blocks are incomplete, and the samples are compared unpaired.
    pub fn from_samples(ours: &[Sample], baseline: &[Sample]) -> Option<MatchedPairs> {
        let pairs = by_block_and_seed(ours, baseline);
        let units = Clusters::new(pairs.iter().map(|(own, base)| (own.boot, base.boot)));
        let difference = |(own, base): &(&Sample, &Sample)| own.value - base.value;
        let differences = units.unit_values(&pairs.iter().map(difference).collect::<Vec<_>>());
        let base = units.unit_values(&pairs.iter().map(|pair| pair.1.value).collect::<Vec<_>>());
        let planned = boots(ours).units().min(boots(baseline).units());
        let is_whole = differences.len() >= planned && planned >= TRIALS_NEEDED;
        is_whole.then_some(MatchedPairs { differences, base })
    }
}

/// Samples with the same [`model::Trial::pairing_key`]; several with one key are paired in their
/// order.
fn by_block_and_seed<'a>(
    ours: &'a [Sample],
    baseline: &'a [Sample],
) -> Vec<(&'a Sample, &'a Sample)> {
    let key = |sample: &Sample| sample.block.map(|block| (block, sample.seed.0));
    let keyed = baseline.iter().filter_map(|sample| Some((key(sample)?, sample)));
    let mut partners: Vec<_> = keyed.collect();
    partners.sort_by_key(|partner| partner.0);
    // How many of a key are paired, at the place of its first one.
    let mut paired = vec![0; partners.len()];
    let pair = |own: &'a Sample| {
        let key = key(own)?;
        let first = partners.partition_point(|partner| partner.0 < key);
        let paired = paired.get_mut(first)?;
        let (of_key, partner) = partners.get(first + *paired)?;
        *paired += 1;
        (*of_key == key).then_some((own, *partner))
    };
    ours.iter().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Seed;

    fn trials(values: &[f64], trials_per_boot: u32) -> Vec<Sample> {
        let sample = |(at, &value): (u32, &f64)| Sample {
            boot: at / trials_per_boot,
            block: Some(at / trials_per_boot),
            seed: Seed(u64::from(at)),
            value,
        };
        (0..).zip(values).map(sample).collect()
    }

    const OURS: [f64; 6] = [11.0, 22.0, 31.0, 45.0, 51.0, 60.0];
    const BASE: [f64; 6] = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0];

    #[test]
    fn trials_of_a_block_and_seed_are_matched() {
        let mut shuffled = trials(&OURS, 1);
        shuffled.swap(0, 4);
        let found = MatchedPairs::from_samples(&shuffled, &trials(&BASE, 1)).unwrap();
        // In the order of the boots.
        assert_eq!(found.differences, [1.0, 2.0, 1.0, 5.0, 1.0, 0.0]);
        assert_eq!(found.base, BASE);
    }

    #[test]
    fn boots_are_the_units() {
        let values = |by: f64| (0..18).map(|trial| f64::from(trial) * by).collect::<Vec<_>>();
        let found =
            MatchedPairs::from_samples(&trials(&values(2.0), 3), &trials(&values(1.0), 3)).unwrap();
        assert_eq!(found.differences, [1.0, 4.0, 7.0, 10.0, 13.0, 16.0]);
        assert_eq!(found.base, found.differences);
    }

    #[test]
    fn a_failed_trial_takes_its_block_with_it() {
        let (seven, whole) = ([OURS.as_slice(), &[70.0]].concat(), [&BASE[..], &[70.0]].concat());
        let found =
            MatchedPairs::from_samples(&trials(&seven, 1)[1..], &trials(&whole, 1)).unwrap();
        assert_eq!(found.differences.len(), 6);
    }

    #[test]
    fn trials_without_a_common_key_are_not_matched() {
        assert_eq!(
            MatchedPairs::from_samples(&trials(&OURS[..5], 1), &trials(&BASE[..5], 1)),
            None,
            "five say nothing"
        );
        let (ours, mut base) = (trials(&OURS, 1), trials(&BASE, 1));
        base[3].seed = Seed(99);
        assert_eq!(MatchedPairs::from_samples(&ours, &base), None, "another seed");
        let alone = |mut side: Vec<Sample>| {
            side.iter_mut().for_each(|sample| sample.block = None);
            side
        };
        assert_eq!(
            MatchedPairs::from_samples(&alone(ours), &alone(trials(&BASE, 1))),
            None,
            "no blocks at all"
        );
    }
}
