// SPDX-License-Identifier: GPL-2.0-only
//! The comparisons of a plan, counted before it runs: with enough blocks a difference can be
//! claimed in spite of the correction for all of them.

use std::collections::BTreeMap;

use anyhow::Result;
use model::{Backend, Clock, Trial};
use stats::number::interval::TRIALS_NEEDED;
use stats::rank::rank_sum;
use stats::sample_size::{BLOCKS_MAX, smallest_p};

use crate::exit::bad_input;
use crate::planned_experiment::PlannedExperiment;

/// What is compared as one family: a workload in all settings on one machine of one backend.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkloadOnMachine {
    pub workload: String,
    pub machine: String,
    pub backend: Backend,
}

/// How many comparisons a plan makes, and how many replicates it has for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimableComparisons {
    /// Independent replicates of each contestant in each cell.
    pub replicates: usize,
    /// Comparisons of each measure with the baseline, family by family, where the clock is real.
    pub real: BTreeMap<WorkloadOnMachine, usize>,
    /// The same under a virtual clock, where every difference is exact.
    pub exact: BTreeMap<WorkloadOnMachine, usize>,
}

impl ClaimableComparisons {
    pub fn of(planned: &PlannedExperiment) -> ClaimableComparisons {
        let experiment = &planned.experiment;
        let mut counted = ClaimableComparisons {
            replicates: independent(experiment.blocks, experiment.trials_per_boot),
            real: BTreeMap::new(),
            exact: BTreeMap::new(),
        };
        for (family, Family { clock, members }) in families(&planned.trials) {
            let comparisons = comparisons(&members, &experiment.baseline);
            match clock {
                Clock::Real => counted.real.insert(family, comparisons),
                Clock::Virtual => counted.exact.insert(family, comparisons),
            };
        }
        counted
    }

    /// The comparisons of the largest family under a real clock.
    fn largest_real(&self) -> usize {
        self.real.values().copied().max().unwrap_or(0)
    }

    pub fn largest(&self) -> usize {
        self.exact.values().copied().max().unwrap_or(0).max(self.largest_real())
    }

    /// The blocks without which the families under a real clock could show nothing.
    fn blocks_needed(&self) -> u32 {
        if self.largest_real() == 0 { 1 } else { blocks_needed(self.largest_real()) }
    }

    /// Whether the plan can answer its question. Exact numbers need no p value.
    fn is_enough(&self) -> bool {
        self.replicates >= self.blocks_needed() as usize
    }

    /// What the plan can prove, in a line; `None` where nothing is compared.
    pub fn words(&self) -> Option<String> {
        let (replicates, most) = (self.replicates, self.largest());
        if most == 0 {
            return None;
        }
        let exact = if self.real.is_empty() { ", of exact numbers" } else { "" };
        let have = format!("{replicates} independent replicates in each cell{exact}");
        if replicates < TRIALS_NEEDED {
            return Some(format!("{have}: differences are shown, none is claimed"));
        }
        let compared = counted(most);
        Some(if rank_sum::can_claim(replicates, replicates, most) {
            let least = significant(smallest_p(replicates, most));
            format!("{have}; at most {compared} of a measure: the smallest corrected p is {least}")
        } else {
            let needed = blocks_needed(most);
            format!("{have}; {compared} of a measure need {needed}: no claim is possible there")
        })
    }
}

/// The fewest blocks with which a difference can be claimed in every family of the plan.
pub fn fewest_blocks(planned: &PlannedExperiment) -> u32 {
    let largest = ClaimableComparisons::of(planned).largest().max(1);
    blocks_needed(largest).min(BLOCKS_MAX as u32)
}

/// The blocks that a family of this many comparisons needs before anything can be claimed in it.
pub fn blocks_needed(comparisons: usize) -> u32 {
    rank_sum::units_needed(comparisons).max(TRIALS_NEEDED) as u32
}

/// The cells and contestants that are compared together.
struct Family<'a> {
    clock: Clock,
    members: Vec<ComparedContestant<'a>>,
}

#[derive(PartialEq, Eq)]
struct ComparedContestant<'a> {
    cell: String,
    contestant: &'a str,
}

/// The families of a plan. All its blocks are alike, so that the first one is enough.
fn families(trials: &[Trial]) -> BTreeMap<WorkloadOnMachine, Family<'_>> {
    let mut families: BTreeMap<WorkloadOnMachine, Family> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.block == 0) {
        let place = WorkloadOnMachine {
            workload: trial.workload.name.clone(),
            machine: trial.machine.name.clone(),
            backend: trial.backend,
        };
        let new = || Family { clock: trial.clock(), members: Vec::new() };
        let family = families.entry(place).or_insert_with(new);
        let member =
            ComparedContestant { cell: trial.workload.cell(), contestant: &trial.contestant.name };
        if !family.members.contains(&member) {
            family.members.push(member);
        }
    }
    families
}

/// All other contestants against the baseline, in the cells where the baseline runs.
fn comparisons(members: &[ComparedContestant], baseline: &str) -> usize {
    let has_baseline = |cell: &str| {
        members.iter().any(|member| member.cell == cell && member.contestant == baseline)
    };
    members
        .iter()
        .filter(|member| member.contestant != baseline && has_baseline(&member.cell))
        .count()
}

/// Replicates that are independent: one of each boot; where there is only one boot, all.
fn independent(blocks: u32, trials_per_boot: u32) -> usize {
    if blocks == 1 { trials_per_boot as usize } else { blocks as usize }
}

fn counted(comparisons: usize) -> String {
    format!("{comparisons} comparison{}", if comparisons == 1 { "" } else { "s" })
}

/// A p value with two significant digits, down to 0.00001.
fn significant(p: f64) -> String {
    let digits = if p >= 0.1 { 2 } else { (1.0 - p.log10().floor()) as usize };
    if p < 0.000_01 { "below 0.00001".into() } else { format!("{p:.digits$}") }
}

/// Refuses a plan that cannot answer its question with any measured numbers.
///
/// # Errors
/// When the clock is real and there are fewer blocks than the correction for all comparisons needs,
/// unless the experiment is exploratory.
pub fn check(planned: &PlannedExperiment) -> Result<()> {
    let claimable = ClaimableComparisons::of(planned);
    if planned.experiment.design.exploratory || claimable.is_enough() {
        return Ok(());
    }
    let needed = claimable.blocks_needed();
    Err(bad_input(format!(
        "{}: {} independent replicates in each cell cannot show a difference: {} of a measure need \
         {needed}; write --blocks {needed}, or --exploratory to measure without a claim",
        planned.experiment.name,
        claimable.replicates,
        counted(claimable.largest_real()),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Seed;
    use spec::Overrides;
    use spec::assets::{self, Kind};

    /// Experiments of `fidelity --counterparts`, `fidelity --replays` and `soak`, which judge by
    /// rules of their own.
    const OWN_RULES: [&str; 5] = ["control", "replays", "replays_live", "soak", "soak_short"];

    fn planned(experiment: &str) -> PlannedExperiment {
        let planned =
            PlannedExperiment::read_on(Some(experiment), &Overrides::default(), Seed(1), None);
        planned.unwrap_or_else(|why| panic!("{experiment}: {why:#}"))
    }

    #[test]
    fn every_experiment_can_answer_its_question() {
        let names = assets::names(Kind::Experiment);
        assert!(names.len() > 20, "{names:?}");
        for name in names.into_iter().filter(|name| !OWN_RULES.contains(&name.as_str())) {
            check(&planned(&name)).unwrap_or_else(|why| panic!("{why:#}"));
        }
    }

    #[test]
    fn a_family_has_all_settings_and_all_others() {
        let planned = planned("s4_live");
        let claimable = ClaimableComparisons::of(&planned);
        let (family, &comparisons) = claimable.real.first_key_value().expect("a family");
        assert_eq!((family.workload.as_str(), family.backend), ("policies", Backend::Live));
        let cells = planned.experiment.workloads.len();
        let others = planned.experiment.contestants.len() - 1;
        assert_eq!(comparisons, cells * others);
        assert_eq!(claimable.replicates, planned.experiment.blocks as usize);
    }

    #[test]
    fn p_values_have_two_digits() {
        for (p, text) in [
            (1.0, "1.00"),
            (0.25, "0.25"),
            (0.0498, "0.050"),
            (0.00011, "0.00011"),
            (1e-9, "below 0.00001"),
        ] {
            assert_eq!(significant(p), text);
        }
    }

    #[test]
    fn a_longer_plan_begins_as_the_shorter() {
        let short = planned("s4_live").with_blocks(3);
        let long = planned("s4_live").with_blocks(7);
        assert_eq!(short.trials[..], long.trials[..short.trials.len()]);
    }
}
