// SPDX-License-Identifier: GPL-2.0-only
//! How long trials take, from those that are back: the size of chunks, and the time that is left.

use std::collections::BTreeMap;

use model::{Backend, Record, Trial};

use crate::cut;

/// Simulated trials of a chunk before a time is known.
const PILOT_TRIALS: f64 = 20.0;

/// Each slot gets at least this number of chunks, so that the last one does not keep all waiting.
const CHUNKS_PER_SLOT: f64 = 3.0;

/// A chunk takes at least so long, because a job costs its queue about a second.
const SHORTEST_S: f64 = 15.0;

/// A chunk takes at most so long, so that a node that dies costs little.
const LONGEST_S: f64 = 600.0;

/// What trials alike are.
type Alike = (Backend, String, String);

/// Times of trials that are back.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    /// Seconds and number, for trials alike.
    known: BTreeMap<Alike, (f64, f64)>,
}

impl Pace {
    /// Learns from a record.
    pub fn learn(&mut self, record: &Record) {
        let (seconds, count) = self.known.entry(alike(&record.trial)).or_default();
        // A trial below a millisecond took some of it.
        *seconds += record.provenance.wall_ms.max(1) as f64 / 1000.0;
        *count += 1.0;
    }

    /// Whether a trial on this backend is back.
    pub fn knows(&self, backend: Backend) -> bool {
        self.known.keys().any(|(known, _, _)| *known == backend)
    }

    /// Seconds that a trial will take.
    pub fn seconds(&self, trial: &Trial) -> f64 {
        let of = |(seconds, count): (f64, f64)| seconds / count;
        if let Some(known) = self.known.get(&alike(trial)) {
            return of(*known);
        }
        let own = self.known.iter().filter(|((backend, _, _), _)| *backend == trial.backend);
        let all = own.fold((0.0, 0.0), |sum, (_, one)| (sum.0 + one.0, sum.1 + one.1));
        if all.1 > 0.0 { of(all) } else { 1.0 }
    }

    /// The first chunks, which show how long trials take: one for each slot, from all over the
    /// trials. The others stay.
    pub fn pilots(trials: &[Trial], slots: usize) -> (Vec<Vec<Trial>>, Vec<Trial>) {
        let most = if trials[0].backend.is_model() { PILOT_TRIALS } else { 1.0 };
        let mut chunks = cut::cut(trials, most, &|_| 1.0);
        let rest = chunks.split_off(slots.clamp(1, chunks.len()));
        (chunks, rest.concat())
    }

    /// Chunks of about the same time.
    pub fn chunks(&self, trials: &[Trial], slots: usize, wanted_s: Option<u32>) -> Vec<Vec<Trial>> {
        let total: f64 = trials.iter().map(|trial| self.seconds(trial)).sum();
        let fair = total / (slots.max(1) as f64 * CHUNKS_PER_SLOT);
        let most = wanted_s.map_or(fair.clamp(SHORTEST_S, LONGEST_S), f64::from);
        cut::cut(trials, most, &|trial| self.seconds(trial))
    }
}

/// A time that is left, in words that do not pretend to be exact.
pub fn words(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("{} s", seconds.ceil()),
        ..5400.0 => format!("{} min", (seconds / 60.0).ceil()),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

fn alike(trial: &Trial) -> Alike {
    (trial.backend, trial.workload.cell(), trial.machine.name.clone())
}

#[cfg(test)]
mod tests {
    use model::{Outcome, Provenance};

    use super::*;
    use crate::cut::tests::trials;

    fn record(trial: Trial, wall_ms: u64) -> Record {
        let provenance = Provenance { wall_ms, ..Provenance::default() };
        Record::without_measurement(trial, Outcome::Ok, provenance)
    }

    fn simulated(count: usize) -> Vec<Trial> {
        let mut trials = trials(&vec![0; count]);
        trials.iter_mut().for_each(|trial| trial.backend = Backend::Sim);
        trials
    }

    #[test]
    fn pilots_are_few_and_leave_the_rest() {
        let (pilots, rest) = Pace::pilots(&simulated(1000), 2);
        assert_eq!((pilots.len(), pilots[0].len(), rest.len()), (2, 20, 960));
        let (pilots, rest) = Pace::pilots(&trials(&[0, 0, 1, 1, 2]), 2);
        assert_eq!((pilots.len(), pilots[0].len(), rest.len()), (2, 2, 1));
    }

    #[test]
    fn chunks_have_the_measured_time() {
        let mut pace = Pace::default();
        let all = simulated(20_000);
        pace.learn(&record(all[0].clone(), 20));
        pace.learn(&record(all[1].clone(), 40));
        assert_eq!(pace.seconds(&all[5]), 0.03);
        // 600 s of work: four slots with three chunks each.
        let chunks = pace.chunks(&all, 4, None);
        assert_eq!(chunks.len(), 13);
        assert_eq!(pace.chunks(&all, 4, Some(30)).len(), 20);
        // Never shorter than a job is worth.
        assert_eq!(pace.chunks(&all, 1000, None).len(), 40);
    }

    #[test]
    fn an_unknown_cell_is_like_the_known_ones() {
        let mut pace = Pace::default();
        let mut other = simulated(1).remove(0);
        other.workload.name = "other".into();
        pace.learn(&record(simulated(1).remove(0), 500));
        assert_eq!(pace.seconds(&other), 0.5);
        assert!(pace.knows(Backend::Sim) && !pace.knows(Backend::Vm));
    }
}
