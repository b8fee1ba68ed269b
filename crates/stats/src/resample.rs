// SPDX-License-Identifier: GPL-2.0-only
//! Resampling: the cluster bootstrap, and medians of many resamples at a time.
//!
//! The cluster bootstrap: resample boots with replacement, then trials within each drawn boot.
//!
//! Trials of one boot resemble each other, so they are not independent: resampling only trials
//! would understate the uncertainty. The levels follow Kalibera and Jones, "Rigorous benchmarking
//! in reasonable time", ISMM 2013; resampling clusters and then their members is Davison and
//! Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8.
//!
//! Medians of sixteen resamples at a time.
//!
//! A comparison computes tens of millions of weighted medians. Resamples that walk the same
//! ascending list in parallel use vector instructions, and no branch depends on the random numbers.
//! The medians are those of [`weighted`](crate::number::quantile::weighted), and the draws are made
//! in the same order as one by one.

use model::Seed;

use crate::number::quantile::median;

pub(crate) struct Resampling<'a, const SAMPLES: usize> {
    pub samples: [&'a Clusters; SAMPLES],
    pub resamples: u32,
    /// Whether the weights of a batch stay in range, and a batch is quicker than one by one.
    pub in_batches: bool,
}

impl<const SAMPLES: usize> Resampling<'_, SAMPLES> {
    /// The replicates of a statistic, which both ways of computing it give alike.
    pub fn replicates<T>(
        &self,
        mut seed: Seed,
        of_batch: impl Fn(&[Drawn; SAMPLES]) -> [T; LANES],
        of_weights: impl Fn(&[Vec<u32>; SAMPLES]) -> Option<T>,
    ) -> Vec<T> {
        if self.in_batches {
            let mut drawn = self.samples.map(|sample| Drawn::nothing(sample.trials()));
            return batches(self.resamples, |lanes| {
                drawn.iter_mut().for_each(Drawn::clear);
                for lane in 0..lanes {
                    for (drawn, sample) in drawn.iter_mut().zip(self.samples) {
                        drawn.draw(sample, &mut seed, lane);
                    }
                }
                of_batch(&drawn)
            });
        }
        let mut weights = self.samples.map(|_| Vec::new());
        let replicate = |_| {
            for (weights, sample) in weights.iter_mut().zip(self.samples) {
                sample.resample(&mut seed, weights);
            }
            of_weights(&weights)
        };
        (0..self.resamples).filter_map(replicate).collect()
    }
}

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

    pub fn most_draws(&self) -> usize {
        self.boots() * self.members().map(<[u32]>::len).max().unwrap_or(0)
    }

    /// One resample, as how often each trial was drawn.
    pub fn resample(&self, seed: &mut Seed, weights: &mut Vec<u32>) {
        weights.clear();
        weights.resize(self.trials(), 0);
        self.each_draw(seed, |trial| weights[trial] += 1);
    }

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

/// The number of resamples in a batch.
pub const LANES: usize = 16;

type Lanes = [i16; LANES];

/// The largest total weight of a resample.
pub const MOST_WEIGHT: usize = i16::MAX as usize;

/// How often each trial was drawn, in each resample.
pub struct Drawn(Vec<Lanes>);

impl Drawn {
    pub fn nothing(trials: usize) -> Drawn {
        Drawn(vec![[0; LANES]; trials])
    }

    pub fn clear(&mut self) {
        self.0.fill([0; LANES]);
    }

    pub fn draw(&mut self, clusters: &Clusters, seed: &mut Seed, lane: usize) {
        let (trials, lane) = (self.0.as_mut_slice(), lane % LANES);
        clusters.each_draw(seed, |trial| trials[trial][lane] = trials[trial][lane].wrapping_add(1));
    }

    /// How many draws each resample has.
    fn totals(&self) -> Lanes {
        let mut totals = [0i16; LANES];
        for trial in &self.0 {
            for lane in 0..LANES {
                totals[lane] = totals[lane].wrapping_add(trial[lane]);
            }
        }
        totals
    }
}

/// This many replicates, in batches; each batch is given the number of lanes in use.
pub fn batches<T>(resamples: u32, mut batch: impl FnMut(usize) -> [T; LANES]) -> Vec<T> {
    let wanted = resamples as usize;
    let mut replicates = Vec::with_capacity(wanted);
    while replicates.len() < wanted {
        let lanes = LANES.min(wanted - replicates.len());
        replicates.extend(batch(lanes).into_iter().take(lanes));
    }
    replicates
}

/// The medians of trials in ascending order of their values.
pub fn medians(sorted: &[(f64, usize)], drawn: &Drawn) -> [f64; LANES] {
    let (totals, once) = (drawn.totals(), [1; LANES]);
    let places = middles(sorted.iter().map(|&(_, trial)| (&drawn.0[trial], &once)), &totals);
    at_places(places, &totals, |place| sorted[place].0)
}

/// The medians of differences in ascending order, each with its trial of either side.
pub fn medians_of_pairs(
    values: &[f64],
    pairs: &[(u32, u32)],
    ours: &Drawn,
    baseline: &Drawn,
) -> [f64; LANES] {
    let (a, b) = (ours.totals(), baseline.totals());
    let totals = std::array::from_fn(|lane| a[lane].wrapping_mul(b[lane]));
    let weights = pairs.iter().map(|&(i, j)| (&ours.0[i as usize], &baseline.0[j as usize]));
    at_places(middles(weights, &totals), &totals, |place| values[place])
}

/// The medians of averages of two trials in ascending order, each with its two places; a trial
/// drawn w times is combined with itself w(w + 1)/2 times.
pub fn medians_of_averages(values: &[f64], pairs: &[(u32, u32)], drawn: &Drawn) -> [f64; LANES] {
    let once = [1; LANES];
    let itself: Vec<Lanes> = drawn.0.iter().map(triangle).collect();
    let totals = triangle(&drawn.totals());
    let weights = pairs.iter().map(|&(i, j)| {
        let (i, j) = (i as usize, j as usize);
        if i == j { (&itself[i], &once) } else { (&drawn.0[i], &drawn.0[j]) }
    });
    at_places(middles(weights, &totals), &totals, |place| values[place])
}

/// How many pairs this many make, each with itself and with every other one.
fn triangle(counts: &Lanes) -> Lanes {
    counts.map(|count| (i32::from(count) * (i32::from(count) + 1) / 2) as i16)
}

/// For each resample the places of the two values in the middle, where each value counts as often
/// as the product of its weights says. The sums stay below [`MOST_WEIGHT`]; checking each of them
/// for overflow would prevent vectorisation.
fn middles<'a>(
    weights: impl Iterator<Item = (&'a Lanes, &'a Lanes)>,
    totals: &Lanes,
) -> [Lanes; 2] {
    let (low, high) = (totals.map(|total| (total + 1) / 2), totals.map(|total| total / 2 + 1));
    let (mut seen, mut lower, mut higher) = ([0i16; LANES], [0i16; LANES], [0i16; LANES]);
    for (left, right) in weights {
        for lane in 0..LANES {
            seen[lane] = seen[lane].wrapping_add(left[lane].wrapping_mul(right[lane]));
            lower[lane] = lower[lane].wrapping_add(i16::from(seen[lane] < low[lane]));
            higher[lane] = higher[lane].wrapping_add(i16::from(seen[lane] < high[lane]));
        }
    }
    [lower, higher]
}

/// The value in the middle; 0 for a resample without draws.
fn at_places(
    [lower, higher]: [Lanes; 2],
    totals: &Lanes,
    value: impl Fn(usize) -> f64,
) -> [f64; LANES] {
    std::array::from_fn(|lane| match totals[lane] {
        0 => 0.0,
        _ => {
            let (low, high) = (value(lower[lane] as usize), value(higher[lane] as usize));
            low + (high - low) / 2.0
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::number::quantile::weighted;
    use crate::rank::hodges_lehmann::Differences;
    use crate::rank::selection::Averages;

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

    /// Values with ties, and the boots that they belong to.
    fn trials() -> impl Strategy<Value = Vec<(u32, f64)>> {
        prop::collection::vec((0..5u32, (-6..6i32).prop_map(f64::from)), 1..14)
    }

    fn clusters(trials: &[(u32, f64)]) -> Clusters {
        Clusters::new(trials.iter().map(|(boot, _)| boot))
    }

    proptest! {
        #[test]
        fn as_one_by_one(ours in trials(), baseline in trials(), start in 0u64..1_000) {
            let numbers = |trials: &[(u32, f64)]| -> Vec<f64> {
                trials.iter().map(|trial| trial.1).collect()
            };
            let differences = Differences::new(&numbers(&ours), &numbers(&baseline));
            let mut sorted: Vec<(f64, usize)> = numbers(&ours).into_iter().zip(0..).collect();
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (our_boots, base_boots) = (clusters(&ours), clusters(&baseline));
            let (mut w, mut v) = (Drawn::nothing(ours.len()), Drawn::nothing(baseline.len()));
            let mut seed = Seed(start);
            for lane in 0..LANES - 1 {
                w.draw(&our_boots, &mut seed, lane);
                v.draw(&base_boots, &mut seed, lane);
            }
            let (alone, pairs) = (medians(&sorted, &w), differences.shifts(&w, &v));
            let (mut seed, mut one, mut other) = (Seed(start), Vec::new(), Vec::new());
            for lane in 0..LANES - 1 {
                our_boots.resample(&mut seed, &mut one);
                base_boots.resample(&mut seed, &mut other);
                let total = one.iter().map(|&weight| u64::from(weight)).sum();
                let weights = sorted.iter().map(|&(value, trial)| (value, u64::from(one[trial])));
                prop_assert_eq!(Some(alone[lane]), weighted(weights, total));
                prop_assert_eq!(Some(pairs[lane]), differences.shift(&one, &other));
            }
            prop_assert_eq!((alone[LANES - 1], pairs[LANES - 1]), (0.0, 0.0));
        }

        #[test]
        fn averages_as_one_by_one(trials in trials(), start in 0u64..1_000) {
            let averages = Averages::new(&trials.iter().map(|trial| trial.1).collect::<Vec<f64>>());
            let clusters = clusters(&trials);
            let (mut drawn, mut seed) = (Drawn::nothing(trials.len()), Seed(start));
            (0..LANES).for_each(|lane| drawn.draw(&clusters, &mut seed, lane));
            let (together, mut seed, mut weights) = (averages.shifts(&drawn), Seed(start), vec![]);
            for shift in together {
                clusters.resample(&mut seed, &mut weights);
                prop_assert_eq!(Some(shift), averages.shift(&weights));
            }
        }
    }
}
