// SPDX-License-Identifier: GPL-2.0-only
//! Resampling: the cluster [`bootstrap`], and medians of many resamples at a time.

pub(crate) mod batched_medians;
pub mod bootstrap;

use model::Seed;

use batched_medians::{Drawn, LANES, batches};
use bootstrap::Clusters;

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
