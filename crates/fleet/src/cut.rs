// SPDX-License-Identifier: GPL-2.0-only
//! Where a plan may be cut. Trials of one boot stay together, because they share a guest or a
//! machine; simulated trials share nothing.

use model::Trial;

/// Cuts trials into chunks, in their order. A chunk is full when its cost reaches `most`, so a
/// single boot may cost more.
pub fn cut(trials: &[Trial], most: f64, cost: &dyn Fn(&Trial) -> f64) -> Vec<Vec<Trial>> {
    let mut chunks: Vec<Vec<Trial>> = Vec::new();
    let mut spent = most;
    for group in trials.chunk_by(belong_together) {
        let next: f64 = group.iter().map(cost).sum();
        let fits = chunks.last().is_some_and(|chunk| are_alike(&chunk[0], &group[0]));
        // A sum of many costs is not exact.
        if !fits || spent + next > most * (1.0 + 1e-9) {
            chunks.push(Vec::new());
            spent = 0.0;
        }
        spent += next;
        chunks.last_mut().expect("one was just pushed").extend_from_slice(group);
    }
    chunks
}

/// Cuts trials into at most `count` chunks of similar numbers of trials; into fewer if boots do not
/// allow more.
pub fn into_parts(trials: &[Trial], count: usize) -> Vec<Vec<Trial>> {
    let mut most = trials.len().div_ceil(count.max(1));
    loop {
        let chunks = cut(trials, most as f64, &|_| 1.0);
        if chunks.len() <= count || most >= trials.len() {
            return chunks;
        }
        most += 1 + most / 16;
    }
}

/// Trials on one machine with one clock need the same of a node. On `live` the node is the machine.
fn are_alike(a: &Trial, b: &Trial) -> bool {
    let same_node = !a.backend.uses_running_kernel() || a.machine.name == b.machine.name;
    a.backend == b.backend && a.clock() == b.clock() && same_node
}

fn belong_together(a: &Trial, b: &Trial) -> bool {
    a.boot == b.boot && a.backend == b.backend && !a.backend.is_model()
}

#[cfg(test)]
pub(crate) mod tests {
    use model::{Backend, Contestant, Machine, SchedulerChoice, Seed, Workload};

    use super::*;

    /// Trials in the virtual machine, in these boots.
    pub(crate) fn trials(boots: &[u32]) -> Vec<Trial> {
        let trial = |(position, boot): (usize, &u32)| Trial {
            schema: model::trial::SCHEMA,
            experiment: "cutting".into(),
            backend: Backend::Vm,
            contestant: Contestant {
                name: "kernel".into(),
                kernel: None,
                scheduler: SchedulerChoice::Kernel,
            },
            workload: Workload { name: "w".into(), ..Workload::default() },
            machine: Machine { name: "m".into(), ..Machine::default() },
            seed: Seed(1),
            block: 0,
            boot: *boot,
            position: position as u32,
            timeout_ms: 1000,
            probes: true,
            trace: false,
        };
        boots.iter().enumerate().map(trial).collect()
    }

    fn simulated(count: usize) -> Vec<Trial> {
        let mut trials = trials(&vec![0; count]);
        trials.iter_mut().for_each(|trial| trial.backend = Backend::Sim);
        trials
    }

    fn sizes(chunks: &[Vec<Trial>]) -> Vec<usize> {
        chunks.iter().map(Vec::len).collect()
    }

    #[test]
    fn a_boot_is_never_cut() {
        let boots = trials(&[0, 0, 0, 1, 1, 2, 3]);
        assert_eq!(sizes(&cut(&boots, 1.0, &|_| 1.0)), [3, 2, 1, 1]);
        assert_eq!(sizes(&cut(&boots, 4.0, &|_| 1.0)), [3, 4]);
    }

    #[test]
    fn simulated_trials_are_cut_anywhere() {
        assert_eq!(sizes(&cut(&simulated(7), 3.0, &|_| 1.0)), [3, 3, 1]);
        assert_eq!(sizes(&into_parts(&simulated(10), 4)), [3, 3, 3, 1]);
    }

    #[test]
    fn the_cost_of_a_trial_decides() {
        let cost = |trial: &Trial| if trial.position < 2 { 10.0 } else { 1.0 };
        assert_eq!(sizes(&cut(&simulated(6), 10.0, &cost)), [1, 1, 4]);
    }

    #[test]
    fn backends_do_not_share_a_chunk() {
        let both = [simulated(2), trials(&[1, 1])].concat();
        assert_eq!(sizes(&cut(&both, 100.0, &|_| 1.0)), [2, 2]);
    }

    #[test]
    fn kinds_of_nodes_do_not_share_a_chunk() {
        let mut live = trials(&[0, 1, 2, 3]);
        live.iter_mut().for_each(|trial| trial.backend = Backend::Live);
        live[2].machine.name = "other".into();
        assert_eq!(sizes(&cut(&live, 100.0, &|_| 1.0)), [2, 1, 1]);
        live.iter_mut().for_each(|trial| trial.backend = Backend::Vm);
        assert_eq!(sizes(&cut(&live, 100.0, &|_| 1.0)), [4]);
    }

    #[test]
    fn nothing_is_lost_or_doubled() {
        let all = [simulated(5), trials(&[1, 1, 2, 3, 3, 3])].concat();
        for count in 1..12 {
            assert_eq!(into_parts(&all, count).concat(), all);
        }
    }
}
