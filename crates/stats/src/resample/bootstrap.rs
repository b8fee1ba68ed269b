// SPDX-License-Identifier: GPL-2.0-only
//! The cluster bootstrap: resample boots with replacement, then trials within each drawn boot.
//!
//! Trials of one boot resemble each other, so they are not independent: resampling only trials
//! would understate the uncertainty. The levels follow Kalibera and Jones, "Rigorous benchmarking
//! in reasonable time", ISMM 2013; resampling clusters and then their members is Davison and
//! Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8.

use std::collections::BTreeMap;

use model::Seed;

use crate::number::median::median;

/// Which trials belong to which boot.
pub struct Clusters {
    members: Vec<Vec<u32>>,
    /// The only trial of every boot, if no boot has two: then nothing is drawn within boots.
    single: Option<Vec<u32>>,
    /// 0, 1, … for each boot, to draw one.
    places: Vec<u32>,
    trials: usize,
}

impl Clusters {
    /// From the boot of every trial, in the order of the trials.
    pub fn new<K: Ord>(boots: impl IntoIterator<Item = K>) -> Clusters {
        let mut by_boot: BTreeMap<K, Vec<u32>> = BTreeMap::new();
        let mut trials = 0;
        for (trial, boot) in boots.into_iter().enumerate() {
            by_boot.entry(boot).or_default().push(trial as u32);
            trials = trial + 1;
        }
        let members: Vec<Vec<u32>> = by_boot.into_values().collect();
        let only =
            |trials: &Vec<u32>| if let [only] = trials.as_slice() { Some(*only) } else { None };
        let places = (0..members.len() as u32).collect();
        Clusters { single: members.iter().map(only).collect(), places, members, trials }
    }

    pub fn trials(&self) -> usize {
        self.trials
    }

    pub fn boots(&self) -> usize {
        self.members.len()
    }

    /// The number of independent units behind an interval: the boots, or the trials if there is
    /// only one boot (the interval then says nothing about other boots).
    pub fn units(&self) -> usize {
        if self.boots() > 1 { self.boots() } else { self.trials }
    }

    /// One number for each independent unit: the median of each boot's trials, or the trials
    /// themselves when there is only one boot. `values` are those of the trials, in their order.
    pub fn unit_values(&self, values: &[f64]) -> Vec<f64> {
        if self.boots() <= 1 {
            return values.to_vec();
        }
        let values_of = |trials: &Vec<u32>| {
            trials.iter().map(|&trial| values[trial as usize]).collect::<Vec<_>>()
        };
        self.members.iter().filter_map(|trials| median(&values_of(trials))).collect()
    }

    /// The most draws that a resample can have.
    pub fn most_draws(&self) -> usize {
        self.members.len() * self.members.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// One resample, as how often each trial was drawn.
    pub fn resample(&self, seed: &mut Seed, weights: &mut Vec<u32>) {
        weights.clear();
        weights.resize(self.trials, 0);
        self.each_draw(seed, |trial| weights[trial] += 1);
    }

    /// One resample, draw by draw.
    #[inline]
    pub fn each_draw(&self, seed: &mut Seed, mut drawn: impl FnMut(usize)) {
        // A local copy of the seed stays in a register; there are hundreds of millions of draws.
        let mut chance = *seed;
        let mut any = |trials: &[u32]| trials[chance.below(trials.len() as u64) as usize] as usize;
        match &self.single {
            Some(single) => single.iter().for_each(|_| drawn(any(single))),
            None => self.members.iter().for_each(|_| {
                let boot = self.members[any(&self.places)].as_slice();
                match boot {
                    [only] => drawn(*only as usize),
                    many => many.iter().for_each(|_| drawn(any(many))),
                }
            }),
        }
        *seed = chance;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whole_boots_come_and_go_together() {
        let clusters = Clusters::new([1, 1, 1, 2, 2, 2]);
        assert_eq!((clusters.boots(), clusters.units()), (2, 2));
        let (mut seed, mut weights) = (Seed(3), Vec::new());
        for _ in 0..100 {
            clusters.resample(&mut seed, &mut weights);
            let first: u32 = weights[..3].iter().sum();
            assert!(first.is_multiple_of(3) && weights.iter().sum::<u32>() == 6, "{weights:?}");
        }
    }

    #[test]
    fn one_boot_leaves_its_trials_as_units() {
        assert_eq!(Clusters::new(["a"; 5]).units(), 5);
        assert_eq!(Clusters::new([""; 0]).units(), 0);
    }

    #[test]
    fn a_boot_is_one_unit_with_its_median() {
        let values = [1.0, 2.0, 9.0, 5.0, 7.0];
        assert_eq!(Clusters::new([1, 1, 1, 2, 2]).unit_values(&values), [2.0, 6.0]);
        assert_eq!(Clusters::new([1; 5]).unit_values(&values), values);
    }

    #[test]
    fn trials_are_drawn_equally_often() {
        let clusters = Clusters::new([1, 1, 2, 2, 3, 3, 4, 4]);
        let (mut seed, mut weights, mut total) = (Seed(11), Vec::new(), [0u32; 8]);
        for _ in 0..20_000 {
            clusters.resample(&mut seed, &mut weights);
            total.iter_mut().zip(&weights).for_each(|(sum, weight)| *sum += weight);
        }
        assert!(total.iter().all(|&drawn| drawn.abs_diff(20_000) < 800), "{total:?}");
    }

    proptest! {
        #[test]
        fn equal_boots_keep_the_number_of_trials(
            boots in 1u32..8, trials in 1u32..6, start in 0u64..99,
        ) {
            let clusters = Clusters::new((0..boots * trials).map(|trial| trial / trials));
            let mut weights = Vec::new();
            clusters.resample(&mut Seed(start), &mut weights);
            prop_assert_eq!(weights.iter().sum::<u32>(), boots * trials);
        }
    }
}
