// SPDX-License-Identifier: GPL-2.0-only
//! What a plan can prove, before it runs; and how many blocks it should have.
//!
//! ```text
//! plan ─► reach (enough blocks for its families?) ─► A/A trials ─► smallest difference ─► blocks
//! ```
//!
//! [`Reach`] counts comparisons as `stats::family` will; [`same`] has the A/A trials; [`grown`]
//! adds blocks until a declared precision is there; [`duration`] reads the user's times. Nothing
//! here ever looks at who is better.

use std::collections::BTreeMap;

use anyhow::Result;
use model::{Backend, Clock, Scatter, Trial};
use stats::decide::verdict::RUNS_NEEDED;
use stats::rank::holm;
use stats::sample_size::power;

use crate::exit::bad_input;
use crate::question::Asked;

pub mod duration;
pub mod grown;
pub mod same;

/// What is compared as one family: a workload in all settings on one machine of one backend.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Load {
    /// The workload's name.
    pub workload: String,
    /// The machine's name.
    pub machine: String,
    /// Who answers.
    pub backend: Backend,
}

/// What a plan can reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Independent runs of each contestant in each cell.
    pub units: usize,
    /// Comparisons of each measure against the baseline, for each load with a real clock.
    pub noisy: BTreeMap<Load, usize>,
    /// The same under a virtual clock, where every difference is exact.
    pub exact: BTreeMap<Load, usize>,
}

impl Reach {
    /// Counts a plan's comparisons.
    pub fn of(asked: &Asked) -> Reach {
        let experiment = &asked.experiment;
        let mut met: BTreeMap<Load, Vec<(String, &str)>> = BTreeMap::new();
        let mut clocks = BTreeMap::new();
        for trial in asked.trials.iter().filter(|trial| trial.block == 0) {
            let load = load(trial);
            clocks.insert(load.clone(), trial.clock());
            let pair = (trial.workload.cell(), trial.contestant.name.as_str());
            let pairs = met.entry(load).or_default();
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
        let mut reach = Reach {
            units: independent(experiment.blocks, experiment.runs_per_boot),
            noisy: BTreeMap::new(),
            exact: BTreeMap::new(),
        };
        for (load, pairs) in met {
            let comparisons = comparisons(&pairs, &experiment.baseline);
            match clocks[&load] {
                Clock::Real => reach.noisy.insert(load, comparisons),
                Clock::Virtual => reach.exact.insert(load, comparisons),
            };
        }
        reach
    }

    /// The largest family with noise.
    fn largest(&self) -> usize {
        self.noisy.values().copied().max().unwrap_or(0)
    }

    /// The largest family of all.
    fn largest_of_all(&self) -> usize {
        self.exact.values().copied().max().unwrap_or(0).max(self.largest())
    }

    /// The blocks that the largest of some families needs before anything can be claimed in it.
    fn needed(comparisons: usize) -> usize {
        holm::units_needed(comparisons).max(RUNS_NEEDED)
    }

    /// Blocks without which the noisy part of the plan could not answer its question.
    pub fn blocks_needed(&self) -> usize {
        if self.largest() == 0 { 1 } else { Reach::needed(self.largest()) }
    }

    /// Whether the plan can answer its question. Exact numbers need no p value.
    pub fn is_enough(&self) -> bool {
        self.units >= self.blocks_needed()
    }

    /// What the audience should know before it waits; nothing where nothing is compared.
    pub fn words(&self) -> Option<String> {
        let (units, most) = (self.units, self.largest_of_all());
        if most == 0 {
            return None;
        }
        let exact = if self.noisy.is_empty() { ", of exact numbers" } else { "" };
        let runs = format!("{units} independent runs of each cell{exact}");
        if units < RUNS_NEEDED {
            return Some(format!("{runs}: differences are shown, none is claimed"));
        }
        Some(match holm::can_claim(units, units, most) {
            true => format!(
                "{runs}; at most {} of a measure: the smallest corrected p is {}",
                counted(most),
                significant(power::smallest_p(units, most))
            ),
            false => format!(
                "{runs}; {} of a measure need {}: no claim is possible there",
                counted(most),
                Reach::needed(most)
            ),
        })
    }
}

fn counted(comparisons: usize) -> String {
    format!("{comparisons} comparison{}", if comparisons == 1 { "" } else { "s" })
}

/// A p value with two significant digits, as far as anybody cares.
fn significant(p: f64) -> String {
    let digits = if p >= 0.1 { 2 } else { (1.0 - p.log10().floor()) as usize };
    if p < 0.000_01 { "below 0.00001".into() } else { format!("{p:.digits$}") }
}

/// Runs that are independent: boots, or runs where there is only one boot.
fn independent(blocks: u32, runs_per_boot: u32) -> usize {
    if blocks == 1 { runs_per_boot as usize } else { blocks as usize }
}

fn load(trial: &Trial) -> Load {
    Load {
        workload: trial.workload.name.clone(),
        machine: trial.machine.name.clone(),
        backend: trial.backend,
    }
}

/// All others against the baseline, in the cells where it is.
fn comparisons(pairs: &[(String, &str)], baseline: &str) -> usize {
    let has_baseline = |cell: &String| pairs.iter().any(|(c, name)| c == cell && *name == baseline);
    pairs.iter().filter(|(cell, name)| *name != baseline && has_baseline(cell)).count()
}

/// Refuses a plan that cannot answer its question, whatever will be measured.
///
/// # Errors
/// When the clock is real and there are fewer blocks than the correction for all comparisons needs,
/// unless that was declared.
pub fn check(asked: &Asked) -> Result<()> {
    let reach = Reach::of(asked);
    if asked.experiment.design.exploratory || reach.is_enough() {
        return Ok(());
    }
    let needed = reach.blocks_needed();
    Err(bad_input(format!(
        "{}: {} independent runs of each cell cannot show a difference: {} of a measure need \
         {needed}; write --blocks {needed}, or --exploratory to look without a claim",
        asked.experiment.name,
        reach.units,
        counted(reach.largest()),
    )))
}

/// The smallest differences that the plan can see, from what A/A trials have shown; and a refusal
/// when one is larger than what the user wants to see.
///
/// # Errors
/// When `wanted_percent` cannot be seen in a workload's first measure.
pub fn visible(asked: &Asked, wanted_percent: Option<f64>) -> Result<Vec<String>> {
    let reach = Reach::of(asked);
    let mut notes = Vec::new();
    for (load, &comparisons) in reach.noisy.iter().filter(|(_, comparisons)| **comparisons > 0) {
        let Some(worst) = worst(asked, load) else { continue };
        let least = power::smallest_percent(worst.deviation, reach.units, comparisons);
        if let Some(wanted) = wanted_percent
            && least.is_none_or(|least| least > wanted)
        {
            return Err(too_small(asked, worst, comparisons, wanted));
        }
        let least = least.map_or("none".into(), |least| format!("{least:.1} %"));
        notes.push(format!(
            "A/A: {} of {} on {} scatters by {:.1} % between {} equal runs; the smallest \
             difference that {} runs show in 4 of 5 experiments: {least}",
            worst.measure,
            worst.cell,
            load.machine,
            worst.deviation.exp_m1() * 100.0,
            worst.runs,
            reach.units,
        ));
    }
    Ok(notes)
}

fn too_small(asked: &Asked, worst: &Scatter, comparisons: usize, wanted: f64) -> anyhow::Error {
    let advice = match power::units_for(wanted, worst.deviation, comparisons) {
        Some(blocks) => format!("write --blocks {blocks}"),
        None => format!("more than {} blocks would; use a quieter machine", power::BLOCKS_MAX),
    };
    bad_input(format!(
        "{}: {wanted} % cannot be seen in {} of {} on {}, which scatters by {:.1} % between equal \
         runs; {advice}, or --exploratory to look all the same",
        asked.experiment.name,
        worst.measure,
        worst.cell,
        worst.machine,
        worst.deviation.exp_m1() * 100.0,
    ))
}

/// The cell of a load whose first known measure scatters most.
fn worst<'a>(asked: &'a Asked, load: &Load) -> Option<&'a Scatter> {
    let workloads = asked.experiment.workloads.iter().filter(|it| it.name == load.workload);
    let of_cell = |cell: String, headline: &[String]| {
        let found = |measure: &String| {
            asked.experiment.design.scatter.iter().find(|scatter| {
                (&scatter.cell, &scatter.machine, scatter.backend, &scatter.measure)
                    == (&cell, &load.machine, load.backend, measure)
            })
        };
        headline.iter().find_map(found)
    };
    workloads
        .filter_map(|workload| of_cell(workload.cell(), &workload.headline))
        .max_by(|one, other| one.deviation.total_cmp(&other.deviation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::Question;
    use spec::assets::{self, Kind};

    /// `control` and `soak` ask these, and judge by rules of their own.
    const OWN_RULES: [&str; 3] = ["control", "soak", "soak_short"];

    fn asked(experiment: &str) -> Asked {
        Question::named(experiment).ask().unwrap_or_else(|why| panic!("{experiment}: {why:#}"))
    }

    #[test]
    fn every_experiment_can_answer_its_question() {
        let names = assets::names(Kind::Experiment);
        assert!(names.len() > 20, "{names:?}");
        for name in names.into_iter().filter(|name| !OWN_RULES.contains(&name.as_str())) {
            check(&asked(&name)).unwrap_or_else(|why| panic!("{why:#}"));
        }
    }

    #[test]
    fn a_family_has_all_settings_and_all_others() {
        let asked = asked("s4_live");
        let reach = Reach::of(&asked);
        let (load, &comparisons) = reach.noisy.first_key_value().expect("a load");
        assert_eq!((load.workload.as_str(), load.backend), ("policies", Backend::Live));
        let cells = asked.experiment.workloads.len();
        let others = asked.experiment.contestants.len() - 1;
        assert_eq!(comparisons, cells * others);
        assert_eq!(reach.units, asked.experiment.blocks as usize);
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
        let short = asked("s4_live").with_blocks(3);
        let long = asked("s4_live").with_blocks(7);
        assert_eq!(short.trials[..], long.trials[..short.trials.len()]);
    }
}
