// SPDX-License-Identifier: GPL-2.0-only
//! From the simulator's answer to the race on a kernel: who takes part in it, and how long it will
//! take.

use std::time::Duration;

use model::{Backend, Machine, Record};
use spec::contestant;
use stats::Recommendation;
use stats::decide::recommend::{Advice, Candidate, Standing};

use super::race::Race;
use crate::measure::claimable::blocks_needed;
use crate::measure::detectable::trial_s;

/// Seconds until a kernel's first boot is there to be continued.
const FIRST_BOOT_S: f64 = 20.0;

/// A race on a kernel that fits into its budget.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finalists {
    /// As `--scheduler` has them, the best first.
    pub options: Vec<String>,
    /// The names of those that would not fit.
    pub left_out: Vec<String>,
    /// How long a block takes, about; the time for one finalist if none fits.
    pub block: Duration,
    /// The fewest blocks that can show a difference.
    pub blocks: u32,
}

impl Finalists {
    /// How long the race takes, about: at least the fewest blocks, at most the budget.
    pub fn takes(&self, budget: Duration, most_blocks: u32) -> Duration {
        let most = self.block.saturating_mul(most_blocks.max(self.blocks));
        most.min(budget).max(self.block * self.blocks)
    }
}

/// Where the finalists race.
pub struct Track<'a> {
    pub backend: Backend,
    pub machine: &'a Machine,
    /// Trials at a time.
    pub jobs: usize,
    /// How many contestants stand for the scheduler in use.
    pub in_use: usize,
    /// Candidates that run there, but not in the simulator; as `--scheduler` has them.
    pub unpredicted: &'a [String],
}

impl Track<'_> {
    /// The best, all that are as good, and those that the simulator cannot run, as far as they fit
    /// into the budget.
    pub fn finalists(
        &self,
        race: &Race,
        predicted: &Recommendation,
        records: &[Record],
        budget: Duration,
    ) -> Finalists {
        let mut names = as_good(predicted);
        names.extend(self.unpredicted.iter().map(String::as_str));
        let block_s = |finalists: usize| {
            self.block_s(records, race.planned.experiment.workloads.len(), self.in_use + finalists)
        };
        let needed = |finalists: usize| blocks_needed(finalists * race.aims.len());
        let takes_s = |finalists: usize| block_s(finalists) * f64::from(needed(finalists));
        let first_s = if self.backend.boots_kernels() { FIRST_BOOT_S } else { 0.0 };
        let fits = |count: &usize| first_s + takes_s(*count) <= budget.as_secs_f64();
        let fit = (1..=names.len()).rev().find(fits).unwrap_or(0);
        let (taken, left_out) = names.split_at(fit);
        let contestants = race.planned.experiment.contestants.iter();
        let option = |name: &&str| {
            let mut same = contestants.clone().filter(|contestant| contestant.name == **name);
            same.next().map_or_else(
                || Some((*name).to_owned()),
                |contestant| contestant::option(contestant, true),
            )
        };
        Finalists {
            options: taken.iter().filter_map(option).collect(),
            left_out: left_out.iter().map(|name| (*name).to_owned()).collect(),
            block: Duration::from_secs_f64(block_s(fit.max(1))),
            blocks: needed(fit.max(1)),
        }
    }

    /// The time of a block in seconds, by what each workload took in the simulator.
    fn block_s(&self, records: &[Record], workloads: usize, contestants: usize) -> f64 {
        let mean = records.iter().map(length_s).sum::<f64>() / records.len().max(1) as f64;
        let trials = (workloads * contestants) as f64;
        trials * trial_s(self.backend, self.machine, mean, self.jobs)
    }
}

/// How long a trial's workload took on its own clock, seconds.
fn length_s(record: &Record) -> f64 {
    let ended = record.measured.value("completion_ns", "all").map(|ns| ns / 1e9);
    let given = record.trial.workload.duration_us.map(|us| us as f64 / 1e6);
    ended.or(given).unwrap_or(0.0)
}

/// The choice and those that are as good. If the scheduler in use is to stay: those that are as
/// good as it; without such, the next best.
fn as_good(predicted: &Recommendation) -> Vec<&str> {
    if let Advice::Switch(names) = &predicted.advice {
        return names.iter().map(String::as_str).collect();
    }
    let rank = |candidate: &&Candidate| match candidate.standing {
        Standing::Doubtful => Some(0),
        Standing::Slight => Some(1),
        Standing::Alike => Some(2),
        _ => None,
    };
    let mut near: Vec<&Candidate> =
        predicted.candidates.iter().filter(|candidate| rank(candidate).is_some()).collect();
    near.sort_by_key(rank);
    if near.is_empty() {
        let able = |candidate: &&Candidate| {
            !matches!(candidate.standing, Standing::Failed | Standing::Unknown)
        };
        near.extend(predicted.candidates.iter().find(able));
    }
    near.into_iter().map(|candidate| candidate.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use model::Workload;

    use super::*;
    use stats::decide::recommend::Reason;

    fn candidate(name: &str, standing: Standing) -> Candidate {
        let (decides, keeps, failures) = Default::default();
        Candidate { name: name.into(), standing, decides, keeps, failures }
    }

    fn predicted(advice: Advice, standings: &[(&str, Standing)]) -> Recommendation {
        let candidates = standings.iter().map(|(name, standing)| candidate(name, *standing));
        let (now, failures) = ("eevdf era=61800".into(), Vec::new());
        let candidates = candidates.collect();
        Recommendation { now, advice, aims: Vec::new(), candidates, comparisons: 0, failures }
    }

    #[test]
    fn all_that_are_as_good_take_part() {
        let names = vec!["bmq".to_owned(), "tt".into()];
        let both = predicted(Advice::Switch(names), &[("bmq", Standing::Good)]);
        assert_eq!(as_good(&both), ["bmq", "tt"]);
        let standings =
            [("cfs", Standing::Worse), ("tt", Standing::Alike), ("bmq", Standing::Slight)];
        let keep = predicted(Advice::Keep(Reason::TooLittle), &standings);
        assert_eq!(as_good(&keep), ["bmq", "tt"]);
        let worse = [("cfs", Standing::Worse), ("out", Standing::Failed)];
        assert_eq!(as_good(&predicted(Advice::Keep(Reason::NobodyBetter), &worse)), ["cfs"]);
    }

    #[test]
    fn a_trial_lasts_as_long_as_it_took_in_the_simulator() {
        let mut record = Record::without_measurement(
            Default::default(),
            model::Outcome::Ok,
            model::Provenance::default(),
        );
        record.trial.workload =
            Workload { duration_us: Some(500_000), ..Workload::default() }.into();
        let machine = Machine { cpus: 2, clock: model::Clock::Virtual, ..Machine::default() };
        let track =
            |backend| Track { backend, machine: &machine, jobs: 2, in_use: 1, unpredicted: &[] };
        let records = [record];
        assert_eq!(track(Backend::Vm).block_s(&records, 2, 4), 8.0 * (2.0 + 0.5 * 3.5) / 2.0);
        assert_eq!(track(Backend::Live).block_s(&records, 2, 4), 8.0 * 1.5);
    }
}
