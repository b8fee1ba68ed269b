// SPDX-License-Identifier: GPL-2.0-only
//! The smallest differences that a plan can see, from the noise that A/A trials have shown.

use anyhow::Result;
use model::Scatter;
use stats::sample_size::power;

use super::claimable::{ClaimableComparisons, WorkloadOnMachine};
use crate::exit::bad_input;
use crate::planned_experiment::PlannedExperiment;

/// A line about each family with noise: its noisiest measure, and the smallest difference that the
/// plan can see there.
///
/// # Errors
/// When a difference of `wanted_percent` cannot be seen in a workload's first headline measure.
pub fn detectable_differences(
    planned: &PlannedExperiment,
    wanted_percent: Option<f64>,
) -> Result<Vec<String>> {
    let claimable = ClaimableComparisons::of(planned);
    let mut notes = Vec::new();
    for (family, &comparisons) in claimable.real.iter().filter(|(_, count)| **count > 0) {
        let Some(worst) = worst(planned, family) else { continue };
        let least = power::smallest_percent(worst.deviation, claimable.replicates, comparisons);
        if let Some(wanted) = wanted_percent
            && least.is_none_or(|least| least > wanted)
        {
            return Err(too_small(planned, worst, comparisons, wanted));
        }
        notes.push(note(worst, family, claimable.replicates, least));
    }
    Ok(notes)
}

fn note(
    worst: &Scatter,
    family: &WorkloadOnMachine,
    replicates: usize,
    least: Option<f64>,
) -> String {
    let least = least.map_or("none".into(), |least| format!("{least:.1} %"));
    format!(
        "A/A: {} of {} on {} scatters by {:.1} % between {} equal trials; the smallest difference \
         that {replicates} replicates show in 4 of 5 experiments: {least}",
        worst.measure,
        worst.cell,
        family.machine,
        percent(worst),
        worst.trials,
    )
}

fn too_small(
    planned: &PlannedExperiment,
    worst: &Scatter,
    comparisons: usize,
    wanted: f64,
) -> anyhow::Error {
    let advice = match power::units_for(wanted, worst.deviation, comparisons) {
        Some(blocks) => format!("write --blocks {blocks}"),
        None => format!("more than {} blocks would; use a quieter machine", power::BLOCKS_MAX),
    };
    bad_input(format!(
        "{}: {wanted} % cannot be seen in {} of {} on {}, which scatters by {:.1} % between equal \
         trials; {advice}, or --exploratory to measure without a claim",
        planned.experiment.name,
        worst.measure,
        worst.cell,
        worst.machine,
        percent(worst),
    ))
}

/// The deviation of logarithms as a difference in percent.
fn percent(scatter: &Scatter) -> f64 {
    scatter.deviation.exp_m1() * 100.0
}

/// The noise of the cell whose first known headline measure scatters most.
fn worst<'a>(planned: &'a PlannedExperiment, family: &WorkloadOnMachine) -> Option<&'a Scatter> {
    let experiment = &planned.experiment;
    let of_measure = |cell: &str, measure: &String| {
        experiment.design.scatter.iter().find(|scatter| {
            scatter.cell == cell
                && scatter.machine == family.machine
                && scatter.backend == family.backend
                && scatter.measure == *measure
        })
    };
    let settings = experiment.workloads.iter().filter(|workload| workload.name == family.workload);
    let of_cell = settings.filter_map(|workload| {
        let cell = workload.cell();
        workload.headline.iter().find_map(|measure| of_measure(&cell, measure))
    });
    of_cell.max_by(|first, second| first.deviation.total_cmp(&second.deviation))
}
