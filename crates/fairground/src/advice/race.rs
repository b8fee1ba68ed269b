// SPDX-License-Identifier: GPL-2.0-only
//! From cares to a race: the candidates, what is used now, the workloads, and the measures that are
//! watched.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use model::metric::Direction;
use model::{Backend, Clock, Experiment, Machine, Seed, Workload};
use stats::{Aim, MeasureKey, Watched};
use vm::installed;

use super::ask::USUAL;
use super::host::Host;
use super::in_use::InUse;
use crate::exit::bad_input;
use crate::measure::claimable::blocks_needed;
use crate::planned_experiment::PlannedExperiment;
use crate::today;
use spec::Overrides;
use spec::care::{self, Care, Criterion};

/// What sessions and records call the experiment.
pub const NAME: &str = "recommend";
const QUESTION: &str = "Which scheduler serves best what I care about?";
/// The kernel that candidates run on in virtual machines, see `fairground list kernels`.
pub const VM_KERNEL: &str = "7";
/// How many blocks are enough where numbers are exact: more of them show no other difference.
pub const EXACT: u32 = 12;
/// How much the other measures of a workload may get worse if it was named without a care, in
/// percent: the smallest difference that people notice, see docs/src/method/recommendation.md.
const KEPT_PERCENT: f64 = 5.0;

#[derive(Clone, Debug)]
pub struct Wish {
    /// What matters, the most important first: names or files of cares.
    pub cares: Vec<String>,
    /// Workloads of the user's own, as `--workload` has them.
    pub workloads: Vec<String>,
    /// The candidates, instead of those that the cares name.
    pub schedulers: Vec<String>,
    pub machine: Machine,
    pub seed: u64,
    pub backend: Backend,
    pub in_use: InUse,
}

pub struct Race {
    /// The experiment: the scheduler in use is the baseline, the candidates are the others.
    pub planned: PlannedExperiment,
    pub aims: Vec<Aim>,
    /// The contestants that are the scheduler in use, or stand for it.
    pub in_use: Vec<String>,
}

impl Wish {
    /// The race with one block; the budget decides how many there will be.
    pub fn race(&self, host: &Host) -> Result<Race> {
        let cares = self.read_cares()?;
        let workloads = care_workloads(&cares);
        let overrides = Overrides {
            on: vec![self.backend],
            schedulers: self.contestants(&cares, host)?,
            workloads: workloads.iter().chain(&self.workloads).cloned().collect(),
            given_machine: Some(self.machine.clone()),
            blocks: Some(1),
            ..Overrides::default()
        };
        let mut planned = PlannedExperiment::read(None, &overrides, Seed(self.seed))?;
        planned.experiment.name = NAME.into();
        planned.experiment.question = QUESTION.into();
        for own in planned.experiment.contestants.iter_mut().take(self.in_use.options.len()) {
            own.stands_for_kernel = self.backend.is_model();
        }
        let planned = planned.replanned();
        let aims = self.aims(&cares, &planned.experiment, &workloads)?;
        let contestants = &planned.experiment.contestants;
        let names = contestants.iter().map(|contestant| contestant.name.clone());
        let in_use: Vec<String> = names.take(self.in_use.options.len()).collect();
        let mut planned = planned;
        let design = &mut planned.experiment.design;
        (design.aims, design.in_use) = (aims.clone(), in_use.clone());
        Ok(Race { in_use, aims, planned })
    }

    /// The cares for this machine, each once.
    pub fn read_cares(&self) -> Result<Vec<Care>> {
        let mut cares: Vec<Care> = Vec::new();
        for name in &self.cares {
            let care = care::read(name, Path::new(""), self.machine.cpus)?;
            if cares.iter().all(|known| known.name != care.name) {
                cares.push(care);
            }
        }
        Ok(cares)
    }

    /// The scheduler in use, then the candidates.
    fn contestants(&self, cares: &[Care], host: &Host) -> Result<Vec<String>> {
        let mut all = self.in_use.options.clone();
        let files: Vec<&str> = all
            .iter()
            .map(|now| now.split_once(' ').map_or(now.as_str(), |(file, _)| file))
            .collect();
        let named: Vec<String> = if self.schedulers.is_empty() {
            let usual = self.usual(cares, host)?.into_iter();
            usual.filter(|name| !files.contains(&name.as_str())).collect()
        } else {
            self.schedulers.clone()
        };
        let mut seen: BTreeSet<String> = all.iter().cloned().collect();
        all.extend(named.into_iter().filter(|name| seen.insert(name.clone())));
        if all.len() > self.in_use.options.len() {
            return Ok(all);
        }
        Err(bad_input(match self.backend {
            on if on.uses_running_kernel() => format!(
                "--on live: {}, so no candidate can run; write --on vm, which boots a kernel with \
                 sched_ext, or --on sim",
                host.why_not_load()
            ),
            _ => format!("no other scheduler runs against {}; name one by --scheduler", all[0]),
        }))
    }

    /// The cares' candidates that can run; on this kernel the other installed programs, too.
    fn usual(&self, cares: &[Care], host: &Host) -> Result<Vec<String>> {
        let live = self.backend.uses_running_kernel();
        let loads = |name: &String| !live || host.can_load() || name.starts_with("policy:");
        let is_here = |name: &String| !is_of_today(name) || today::runs(name, self.backend);
        let candidates = candidates(cares)?.into_iter();
        let mut names: Vec<String> = candidates.filter(loads).filter(is_here).collect();
        if live && host.can_load() {
            let others = installed::sched_ext().into_iter().filter(|name| !is_of_today(name));
            names.extend(others.map(|name| format!("program:{name}")));
        }
        Ok(names)
    }

    /// What is watched. `workloads` are those of the cares, which come first in the experiment.
    fn aims(
        &self,
        cares: &[Care],
        experiment: &Experiment,
        workloads: &[String],
    ) -> Result<Vec<Aim>> {
        let cell = |care: &Care, at: usize| {
            let place = workloads.iter().position(|workload| *workload == care.workloads[at]);
            place.map_or_else(String::new, |place| experiment.workloads[place].cell())
        };
        let is_model = self.backend.is_model();
        let watched = |care: &Care, criterion: &Criterion| Watched {
            cell: cell(care, criterion.workload),
            measure: criterion.measure.clone(),
            words: criterion.words.clone(),
            percent: criterion.percent,
            least: criterion.least,
            model_error: criterion.model_error.filter(|_| is_model),
        };
        let aim = |care: &Care| Aim {
            name: care.name.clone(),
            decides: watched(care, &care.decides),
            keeps: care.keeps.iter().map(|criterion| watched(care, criterion)).collect(),
        };
        let mut aims: Vec<Aim> = cares.iter().map(aim).collect();
        for own in &experiment.workloads[workloads.len()..] {
            aims.push(of_workload(own)?);
        }
        Ok(aims)
    }

    /// The candidates of today that run on this backend, but not in the simulator.
    pub fn unpredicted(&self, host: &Host) -> Result<Vec<String>> {
        let all = self.usual(&self.read_cares()?, host)?.into_iter();
        let is_unpredicted =
            |name: &String| is_of_today(name) && !today::runs(name, Backend::MODEL);
        Ok(all.filter(is_unpredicted).collect())
    }

    /// What is said of the cares' candidates of today that do not run on this backend.
    pub fn absent(&self) -> Result<Vec<String>> {
        if !self.schedulers.is_empty() {
            return Ok(Vec::new());
        }
        let named = candidates(&self.read_cares()?)?.into_iter().filter(|name| is_of_today(name));
        let all = BTreeSet::from_iter(named).into_iter();
        let (here, absent): (Vec<String>, Vec<String>) = all
            .filter(|name| !today::runs(name, self.backend))
            .partition(|name| today::kept(name, None).is_some());
        let mut said = Vec::new();
        if !absent.is_empty() {
            let such = &absent[absent.len() / 2];
            said.push(format!(
                "left out: {} schedulers of today that were not built here; `fairground get` lists \
                 them, `fairground get {such}` builds one",
                absent.len()
            ));
        }
        if !here.is_empty() {
            let names = here.join(", ");
            said.push(format!("left out: {names}, which the simulator cannot run; --on vm can"));
        }
        Ok(said)
    }
}

impl Race {
    /// The fewest blocks that can show a difference between this many candidates, all aims in one
    /// family; and the most that are wanted: where numbers are exact a few are enough, so that the
    /// answer does not depend on the speed of this machine.
    pub fn limits(&self) -> (u32, u32) {
        let candidates = self.planned.experiment.contestants.len() - self.in_use.len();
        let needed = blocks_needed(candidates * self.aims.len());
        let exact = self.planned.trials.iter().all(|trial| trial.clock() == Clock::Virtual);
        (needed, if exact { EXACT.max(needed) } else { u32::MAX })
    }
}

fn is_of_today(name: &str) -> bool {
    spec::today::named(name).is_some()
}

/// The cares' candidates; for a workload without a care those of the usual one.
fn candidates(cares: &[Care]) -> Result<Vec<String>> {
    if cares.is_empty() {
        return Ok(care::read(USUAL, Path::new(""), 1)?.schedulers);
    }
    Ok(cares.iter().flat_map(|care| &care.schedulers).cloned().collect())
}

/// The cares' workloads, each once.
fn care_workloads(cares: &[Care]) -> Vec<String> {
    let mut workloads: Vec<String> = Vec::new();
    for workload in cares.iter().flat_map(|care| &care.workloads) {
        if !workloads.contains(workload) {
            workloads.push(workload.clone());
        }
    }
    workloads
}

/// The aim of a workload without a care: its first headline measure decides, the others must not
/// get worse.
fn of_workload(workload: &Workload) -> Result<Aim> {
    let keys = workload.headline.iter().filter_map(|text| text.parse::<MeasureKey>().ok());
    let judges = |key: &MeasureKey| key.unit_and_direction().1 != Direction::Neutral;
    let watched = |measure: MeasureKey, percent| Watched {
        cell: workload.cell(),
        words: report::units::measure(&measure),
        measure,
        percent,
        least: 0.0,
        model_error: None,
    };
    let mut keys = keys.filter(judges);
    let first = keys.next().ok_or_else(|| {
        bad_input(format!(
            "--workload {}: its headline names no measure that judges, so nothing can decide",
            workload.name
        ))
    })?;
    Ok(Aim {
        name: workload.cell(),
        decides: watched(first, stats::compare::verdict::MARGIN_PERCENT),
        keeps: keys.map(|key| watched(key, KEPT_PERCENT)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::host::SchedExt;

    #[test]
    fn a_kernel_that_loads_no_candidate_is_named_with_the_reason() {
        let machine = Machine { cpus: 1, ..Machine::default() };
        let (release, fair) = ("6.18.44".into(), "eevdf".into());
        let host = |sched_ext, is_root| Host {
            machine: machine.clone(),
            release: String::clone(&release),
            fair: String::clone(&fair),
            sched_ext,
            is_root,
        };
        let wish = Wish {
            cares: vec!["games".into()],
            workloads: Vec::new(),
            schedulers: Vec::new(),
            machine: machine.clone(),
            seed: 1,
            backend: Backend::Live,
            in_use: InUse { options: vec!["kernel:6.18".into()], ..InUse::default() },
        };
        let refused = |sched_ext, is_root| {
            let race = wish.race(&host(sched_ext, is_root));
            format!("{:#}", race.err().expect("nothing can be compared"))
        };
        let absent = refused(SchedExt::Absent, true);
        assert!(absent.starts_with("--on live: Linux 6.18.44 here has no sched_ext"), "{absent}");
        assert!(absent.contains("write --on vm") && !absent.contains("user"), "{absent}");
        assert!(refused(SchedExt::Free, false).contains("only root may load schedulers"));
    }

    #[test]
    fn a_workload_without_a_care_has_the_usual_candidates() {
        let usual = care::read(USUAL, Path::new(""), 1).expect("a care");
        assert_eq!(candidates(&[]).expect("the usual"), usual.schedulers);
        let audio = care::read("audio", Path::new(""), 1).expect("a care");
        let own = audio.schedulers.clone();
        assert_eq!(candidates(&[audio]).expect("its own"), own);
    }
}
