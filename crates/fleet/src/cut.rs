// SPDX-License-Identifier: GPL-2.0-only
//! Where a plan may be cut. Trials of one boot stay together, because they share a guest or a
//! machine; simulated trials share nothing.

use model::Trial;

/// Cuts trials into chunks of at most `most` trials, in their order. A single boot may have more.
pub fn cut(trials: &[Trial], most: usize) -> Vec<Vec<Trial>> {
    let mut chunks: Vec<Vec<Trial>> = Vec::new();
    for group in trials.chunk_by(belong_together) {
        match chunks.last_mut() {
            Some(chunk) if chunk.len() + group.len() <= most && are_alike(&chunk[0], &group[0]) => {
                chunk.extend_from_slice(group);
            }
            _ => chunks.push(group.to_vec()),
        }
    }
    chunks
}

/// Cuts trials into at most `count` chunks of similar numbers of trials; into fewer if boots do not
/// allow more.
pub fn into_parts(trials: &[Trial], count: usize) -> Vec<Vec<Trial>> {
    let mut most = trials.len().div_ceil(count.max(1));
    loop {
        let chunks = cut(trials, most);
        if chunks.len() <= count || most >= trials.len() {
            return chunks;
        }
        most += 1 + most / 16;
    }
}

/// Trials on one backend with one clock need the same of a node.
fn are_alike(a: &Trial, b: &Trial) -> bool {
    a.backend == b.backend && a.clock() == b.clock()
}

fn belong_together(a: &Trial, b: &Trial) -> bool {
    a.boot == b.boot && a.backend == b.backend && !a.backend.is_model()
}

#[cfg(test)]
pub(crate) mod tests {
    use model::{Backend, Machine, Workload};

    use super::*;

    /// Trials in the virtual machine, in these boots.
    pub(crate) fn trials(boots: &[u32]) -> Vec<Trial> {
        let trial = |(position, boot): (usize, &u32)| Trial {
            backend: Backend::Vm,
            workload: Workload { name: "w".into(), ..Workload::default() }.into(),
            machine: Machine { name: "m".into(), ..Machine::default() }.into(),
            boot: *boot,
            position: position as u32,
            ..Trial::default()
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
        assert_eq!(sizes(&cut(&boots, 1)), [3, 2, 1, 1]);
        assert_eq!(sizes(&cut(&boots, 4)), [3, 4]);
    }

    #[test]
    fn simulated_trials_are_cut_anywhere() {
        assert_eq!(sizes(&cut(&simulated(7), 3)), [3, 3, 1]);
        assert_eq!(sizes(&into_parts(&simulated(10), 4)), [3, 3, 3, 1]);
    }

    #[test]
    fn backends_do_not_share_a_chunk() {
        let both = [simulated(2), trials(&[1, 1])].concat();
        assert_eq!(sizes(&cut(&both, 100)), [2, 2]);
    }

    #[test]
    fn nothing_is_lost_or_doubled() {
        let all = [simulated(5), trials(&[1, 1, 2, 3, 3, 3])].concat();
        for count in 1..12 {
            assert_eq!(into_parts(&all, count).concat(), all);
        }
    }
}
