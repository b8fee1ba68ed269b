// SPDX-License-Identifier: GPL-2.0-only
//! The simulator's advice compared with a kernel's, care by care and CPU count by CPU count.
//!
//! ```text
//! care, CPUs ─► the same race in the simulator and in virtual machines ─► two recommendations
//! store ─► the kernel's records of trials that are the same
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use model::{Backend, Costs, Machine, Record, Trial};
use report::advice_markdown::{self, AdviceCell};
use spec::assets::{self, Kind};
use spec::care;
use stats::Recommendation;
use stats::decide::recommend::Confirmation;
use store::{Filter, Store};
use vm::kernels;

use super::{Args, measured};
use crate::advice::host::{self, Host};
use crate::advice::in_use::InUse;
use crate::advice::race::{Race, VM_KERNEL, Wish};
use crate::execution::locations::data_folder;
use crate::exit::{self, bad_input};
use crate::measure::{Campaign, RunOptions, in_own_store};
use crate::planned_experiment::PlannedExperiment;
use crate::selected::Selected;
use crate::{output, records};

/// What sessions and records call the experiment.
const NAME: &str = "advice";
/// The numbers of CPUs that the published table has.
const CPUS: [u32; 3] = [1, 2, 4];

/// Runs the chosen cells, and writes a table of all: those that are not chosen as far as the store
/// has them.
pub fn run(args: &Args) -> Result<ExitCode> {
    check(args)?;
    let host = kernels_host()?;
    let mut kept = Kept::of(&args.execution.store)?;
    let (mut cells, mut records) = (Vec::new(), Vec::new());
    let mut names = Vec::from_iter(assets::builtin_names(Kind::Care));
    let own = args.cares.iter().filter(|care| !names.contains(care)).cloned();
    let own: Vec<String> = own.collect();
    names.extend(own);
    for care in names {
        let mut cpus = CPUS.to_vec();
        cpus.extend(args.cpus.iter().filter(|cpus| !CPUS.contains(cpus)));
        for cpus in cpus {
            let is_chosen = (args.cares.is_empty() || args.cares.contains(&care))
                && (args.cpus.is_empty() || args.cpus.contains(&cpus));
            let arms = Arms { args, host: &host, care: &care, cpus, is_chosen };
            let Some(Told { blocks, confirmation, records: own }) = arms.told(&mut kept)? else {
                return Ok(exit::interrupted());
            };
            records.extend(own);
            cells.push(AdviceCell { care: care.clone(), cpus, blocks, confirmation });
        }
    }
    let kernel = format!("Kernel: {}.\n\n", host.release);
    output::write(args.output.as_deref(), (kernel + &advice_markdown::tables(&cells)).as_bytes())?;
    Ok(exit::of_records(&records))
}

/// Refuses options that this comparison would ignore.
fn check(args: &Args) -> Result<()> {
    let over = &args.experiment.overrides;
    let others = args.experiment.experiment.is_some()
        || !over.on.is_empty()
        || !over.workloads.is_empty()
        || !over.machines.is_empty()
        || !over.trace.is_empty()
        || over.baseline.is_some()
        || over.trials_per_boot.is_some()
        || over.timeout_s.is_some()
        || over.no_probes
        || over.exploratory;
    if others {
        return Err(bad_input(
            "--advice: the cares name workloads and measures; write only --care, --cpus, \
             --scheduler, --blocks, --seed, and where the records go",
        ));
    }
    match args.cpus.iter().find(|cpus| !(1..=host::COUNTED_MOST).contains(*cpus)) {
        None => Ok(()),
        Some(cpus) => Err(bad_input(format!("--cpus {cpus}: write 1 … {}", host::COUNTED_MOST))),
    }
}

/// A host that runs the kernel which the candidates run on: its scheduler is the one in use.
fn kernels_host() -> Result<Host> {
    let here = host::this_machine()?;
    let kernel = kernels::find(&data_folder()?, VM_KERNEL)?;
    Ok(Host { release: kernel.release, fair: kernel.fair, ..here })
}

/// Both sides of a cell.
struct Arms<'a> {
    args: &'a Args,
    host: &'a Host,
    care: &'a str,
    cpus: u32,
    /// Whether to measure it.
    is_chosen: bool,
}

/// What a cell says.
struct Told {
    /// The blocks of each side.
    blocks: u32,
    /// `None`: it was not measured.
    confirmation: Option<Confirmation>,
    records: Vec<Record>,
}

impl Arms<'_> {
    /// `None` when the user has interrupted it. The kernel's records of the store count whatever
    /// the simulator was then; its own side takes seconds, and is run anew.
    fn told(&self, kept: &mut Kept) -> Result<Option<Told>> {
        let mut race = self.race(Backend::Vm)?;
        if self.is_chosen {
            if !self.measure(race.planned.clone(), kept)? {
                return Ok(None);
            }
        } else {
            let blocks = kept.whole_blocks(&race.planned.trials);
            let blocks = blocks.unwrap_or(race.planned.experiment.blocks);
            if blocks < self.blocks(race.limits().0) {
                return Ok(Some(Told { blocks, confirmation: None, records: Vec::new() }));
            }
            race.planned = race.planned.clone().with_blocks(blocks);
        }
        let blocks = race.planned.experiment.blocks;
        let own = |trial: &Trial| kept.records.get(&on_kernel(trial)).cloned();
        let mut records: Vec<Record> = race.planned.trials.iter().filter_map(own).collect();
        let kernels = advise(&race, records.clone())?;
        let mut race = self.race(Backend::MODEL)?;
        race.planned = race.planned.with_blocks(blocks);
        let Some(simulated) = in_own_store(race.planned.clone(), self.args.execution.jobs)? else {
            return Ok(None);
        };
        records.extend(simulated.records.clone());
        let simulators = advise(&race, simulated.records)?;
        let confirmation = Some(Confirmation::of(&simulators, &kernels));
        Ok(Some(Told { blocks, confirmation, records }))
    }

    /// Asks the kernel for the trials of a chosen cell, with `--resume` for those that the store
    /// lacks. False when the user has interrupted it.
    fn measure(&self, mut planned: PlannedExperiment, kept: &mut Kept) -> Result<bool> {
        if self.args.execution.resume {
            planned.trials.retain(|trial| !kept.records.contains_key(&on_kernel(trial)));
        }
        if planned.trials.is_empty() {
            return Ok(true);
        }
        let execution = RunOptions { resume: false, ..self.args.execution.clone() };
        let Some(selection) = measured(Campaign::with_own_rules(planned, &execution))? else {
            return Ok(false);
        };
        kept.add(selection.open()?.records);
        Ok(true)
    }

    fn race(&self, backend: Backend) -> Result<Race> {
        let Host { release, fair, .. } = self.host;
        let options = &self.args.experiment;
        let named = care::read(self.care, Path::new(""), self.cpus)?.schedulers;
        // The file stands for the scheduler in use, and is no candidate on either side.
        let is_file = |name: &String| name != fair && spec::today::named(name).is_none();
        let usual = named.into_iter().filter(is_file).collect();
        let given = &options.overrides.schedulers;
        let wish = Wish {
            cares: vec![self.care.to_owned()],
            workloads: Vec::new(),
            schedulers: if given.is_empty() { usual } else { given.clone() },
            machine: host::counted(self.cpus)?,
            seed: options.seed,
            backend,
            in_use: InUse::of(backend, release, fair, data_folder().ok().as_deref(), true)?,
        };
        let mut race = wish.race(self.host)?;
        race.planned.experiment.name = NAME.into();
        race.planned = race.planned.clone().with_blocks(self.blocks(race.limits().1));
        Ok(race)
    }

    /// The number that the user wants, or the usual one.
    fn blocks(&self, usual: u32) -> u32 {
        self.args.experiment.overrides.blocks.unwrap_or(usual)
    }
}

/// What these records say of the only contestant that is in use.
fn advise(race: &Race, records: Vec<Record>) -> Result<Recommendation> {
    let experiment = &race.planned.experiment;
    let advised = Selected::of_records(records).advice_of(experiment)?;
    advised.into_iter().next().context("a race without a scheduler in use")
}

/// The kernel's records of a store, each by its trial.
struct Kept {
    records: BTreeMap<String, Record>,
}

impl Kept {
    /// Those that this machine has measured; the last one of each trial.
    fn of(path: &Path) -> Result<Kept> {
        let mut kept = Kept { records: BTreeMap::new() };
        if !path.exists() {
            return Ok(kept);
        }
        let store = Store::open_readonly(path)?;
        for session in store.sessions()? {
            if session.origin.is_none() && session.experiment.name == NAME {
                let session = Some(session.id);
                kept.add(records::read(&store, &Filter { session, ..Filter::default() })?);
            }
        }
        Ok(kept)
    }

    /// How many of a plan's first blocks are here with all their trials; `None`: all of them.
    fn whole_blocks(&self, planned: &[Trial]) -> Option<u32> {
        let is_missing = |trial: &&Trial| !self.records.contains_key(&on_kernel(trial));
        planned.iter().filter(is_missing).map(|trial| trial.block).min()
    }

    fn add(&mut self, records: Vec<Record>) {
        let of_kernels = records.into_iter().filter(|record| !record.trial.backend.is_model());
        self.records.extend(of_kernels.map(|record| (on_kernel(&record.trial), record)));
    }
}

/// The identity of what a kernel is asked to do. The costs of a machine are the simulator's.
fn on_kernel(trial: &Trial) -> String {
    let machine = Machine { costs: Costs::FREE, ..(*trial.machine).clone() }.into();
    Trial { machine, ..trial.clone() }.id()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_counts_when_all_its_trials_are_kept() {
        let plan: Vec<Trial> = (0..9)
            .map(|number| Trial {
                backend: Backend::Vm,
                block: number / 3,
                seed: model::Seed(number.into()),
                ..Trial::default()
            })
            .collect();
        let of_kernel = |trial: &Trial| {
            let (trial, provenance) = (trial.clone(), model::Provenance::default());
            Record::without_measurement(trial, model::Outcome::Ok, provenance)
        };
        let mut kept = Kept { records: BTreeMap::new() };
        assert_eq!(kept.whole_blocks(&plan), Some(0));
        kept.add(plan[..5].iter().map(of_kernel).collect());
        assert_eq!(kept.whole_blocks(&plan), Some(1));
        kept.add(plan[6..].iter().map(of_kernel).collect());
        assert_eq!(kept.whole_blocks(&plan), Some(1));
        kept.add(plan[5..6].iter().map(of_kernel).collect());
        assert_eq!(kept.whole_blocks(&plan), None);
    }

    #[test]
    fn a_kernels_record_is_kept_while_only_the_simulator_changes() {
        let trial = Trial { backend: Backend::Vm, ..Trial::default() };
        let mut kept = Kept { records: BTreeMap::new() };
        let record = |backend| {
            let trial = Trial { backend, ..trial.clone() };
            Record::without_measurement(trial, model::Outcome::Ok, model::Provenance::default())
        };
        kept.add(vec![record(Backend::Sim), record(Backend::Vm)]);
        let mut dearer = trial.clone();
        dearer.machine.costs.read_ns += 1;
        let other = Trial { seed: model::Seed(2), ..trial.clone() };
        let has = |trial| kept.records.contains_key(&on_kernel(trial));
        assert_eq!((kept.records.len(), has(&dearer), has(&other)), (1, true, false));
    }
}
