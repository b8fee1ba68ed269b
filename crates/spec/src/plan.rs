// SPDX-License-Identifier: GPL-2.0-only
//! An experiment and a seed → the trials, in the order of execution.
//!
//! Randomised complete blocks: a block is one pass over all contestants, cells and machines, so
//! that drift during the experiment affects all contestants alike. Changing the kernel needs a
//! boot, so inside a block the trials of one kernel and machine are adjacent (`vm`); the order of
//! the boots, and the order inside each boot, are drawn anew for every block. `live` has one
//! session per block, and so has the simulator. Two boots share no state, so boots are the level of
//! replication. All backends of an experiment use the same seeds.
//!
//! What is not here: clocks, files, running. The same experiment and seed give the same bytes.

use std::collections::BTreeMap;

use model::trial::{KnownAs, SCHEMA};
use model::{Backend, Contestant, Experiment, Machine, SchedulerChoice, Seed, Trial, Workload};

use crate::capability;

/// Trials that share a boot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Boot<'a> {
    pub boot: u32,
    /// The kernel that all of them need; `None`: the running one (`live`).
    pub kernel: Option<&'a str>,
    pub machine: &'a Machine,
    /// The trials, in the order of execution.
    pub trials: &'a [Trial],
}

/// One trial before its place in the plan is known.
#[derive(Clone, Copy)]
struct Draft<'a> {
    backend: Backend,
    contestant: &'a Contestant,
    workload: &'a Workload,
    machine: &'a Machine,
    run: u32,
}

/// The most trials that a plan may have: each one is in memory.
pub const TRIALS_MAX: u64 = 100_000;

/// How many trials the plan of an experiment has.
pub fn size(experiment: &Experiment) -> u64 {
    let once = Experiment { blocks: 1, trials_per_boot: 1, ..experiment.clone() };
    let (blocks, per_boot) = (u64::from(experiment.blocks), u64::from(experiment.trials_per_boot));
    (plan(&once, Seed(0)).len() as u64).saturating_mul(blocks).saturating_mul(per_boot)
}

pub fn plan(experiment: &Experiment, seed: Seed) -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut boot = 0;
    for block in 0..experiment.blocks {
        for drafts in boots(experiment, seed.derive(&format!("order of block {block}"))) {
            for draft in drafts {
                let position = trials.len() as u32;
                let place = Place { block, boot, position };
                trials.push(trial(experiment, seed, &draft, &place));
            }
            boot += 1;
        }
    }
    trials
}

/// Groups a plan, or the rest of one, by boots.
pub fn by_boot(trials: &[Trial]) -> Vec<Boot<'_>> {
    trials
        .chunk_by(|trial, next| trial.boot == next.boot)
        .map(|trials| Boot {
            boot: trials[0].boot,
            kernel: kernel(&trials[0].contestant, trials[0].backend),
            machine: &trials[0].machine,
            trials,
        })
        .collect()
}

/// One block: its boots in random order, each with its trials in random order.
fn boots(experiment: &Experiment, mut seed: Seed) -> Vec<Vec<Draft<'_>>> {
    let mut groups: BTreeMap<(Backend, Option<&str>, &str), Vec<Draft>> = BTreeMap::new();
    for draft in drafts(experiment) {
        let kernel = kernel(draft.contestant, draft.backend);
        let key = (draft.backend, kernel, draft.machine.name.as_str());
        groups.entry(key).or_default().push(draft);
    }
    let mut groups: Vec<Vec<Draft>> = groups.into_values().collect();
    seed.shuffle(&mut groups);
    groups.iter_mut().for_each(|group| seed.shuffle(group));
    groups
}

/// Every combination that its backend can run, once for each trial of a boot.
fn drafts(experiment: &Experiment) -> Vec<Draft<'_>> {
    let mut drafts = Vec::new();
    for (backend, contestant, workload) in capability::runnable(experiment) {
        let has = |machine: &&Machine| {
            experiment.has(backend, machine) && experiment.has_cell(workload, machine)
        };
        for machine in experiment.machines.iter().filter(has) {
            let workload = experiment.on_machine(workload, machine);
            let draft = |run| Draft { backend, contestant, workload, machine, run };
            drafts.extend((0..experiment.trials_per_boot).map(draft));
        }
    }
    drafts
}

/// The properties that need a boot of their own. A backend that boots no kernels cannot change
/// them.
fn kernel(contestant: &Contestant, backend: Backend) -> Option<&str> {
    if backend.boots_kernels() { contestant.kernel.as_deref() } else { None }
}

/// The position of a trial.
struct Place {
    block: u32,
    boot: u32,
    position: u32,
}

fn trial(experiment: &Experiment, seed: Seed, draft: &Draft, place: &Place) -> Trial {
    let cell = draft.workload.cell();
    let Place { block, boot, position } = *place;
    // Contestants of one block and cell share it: they meet the same arrivals.
    let purpose = format!("{cell} on {} block {block} run {}", draft.machine.name, draft.run);
    Trial {
        schema: SCHEMA,
        experiment: experiment.name.clone(),
        backend: draft.backend,
        contestant: on_backend(draft.contestant, draft.backend).into(),
        workload: draft.workload.clone().into(),
        machine: draft.machine.clone().into(),
        seed: seed.derive(&purpose),
        block,
        boot,
        position,
        timeout_ms: experiment.timeout_ms,
        probes: experiment.probes,
        trace: experiment.trace_every_trial
            || (block == 0 && draft.run == 0 && experiment.trace.contains(&cell)),
        races: experiment.races && draft.backend.is_model(),
        known_as: KnownAs::default(),
    }
}

/// On `live` only a kernel's own scheduler has a kernel, which is the running one; the others run
/// on whatever runs. Nothing stands for a kernel, or for a program, where there is one.
pub fn on_backend(contestant: &Contestant, backend: Backend) -> Contestant {
    let is_kernel = contestant.scheduler == SchedulerChoice::Kernel;
    let kernel = contestant.kernel.clone().filter(|_| is_kernel || !backend.uses_running_kernel());
    let stands_for_kernel = contestant.stands_for_kernel && backend.is_model();
    let scheduler = match &contestant.scheduler {
        SchedulerChoice::Program { in_simulator: Some(file), .. } if backend.is_model() => {
            (**file).clone()
        }
        SchedulerChoice::Program { command, .. } => {
            SchedulerChoice::Program { command: command.clone(), in_simulator: None }
        }
        other => other.clone(),
    };
    Contestant { kernel, stands_for_kernel, scheduler, name: contestant.name.clone() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use model::experiment::Scaled;
    use model::machine::Clock;
    use proptest::prelude::*;
    use proptest::sample;

    use super::*;

    fn experiment(
        counts: (usize, usize, usize),
        repeats: (u32, u32),
        backends: &[Backend],
    ) -> Experiment {
        let contestants = (0..counts.0).map(|index| Contestant {
            name: format!("contestant{index}"),
            kernel: Some(["6.1", "6.12", "7"][index % 3].into()),
            scheduler: SchedulerChoice::file("vtime", ""),
            stands_for_kernel: false,
        });
        let workloads = (0..counts.1)
            .map(|index| Workload { name: format!("workload{index}"), ..Workload::default() });
        let machines = (0..counts.2).map(|index| Machine {
            name: format!("machine{index}"),
            cpus: index as u32 + 1,
            memory_mib: 512,
            clock: Clock::Virtual,
            ..Machine::default()
        });
        Experiment {
            backends: backends.to_vec(),
            baseline: "contestant0".into(),
            contestants: contestants.collect(),
            workloads: workloads.collect(),
            machines: machines.collect(),
            blocks: repeats.0,
            trials_per_boot: repeats.1,
            timeout_ms: 1000,
            trace: vec!["workload0".into()],
            probes: true,
            ..Experiment::default()
        }
    }

    fn any_experiment() -> impl Strategy<Value = Experiment> {
        let all = vec![Backend::Sim, Backend::Vm, Backend::Live];
        let backends = sample::subsequence(all, 1..=3).prop_shuffle();
        ((1_usize..6, 1_usize..4, 1_usize..3), (1_u32..5, 1_u32..4), backends)
            .prop_map(|(counts, repeats, backends)| experiment(counts, repeats, &backends))
    }

    /// Contestant, cell and machine of a trial.
    fn combination(trial: &Trial) -> (String, String, String) {
        let place = format!("{} {:?}", trial.machine.name, trial.backend);
        (trial.contestant.name.clone(), trial.workload.cell(), place)
    }

    proptest! {
        #[test]
        fn every_combination_runs_equally_often(experiment in any_experiment(), seed: u64) {
            let trials = plan(&experiment, Seed(seed));
            let mut counts = BTreeMap::new();
            for trial in &trials {
                *counts.entry((combination(trial), trial.block)).or_insert(0) += 1;
            }
            let combinations = experiment.contestants.len()
                * experiment.workloads.len()
                * experiment.machines.len()
                * experiment.backends.len();
            prop_assert_eq!(counts.len(), combinations * experiment.blocks as usize);
            prop_assert!(counts.values().all(|count| *count == experiment.trials_per_boot));
            let positions: Vec<u32> = trials.iter().map(|trial| trial.position).collect();
            prop_assert_eq!(positions, (0..trials.len() as u32).collect::<Vec<_>>());
        }

        #[test]
        fn boots_are_contiguous_and_have_one_kernel_and_machine(
            experiment in any_experiment(), seed: u64,
        ) {
            let trials = plan(&experiment, Seed(seed));
            let boots = by_boot(&trials);
            for (index, boot) in boots.iter().enumerate() {
                prop_assert_eq!(boot.boot, index as u32);
                let place_of = |trial: &Trial| (trial.block, trial.machine.clone(), trial.backend);
                let first = place_of(&boot.trials[0]);
                prop_assert!(boot.trials.iter().all(|trial| place_of(trial) == first));
                let needs = |trial: &Trial| {
                    kernel(&trial.contestant, trial.backend).map(str::to_owned)
                };
                let kernel = boot.kernel.map(str::to_owned);
                prop_assert!(boot.trials.iter().all(|trial| needs(trial) == kernel));
            }
            let sum: usize = boots.iter().map(|boot| boot.trials.len()).sum();
            prop_assert_eq!(sum, trials.len());
        }

        #[test]
        fn contestants_and_backends_share_the_seeds_of_a_block_and_cell(
            experiment in any_experiment(), seed: u64,
        ) {
            let mut seeds: BTreeMap<_, BTreeMap<_, BTreeSet<u64>>> = BTreeMap::new();
            for trial in plan(&experiment, Seed(seed)) {
                let (contestant, cell, _) = combination(&trial);
                let machine = trial.machine.name.clone();
                let cell = seeds.entry((cell, machine, trial.block)).or_default();
                cell.entry((contestant, trial.backend)).or_default().insert(trial.seed.0);
            }
            let mut all = BTreeSet::new();
            for contestants in seeds.values() {
                let mut sets = contestants.values();
                let first = sets.next().unwrap();
                prop_assert!(sets.all(|set| set == first));
                prop_assert_eq!(first.len(), experiment.trials_per_boot as usize);
                prop_assert!(first.iter().all(|seed| all.insert(*seed)));
            }
        }

        #[test]
        fn the_same_seed_gives_the_same_bytes(experiment in any_experiment(), seed: u64) {
            let bytes = |seed| serde_json::to_string(&plan(&experiment, Seed(seed))).unwrap();
            prop_assert_eq!(bytes(seed), bytes(seed));
        }

        #[test]
        fn every_trial_has_its_own_identity(experiment in any_experiment(), seed: u64) {
            let trials = plan(&experiment, Seed(seed));
            let ids: BTreeSet<String> = trials.iter().map(Trial::id).collect();
            prop_assert_eq!(ids.len(), trials.len());
        }
    }

    #[test]
    fn blocks_differ_in_order_and_so_do_seeds() {
        let experiment = experiment((6, 3, 1), (4, 1), &[Backend::Vm]);
        let order = |seed: u64, block: u32| -> Vec<_> {
            let trials = plan(&experiment, Seed(seed));
            trials.iter().filter(|trial| trial.block == block).map(combination).collect()
        };
        assert_ne!(order(1, 0), order(1, 1));
        assert_ne!(order(1, 0), order(2, 0));
        let kernels = |block: u32| -> Vec<String> {
            let trials = plan(&experiment, Seed(1));
            let boots = by_boot(&trials);
            let boots = boots.iter().filter(|boot| boot.trials[0].block == block);
            boots.map(|boot| boot.kernel.unwrap().to_owned()).collect()
        };
        assert!((1..4).any(|block| kernels(block) != kernels(0)));
    }

    #[test]
    fn only_the_first_block_is_traced() {
        let trials = plan(&experiment((2, 2, 1), (2, 2), &[Backend::Vm]), Seed(1));
        let traced: Vec<&Trial> = trials.iter().filter(|trial| trial.trace).collect();
        assert_eq!(traced.len(), 2);
        assert!(traced.iter().all(|trial| trial.block == 0 && trial.workload.name == "workload0"));
    }

    #[test]
    fn a_cell_keeps_its_name_and_seed_where_its_counts_follow_the_machine() {
        let plain = experiment((2, 1, 2), (1, 1), &[Backend::Sim]);
        let workload = Workload { duration_us: Some(7), ..plain.workloads[0].clone() };
        let scaled = vec![Scaled { cpus: 2, workload }];
        let scaled = Experiment { scaled, ..plain.clone() };
        for (old, new) in plan(&plain, Seed(1)).iter().zip(plan(&scaled, Seed(1))) {
            let expected = (new.machine.cpus == 2).then_some(7);
            assert_eq!(new.workload.duration_us, expected);
            assert_eq!((old.seed, old.workload.cell()), (new.seed, new.workload.cell()));
        }
    }

    #[test]
    fn a_live_block_is_one_session() {
        let trials = plan(&experiment((6, 2, 1), (3, 1), &[Backend::Live]), Seed(1));
        assert_eq!(by_boot(&trials).len(), 3);
    }
}
