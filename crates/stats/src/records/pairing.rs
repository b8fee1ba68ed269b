// SPDX-License-Identifier: GPL-2.0-only
//! The pairs of a randomised block design: contestant and baseline in the same block, with the same
//! arrivals, and on the same kernel in the same boot. What the block does to both is no difference
//! between them (Fisher, "The Design of Experiments", 1935, chapter 4).

use std::collections::{BTreeMap, VecDeque};

use crate::decide::verdict::RUNS_NEEDED;
use crate::records::columns::Sample;
use crate::resample::bootstrap::Clusters;

/// A number of each side for every independent unit, the baseline's in its place.
#[derive(Debug, PartialEq)]
pub(crate) struct Paired {
    /// ours − baseline.
    pub differences: Vec<f64>,
    /// The baseline's number.
    pub base: Vec<f64>,
}

/// The pairs of two sides; `None` if they are too few to say anything, or if a unit of the smaller
/// side has no partner: then blocks are not what was planned, and all runs are compared with all.
pub(crate) fn paired(ours: &[Sample], baseline: &[Sample]) -> Option<Paired> {
    let pairs = pairs(ours, baseline);
    let boots = Clusters::new(pairs.iter().map(|(one, other)| (&one.boot, &other.boot)));
    let difference = |(one, other): &(&Sample, &Sample)| one.value - other.value;
    let differences = boots.unit_values(&pairs.iter().map(difference).collect::<Vec<_>>());
    let base = boots.unit_values(&pairs.iter().map(|pair| pair.1.value).collect::<Vec<_>>());
    let all = units(ours).min(units(baseline));
    let is_whole = differences.len() >= all && all >= RUNS_NEEDED;
    is_whole.then_some(Paired { differences, base })
}

fn units(side: &[Sample]) -> usize {
    Clusters::new(side.iter().map(|sample| &sample.boot)).units()
}

/// Runs of the same block and seed, in their order where there are several.
fn pairs<'a>(ours: &'a [Sample], baseline: &'a [Sample]) -> Vec<(&'a Sample, &'a Sample)> {
    let key = |sample: &Sample| sample.met.map(|(block, seed)| (block, seed.0));
    let mut partners: BTreeMap<_, VecDeque<&Sample>> = BTreeMap::new();
    for (met, sample) in baseline.iter().filter_map(|sample| Some((key(sample)?, sample))) {
        partners.entry(met).or_default().push_back(sample);
    }
    let partner = |one: &'a Sample| Some((one, partners.get_mut(&key(one)?)?.pop_front()?));
    ours.iter().filter_map(partner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Seed;

    fn runs(values: &[f64], runs_per_boot: u32) -> Vec<Sample> {
        let sample = |(at, &value): (u32, &f64)| Sample {
            boot: (at / runs_per_boot, String::new()),
            seed: Seed(u64::from(at)),
            met: Some((at / runs_per_boot, Seed(u64::from(at)))),
            value,
        };
        (0..).zip(values).map(sample).collect()
    }

    const OURS: [f64; 6] = [11.0, 22.0, 31.0, 45.0, 51.0, 60.0];
    const BASE: [f64; 6] = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0];

    #[test]
    fn runs_of_a_block_meet() {
        let mut shuffled = runs(&OURS, 1);
        shuffled.swap(0, 4);
        let found = paired(&shuffled, &runs(&BASE, 1)).unwrap();
        // In the order of the boots.
        assert_eq!(found.differences, [1.0, 2.0, 1.0, 5.0, 1.0, 0.0]);
        assert_eq!(found.base, BASE);
    }

    #[test]
    fn boots_are_the_units() {
        let values = |by: f64| (0..18).map(|run| f64::from(run) * by).collect::<Vec<_>>();
        let found = paired(&runs(&values(2.0), 3), &runs(&values(1.0), 3)).unwrap();
        assert_eq!(found.differences, [1.0, 4.0, 7.0, 10.0, 13.0, 16.0]);
        assert_eq!(found.base, found.differences);
    }

    #[test]
    fn a_failed_run_takes_its_block_with_it() {
        let (seven, whole) = ([OURS.as_slice(), &[70.0]].concat(), [&BASE[..], &[70.0]].concat());
        let found = paired(&runs(&seven, 1)[1..], &runs(&whole, 1)).unwrap();
        assert_eq!(found.differences.len(), 6);
    }

    #[test]
    fn what_did_not_meet_is_not_paired() {
        assert_eq!(paired(&runs(&OURS[..5], 1), &runs(&BASE[..5], 1)), None, "five say nothing");
        let (ours, mut base) = (runs(&OURS, 1), runs(&BASE, 1));
        base[3].met = Some((3, Seed(99)));
        assert_eq!(paired(&ours, &base), None, "another seed");
        let alone = |mut side: Vec<Sample>| {
            side.iter_mut().for_each(|sample| sample.met = None);
            side
        };
        assert_eq!(paired(&alone(ours), &alone(runs(&BASE, 1))), None, "no blocks at all");
    }
}
