// SPDX-License-Identifier: GPL-2.0-only
//! The shift function: how far two distributions differ at each of their quantiles.
//!
//! A single number for a latency hides that a scheduler may shorten the middle and lengthen the
//! tail. The shift function is the shift of every quantile (Doksum, "Empirical probability plots
//! and statistical inference for nonlinear models", Annals of Statistics 2(2), 1974; in use:
//! Rousselet, Pernet, Wilcox, European Journal of Neuroscience 46(2), 2017). Trials are the
//! replicates: each trial gives one value of a quantile. The shift is Hodges and Lehmann's, of
//! matched pairs or between all trials, with its interval. Holm's correction covers all quantiles
//! and, where one chart shows several contestants, all of theirs ([`shift_functions`]).

use model::{Histogram, Seed};

use crate::compare::evidence::{self, PValue};
use crate::compare::shift::{Shift, p_value, shift};
use crate::number::quantile::quantile;
use crate::records::columns::Sample;
use crate::records::pairing::MatchedPairs;

/// One trial's distribution with the boot that it belongs to.
#[derive(Clone, Copy)]
pub struct TrialDistribution<'a> {
    /// Trials of one boot resemble each other.
    pub boot: u32,
    /// See [`model::Trial::pairing_key`].
    pub pairing_key: Option<(u32, Seed)>,
    pub histogram: &'a Histogram,
}

pub struct Contestant<'a> {
    /// Its name, from which its seed is derived.
    pub name: &'a str,
    pub trials: Vec<TrialDistribution<'a>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct QuantileShift {
    /// The quantile, 0 … 1.
    pub quantile: f64,
    /// The shift ours − baseline, or why there is none.
    pub shift: Result<Shift, String>,
    /// The p value of the exact tests of the boots' medians, corrected for all quantiles that have
    /// a shift (Holm).
    pub p_adjusted: Option<f64>,
}

/// The shift functions of several contestants against one baseline at ascending quantiles, as a
/// reader sees them in one picture: Holm's correction covers all quantiles of all of them. Where
/// any trial has too few samples for a quantile, there is no shift.
pub fn shift_functions(
    contestants: &[Contestant],
    baseline: &[TrialDistribution],
    quantiles: &[f64],
    resamples: u32,
    seed: Seed,
) -> Vec<Vec<QuantileShift>> {
    let steps = |contestant: &Contestant| {
        let seed = seed.derive(contestant.name);
        uncorrected(&contestant.trials, baseline, quantiles, resamples, seed)
    };
    corrected(contestants.iter().map(steps).collect())
}

/// A step with its p value as if it were the only comparison.
type Raw = (QuantileShift, Option<PValue>);

fn uncorrected(
    ours: &[TrialDistribution],
    baseline: &[TrialDistribution],
    quantiles: &[f64],
    resamples: u32,
    seed: Seed,
) -> Vec<Raw> {
    let step = |&at: &f64| {
        let sides = values(ours, at).and_then(|ours| Ok((ours, values(baseline, at)?)));
        let (shift, p) = match sides {
            Err(why) => (Err(why), None),
            Ok((ours, baseline)) => {
                let seed = seed.derive(&format!("quantile {at}"));
                let pairs = MatchedPairs::from_samples(&ours, &baseline);
                let shift = shift(&ours, &baseline, pairs.as_ref(), resamples, seed);
                let p = p_value(&ours, &baseline, pairs.as_ref());
                (shift.ok_or_else(|| "no trials".into()), p)
            }
        };
        (QuantileShift { quantile: at, shift, p_adjusted: None }, p)
    };
    quantiles.iter().map(step).collect()
}

/// Corrects all of them as one family.
fn corrected(mut all: Vec<Vec<Raw>>) -> Vec<Vec<QuantileShift>> {
    let mut family: Vec<&mut PValue> =
        all.iter_mut().flatten().filter_map(|(_, p)| p.as_mut()).collect();
    evidence::correct(&mut family);
    let with = |(step, p): Raw| QuantileShift { p_adjusted: p.map(|p| p.adjusted), ..step };
    all.into_iter().map(|steps| steps.into_iter().map(with).collect()).collect()
}

/// The quantile of every trial, with its boot and pairing key.
fn values(trials: &[TrialDistribution], at: f64) -> Result<Vec<Sample>, String> {
    let sample = |trial: &TrialDistribution| {
        let value = quantile(trial.histogram, at)?;
        let (block, seed) = trial.pairing_key.unzip();
        Ok(Sample { boot: trial.boot, block, seed: seed.unwrap_or(Seed(0)), value })
    };
    trials.iter().map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A thousand samples from `low` on, `step` apart.
    fn histogram(low: u64, step: u64) -> Histogram {
        let buckets = (0..1000).map(|at| (low + at * step, 1)).collect();
        let (min, max) = (low, low + 999 * step);
        Histogram { count: 1000, min, max, buckets, ..Histogram::default() }
    }

    fn trials(all: &[Histogram]) -> Vec<TrialDistribution<'_>> {
        let trial = |(histogram, boot)| TrialDistribution {
            boot,
            pairing_key: Some((boot, Seed(1))),
            histogram,
        };
        all.iter().zip(0..).map(trial).collect()
    }

    fn shift_function(
        ours: &[Histogram],
        base: &[Histogram],
        quantiles: &[f64],
    ) -> Vec<QuantileShift> {
        let ours = [Contestant { name: "ours", trials: trials(ours) }];
        shift_functions(&ours, &trials(base), quantiles, 50, Seed(1)).remove(0)
    }

    #[test]
    fn a_longer_tail_shows_where_it_is() {
        let base: Vec<Histogram> = (0..8).map(|trial| histogram(5_000 + trial, 10)).collect();
        let ours: Vec<Histogram> = (0..8).map(|trial| histogram(4_000 + trial, 14)).collect();
        let steps = shift_function(&ours, &base, &[0.1, 0.5, 0.9, 0.9999]);
        let shift = |at: usize| steps[at].shift.clone().unwrap().value;
        // 1,000 less to begin with, and 4 more at each of the samples before the quantile.
        assert_eq!([shift(0), shift(1), shift(2)], [-604.0, 996.0, 2_596.0]);
        assert!(steps[3].shift.as_ref().unwrap_err().contains("too few samples"));
        // Three quantiles of 8 trials that never overlap, 3 · 2 of 12,870; where 8 pairs could also
        // claim a difference, it counts twice.
        let p = steps[0].p_adjusted.unwrap();
        assert!((p - 12.0 / 12_870.0).abs() < 1e-12, "{p}");
        assert_eq!(steps[3].p_adjusted, None);
    }

    #[test]
    fn several_contestants_are_one_family() {
        let base: Vec<Histogram> = (0..8).map(|trial| histogram(5_000 + trial, 10)).collect();
        let ours: Vec<Histogram> = (0..8).map(|trial| histogram(4_000 + trial, 10)).collect();
        let quantiles = [0.25, 0.5];
        let contestant = |name| Contestant { name, trials: trials(&ours) };
        let both = [contestant("one"), contestant("other")];
        let all = shift_functions(&both, &trials(&base), &quantiles, 50, Seed(1));
        // Two quantiles of two contestants of 8 trials that never overlap: 4 · 2 of 12,870.
        let p: Vec<f64> = all.iter().flatten().filter_map(|step| step.p_adjusted).collect();
        assert_eq!(p.len(), 4);
        assert!(p.iter().all(|p| (p - 8.0 / 12_870.0).abs() < 1e-12), "{p:?}");
        assert_eq!(all[0][1].shift.as_ref().unwrap().value, -1_000.0);
    }

    proptest! {
        #[test]
        fn a_moved_distribution_has_a_flat_shift_function(by in 1u64..5_000) {
            let base: Vec<Histogram> = (0..6).map(|_| histogram(1_000, 3)).collect();
            let ours: Vec<Histogram> = (0..6).map(|_| histogram(1_000 + by, 3)).collect();
            for step in shift_function(&ours, &base, &[0.05, 0.2, 0.5, 0.8, 0.95, 0.99]) {
                prop_assert_eq!(step.shift.unwrap().value, by as f64);
            }
        }
    }
}
