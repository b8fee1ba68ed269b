// SPDX-License-Identifier: GPL-2.0-only
//! The cluster bootstrap: resample boots with replacement, then trials within each drawn boot.
//!
//! Trials of one boot resemble each other, so they are not independent: resampling only trials
//! would understate the uncertainty. The levels follow Kalibera and Jones, "Rigorous benchmarking
//! in reasonable time", ISMM 2013; resampling clusters and then their members is Davison and
//! Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8.

use model::Seed;

use crate::number::median::median;

/// Which trials belong to which boot.
pub struct Clusters {
    /// Boot after boot.
    trials: Vec<u32>,
    /// Where each boot begins in [`Clusters::trials`], and the end.
    bounds: Vec<usize>,
    /// 0, 1, … for each boot, to draw one.
    places: Vec<u32>,
}

impl Clusters {
    /// From the boot of every trial, in the order of the trials.
    pub fn new<K: Ord>(boots: impl IntoIterator<Item = K>) -> Clusters {
        // Tens of thousands of boots with one trial each are usual: a list for each is too slow.
        let mut by_boot: Vec<(K, u32)> = boots.into_iter().zip(0..).collect();
        by_boot.sort_unstable();
        let mut bounds = vec![0];
        for boot in by_boot.chunk_by(|a, b| a.0 == b.0) {
            bounds.push(bounds[bounds.len() - 1] + boot.len());
        }
        let places = (0..bounds.len() as u32 - 1).collect();
        Clusters { trials: by_boot.into_iter().map(|(_, trial)| trial).collect(), bounds, places }
    }

    pub fn trials(&self) -> usize {
        self.trials.len()
    }

    pub fn boots(&self) -> usize {
        self.places.len()
    }

    /// The trials of each boot.
    fn members(&self) -> impl Iterator<Item = &[u32]> {
        self.bounds.windows(2).map(|ends| &self.trials[ends[0]..ends[1]])
    }

    /// The number of independent units behind an interval: the boots, or the trials if there is
    /// only one boot (the interval then says nothing about other boots).
    pub fn units(&self) -> usize {
        if self.boots() > 1 { self.boots() } else { self.trials() }
    }

    /// One number for each independent unit: the median of each boot's trials, or the trials
    /// themselves when there is only one boot. `values` are those of the trials, in their order.
    pub fn unit_values(&self, values: &[f64]) -> Vec<f64> {
        if self.boots() <= 1 {
            return values.to_vec();
        }
        let value_of = |trials: &[u32]| match trials {
            [only] => Some(values[*only as usize]),
            many => {
                let own: Vec<f64> = many.iter().map(|&trial| values[trial as usize]).collect();
                median(&own)
            }
        };
        self.members().filter_map(value_of).collect()
    }

    /// The most draws that a resample can have.
    pub fn most_draws(&self) -> usize {
        self.boots() * self.members().map(<[u32]>::len).max().unwrap_or(0)
    }

    /// One resample, as how often each trial was drawn.
    pub fn resample(&self, seed: &mut Seed, weights: &mut Vec<u32>) {
        weights.clear();
        weights.resize(self.trials(), 0);
        self.each_draw(seed, |trial| weights[trial] += 1);
    }

    /// One resample, draw by draw.
    #[inline]
    pub fn each_draw(&self, seed: &mut Seed, mut drawn: impl FnMut(usize)) {
        // A local copy of the seed stays in a register; there are hundreds of millions of draws.
        let mut chance = *seed;
        let mut any = |trials: &[u32]| trials[chance.below(trials.len() as u64) as usize] as usize;
        if self.boots() == self.trials() {
            // Nothing is drawn within boots.
            self.trials.iter().for_each(|_| drawn(any(&self.trials)));
        } else {
            for _ in &self.places {
                let boot = any(&self.places);
                match &self.trials[self.bounds[boot]..self.bounds[boot + 1]] {
                    [only] => drawn(*only as usize),
                    many => many.iter().for_each(|_| drawn(any(many))),
                }
            }
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
