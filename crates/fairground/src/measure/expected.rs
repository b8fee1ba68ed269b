// SPDX-License-Identifier: GPL-2.0-only
//! How long trials will take, before any has run: a rough sum for people who wait.

use std::time::Duration;

use model::{Backend, Clock, Trial};

/// Boots are shared by trials and mostly begin with a saved state; this is a trial's part.
const GUEST_S: f64 = 1.5;
const SIMULATED_S: f64 = 0.01;
/// A workload without a duration ends when its work is done.
const UNKNOWN_S: f64 = 0.5;
/// A shorter wait needs no word.
const WORTH_TELLING: Duration = Duration::from_secs(10);

/// The time that these trials take with this many guests or simulations side by side; `None` if it
/// is short.
pub fn expected(trials: &[Trial], jobs: usize) -> Option<Duration> {
    let seconds = trials.iter().map(|trial| {
        let side_by_side = if trial.clock() == Clock::Real { 1.0 } else { jobs.max(1) as f64 };
        own_s(trial) / side_by_side
    });
    let sum = Duration::from_secs_f64(seconds.sum::<f64>().clamp(0.0, 1e9));
    (sum >= WORTH_TELLING).then_some(sum)
}

fn own_s(trial: &Trial) -> f64 {
    let length_s = trial.workload.duration_us.map_or(UNKNOWN_S, |us| us as f64 / 1e6);
    match trial.backend {
        Backend::Sim => SIMULATED_S,
        Backend::Vm => GUEST_S + length_s * host_s_per_virtual_s(trial.machine.cpus),
        _ => length_s,
    }
}

/// What the host takes for a second of virtual time, between that for straight-line code and that
/// for kernel code on all CPUs: see docs/src/method/several_cpus.md.
pub fn host_s_per_virtual_s(cpus: u32) -> f64 {
    match cpus {
        1 => 1.0,
        2 => 3.5,
        3..=4 => 7.0,
        _ => 17.0,
    }
}

#[cfg(test)]
mod tests {
    use model::{Machine, Workload};

    use super::*;

    #[test]
    fn guests_share_the_cpus_and_a_short_wait_needs_no_word() {
        let workload = Workload { duration_us: Some(2_500_000), ..Workload::default() };
        let machine = Machine { cpus: 1, clock: Clock::Virtual, ..Machine::default() };
        let trial = |backend| Trial {
            backend,
            workload: workload.clone(),
            machine: machine.clone(),
            ..Trial::default()
        };
        let guests = vec![trial(Backend::Vm); 30];
        assert_eq!(expected(&guests, 2), Some(Duration::from_secs(60)));
        assert_eq!(expected(&guests, 1), Some(Duration::from_secs(120)));
        assert_eq!(expected(&vec![trial(Backend::Sim); 500], 1), None);
    }
}
