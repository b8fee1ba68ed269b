// SPDX-License-Identifier: GPL-2.0-only
//! Medians of sixteen resamples at a time.
//!
//! A comparison computes tens of millions of weighted medians. Resamples that walk the same
//! ascending list in parallel use vector instructions, and no branch depends on the random numbers.
//! The medians are those of [`weighted`](crate::number::median::weighted), and the draws are made
//! in the same order as one by one.

use model::Seed;

use crate::resample::bootstrap::Clusters;

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
    use super::*;
    use crate::number::median::weighted;
    use crate::rank::hodges_lehmann::Differences;
    use crate::rank::walsh::Averages;
    use proptest::prelude::*;

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
