// SPDX-License-Identifier: GPL-2.0-only
//! The simulator's advice compared with a kernel's, care by care and CPU count by CPU count.
//!
//! ```text
//! care, CPUs ─► the same race in the simulator and in virtual machines ─► two recommendations
//! ```

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use model::{Backend, Record};
use report::advice_markdown::{self, AdviceCell};
use spec::assets::{self, Kind};
use spec::care;
use stats::Recommendation;
use stats::decide::recommend::confirmation::Confirmation;
use store::Store;
use vm::kernels;

use super::{Args, measured};
use crate::advice::host::{self, Host};
use crate::advice::in_use::InUse;
use crate::advice::race::{Race, VM_KERNEL, Wish};
use crate::execution::locations::data_folder;
use crate::exit::{self, bad_input};
use crate::measure::Campaign;
use crate::output;
use crate::records::Selection;

/// What sessions and records call the experiment.
const NAME: &str = "advice";
/// The numbers of CPUs that the published table has.
const CPUS: [u32; 3] = [1, 2, 4];

/// Runs the chosen cells, and writes a table of all: those that are not chosen as far as the store
/// has them.
pub fn run(args: &Args) -> Result<ExitCode> {
    check(args)?;
    let host = kernels_host()?;
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
            let Some((confirmation, of_cell)) = arms.confirmation()? else {
                return Ok(exit::interrupted());
            };
            records.extend(of_cell);
            cells.push(AdviceCell { care: care.clone(), cpus, confirmation });
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

/// What a cell says, if it was measured; and its records.
type Told = (Option<Confirmation>, Vec<Record>);

impl Arms<'_> {
    /// `None` when the user has interrupted it.
    fn confirmation(&self) -> Result<Option<Told>> {
        let (mut sides, mut records): (Vec<Recommendation>, _) = (Vec::new(), Vec::new());
        for backend in [Backend::MODEL, Backend::Vm] {
            let race = self.race(backend)?;
            let selection = if self.is_chosen {
                let planned = race.planned.clone();
                measured(Campaign::with_own_rules(planned, &self.args.execution))?
            } else {
                let Some(kept) = self.kept(&race)? else { return Ok(Some((None, records))) };
                Some(kept)
            };
            let Some(selection) = selection else { return Ok(None) };
            let selected = selection.open()?;
            sides.extend(selected.advice_of(&race.planned.experiment)?);
            records.extend(selected.records);
        }
        Ok(Some((Some(Confirmation::of(&sides[0], &sides[1])), records)))
    }

    fn race(&self, backend: Backend) -> Result<Race> {
        let Host { release, fair, .. } = self.host;
        let options = &self.args.experiment;
        let named = care::read(self.care, Path::new(""), self.cpus)?.schedulers;
        // The file stands for the scheduler in use, and is no candidate on either side.
        let usual = named.into_iter().filter(|name| name != fair).collect();
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
        let blocks = options.overrides.blocks.unwrap_or(race.limits().0);
        race.planned.experiment.name = NAME.into();
        race.planned = race.planned.with_blocks(blocks);
        Ok(race)
    }

    /// What the store has of a race that was run to its end.
    fn kept(&self, race: &Race) -> Result<Option<Selection>> {
        let path = &self.args.execution.store;
        if !path.exists() {
            return Ok(None);
        }
        let plan = race.planned.plan_id();
        let sessions = Store::open_readonly(path)?.sessions()?;
        let same = |session: &&store::Session| session.plan == plan && session.origin.is_none();
        let Some(session) = sessions.iter().rev().find(same) else { return Ok(None) };
        let selection = Selection::session(path, session.id);
        let is_whole = selection.open()?.records.len() == race.planned.trials.len();
        Ok(is_whole.then_some(selection))
    }
}
