// SPDX-License-Identifier: GPL-2.0-only
//! The smallest differences that a plan can see, from the noise that A/A trials have shown.

use std::time::Duration;

use anyhow::Result;
use model::{Backend, Clock, Machine, Scatter, Trial};
use stats::sample_size;

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
        let least =
            sample_size::smallest_percent(worst.deviation, claimable.replicates, comparisons);
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
    let advice = match sample_size::units_for(wanted, worst.deviation, comparisons) {
        Some(blocks) => format!("write --blocks {blocks}"),
        None => {
            format!("more than {} blocks would; use a quieter machine", sample_size::BLOCKS_MAX)
        }
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

/// A trial's part of a boot that continues a saved state, the loading of its scheduler, and its
/// answer: see docs/src/method/several_cpus.md.
const GUEST_S: f64 = 2.0;
/// Loading a scheduler and probes on this kernel.
const LOAD_S: f64 = 1.0;
const SIMULATED_S: f64 = 0.01;
/// A workload without a duration ends when its work is done.
const UNKNOWN_S: f64 = 0.5;
/// A shorter wait needs no word.
const WORTH_TELLING: Duration = Duration::from_secs(10);

/// The time that these trials take with this many guests or simulations side by side; `None` if it
/// is short.
pub fn expected(trials: &[Trial], jobs: usize) -> Option<Duration> {
    let seconds = trials.iter().map(|trial| {
        let length_s = trial.workload.duration_us.map_or(UNKNOWN_S, |us| us as f64 / 1e6);
        trial_s(trial.backend, &trial.machine, length_s, jobs)
    });
    let sum = Duration::from_secs_f64(seconds.sum::<f64>().clamp(0.0, 1e9));
    (sum >= WORTH_TELLING).then_some(sum)
}

/// What a trial of this length on its own clock adds to the time of a plan, seconds.
pub fn trial_s(backend: Backend, machine: &Machine, length_s: f64, jobs: usize) -> f64 {
    let own_s = match backend {
        Backend::Sim => SIMULATED_S,
        Backend::Vm => GUEST_S + length_s * host_s_per_virtual_s(machine),
        _ => LOAD_S + length_s,
    };
    own_s / if backend.clock(machine) == Clock::Real { 1.0 } else { jobs.max(1) as f64 }
}

/// What the host takes for a second of virtual time, between that for straight-line code and that
/// for kernel code on all CPUs: see docs/src/method/several_cpus.md.
fn host_s_per_virtual_s(machine: &Machine) -> f64 {
    match machine.cpus {
        _ if machine.clock == Clock::Real => 1.0,
        1 => 1.0,
        2 => 3.5,
        3..=4 => 7.0,
        _ => 17.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Workload;

    #[test]
    fn guests_share_the_cpus_and_a_short_wait_needs_no_word() {
        let workload = Workload { duration_us: Some(2_500_000), ..Workload::default() };
        let machine = Machine { cpus: 1, clock: Clock::Virtual, ..Machine::default() };
        let trial = |backend| Trial {
            backend,
            workload: workload.clone().into(),
            machine: machine.clone().into(),
            ..Trial::default()
        };
        let guests = vec![trial(Backend::Vm); 30];
        assert_eq!(expected(&guests, 2), Some(Duration::from_millis(67_500)));
        assert_eq!(expected(&guests, 1), Some(Duration::from_secs(135)));
        assert_eq!(expected(&vec![trial(Backend::Sim); 500], 1), None);
    }
}
