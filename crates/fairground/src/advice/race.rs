// SPDX-License-Identifier: GPL-2.0-only
//! From cares to a race: the candidates, what is used now, the workloads, and the measures that are
//! watched.

use std::collections::BTreeSet;

use anyhow::Result;
use model::metric::Direction;
use model::{Backend, Experiment, SchedulerChoice, Seed, Workload};
use stats::{Aim, MeasureKey, Watched};
use vm::installed;

use super::host::Host;
use crate::exit::bad_input;
use crate::planned_experiment::PlannedExperiment;
use spec::care::{Care, Criterion};
use spec::{Overrides, machine};

/// What sessions and records call the experiment.
pub const NAME: &str = "recommend";
const QUESTION: &str = "Which scheduler serves best what I care about?";
/// The kernel that virtual machines boot, see `fairground list kernels`.
pub const VM_KERNEL: &str = "7";
/// How much the other measures of a workload may get worse if it was named without a care, in
/// percent: the smallest difference that people notice, see docs/src/method/recommendation.md.
const KEPT_PERCENT: f64 = 5.0;

#[derive(Clone, Debug)]
pub struct Wish {
    /// What matters, the most important first.
    pub cares: Vec<Care>,
    /// Workloads of the user's own, as `--workload` has them.
    pub workloads: Vec<String>,
    /// The candidates, instead of those that the cares name.
    pub schedulers: Vec<String>,
    pub machine: Option<String>,
    pub seed: u64,
    pub backend: Backend,
}

pub struct Race {
    /// The experiment: what is used now is the baseline, the candidates are the others.
    pub planned: PlannedExperiment,
    pub aims: Vec<Aim>,
    /// Contestants that can be used without loading anything.
    pub easy: Vec<String>,
}

impl Wish {
    /// The race with one block; the budget decides how many there will be.
    pub fn race(&self, host: &Host) -> Result<Race> {
        let workloads = self.care_workloads();
        let overrides = Overrides {
            on: vec![self.backend],
            schedulers: self.contestants(host)?,
            workloads: workloads.iter().chain(&self.workloads).cloned().collect(),
            machines: vec![self.machine.clone().unwrap_or_else(|| machine::HERE.into())],
            blocks: Some(1),
            ..Overrides::default()
        };
        let mut planned = PlannedExperiment::read(None, &overrides, Seed(self.seed))?;
        self.adapt(&mut planned.experiment, host);
        let planned = planned.replanned();
        self.can_run(&planned.experiment, host)?;
        let aims = self.aims(&planned.experiment, &workloads)?;
        let easy = |choice: &SchedulerChoice| {
            matches!(choice, SchedulerChoice::Kernel | SchedulerChoice::Policy { .. })
        };
        let contestants = planned.experiment.contestants.iter();
        let easy = contestants
            .filter(|contestant| easy(&contestant.scheduler))
            .map(|contestant| contestant.name.clone());
        Ok(Race { easy: easy.collect(), aims, planned })
    }

    /// Gives the experiment its name, and the machine `here` its caches, which no file can
    /// describe.
    fn adapt(&self, experiment: &mut Experiment, host: &Host) {
        experiment.name = NAME.into();
        experiment.question = QUESTION.into();
        let here = |machine: &&mut model::Machine| machine.name == machine::HERE;
        if !self.backend.uses_running_kernel()
            && let Some(machine) = experiment.machines.iter_mut().find(here)
        {
            *machine = host.machine.clone();
        }
    }

    /// Refuses schedulers that this kernel or user cannot load.
    fn can_run(&self, experiment: &Experiment, host: &Host) -> Result<()> {
        if !self.backend.uses_running_kernel() || host.can_load() {
            return Ok(());
        }
        let mut contestants = experiment.contestants.iter();
        match contestants.find(|contestant| contestant.scheduler.is_sched_ext()) {
            None => Ok(()),
            Some(contestant) => Err(bad_input(format!(
                "--scheduler {}: {}; write --on sim or --on vm, or leave it out",
                contestant.name,
                host.why_not_load()
            ))),
        }
    }

    /// The cares' workloads, each once.
    fn care_workloads(&self) -> Vec<String> {
        let mut workloads: Vec<String> = Vec::new();
        for workload in self.cares.iter().flat_map(|care| &care.workloads) {
            if !workloads.contains(workload) {
                workloads.push(workload.clone());
            }
        }
        workloads
    }

    fn contestants(&self, host: &Host) -> Result<Vec<String>> {
        let now = now(self.backend, host);
        let (file, _) = now.split_once(' ').unwrap_or((&now, ""));
        let mut all = vec![now.clone()];
        let named: Vec<String> = if self.schedulers.is_empty() {
            self.usual(host).into_iter().filter(|name| name != file).collect()
        } else {
            self.schedulers.clone()
        };
        let mut seen = BTreeSet::from([now.clone()]);
        all.extend(named.into_iter().filter(|name| seen.insert(name.clone())));
        if all.len() > 1 {
            return Ok(all);
        }
        Err(bad_input(match self.backend {
            on if on.uses_running_kernel() => {
                "--on live: no scheduler can be loaded on this kernel by this user, and there is \
                              nothing else to compare; write --on sim, or use sudo on a kernel \
                              with sched_ext"
                    .to_owned()
            }
            _ => format!("no other scheduler runs against {now}; name one by --scheduler"),
        }))
    }

    /// The cares' candidates that can run; on this kernel the installed ones, too.
    fn usual(&self, host: &Host) -> Vec<String> {
        let all = self.cares.iter().flat_map(|care| &care.schedulers).cloned();
        let live = self.backend.uses_running_kernel();
        let loads = |name: &String| !live || host.can_load() || name.starts_with("policy:");
        let mut names: Vec<String> = all.filter(loads).collect();
        if live && host.can_load() {
            names.extend(installed::sched_ext().into_iter().map(|name| format!("program:{name}")));
        }
        names
    }

    /// What is watched. `workloads` are those of the cares, which come first in the experiment.
    fn aims(&self, experiment: &Experiment, workloads: &[String]) -> Result<Vec<Aim>> {
        let cell = |care: &Care, at: usize| {
            let place = workloads.iter().position(|workload| *workload == care.workloads[at]);
            place.map_or_else(String::new, |place| experiment.workloads[place].cell())
        };
        let watched = |care: &Care, criterion: &Criterion| Watched {
            cell: cell(care, criterion.workload),
            measure: criterion.measure.clone(),
            words: criterion.words.clone(),
            percent: criterion.percent,
            least: criterion.least,
        };
        let aim = |care: &Care| Aim {
            name: care.name.clone(),
            decides: watched(care, &care.decides),
            keeps: care.keeps.iter().map(|criterion| watched(care, criterion)).collect(),
        };
        let mut aims: Vec<Aim> = self.cares.iter().map(aim).collect();
        for own in &experiment.workloads[workloads.len()..] {
            aims.push(of_workload(own)?);
        }
        Ok(aims)
    }
}

/// What the user has now, as `--scheduler` says it: on a kernel its own scheduler, in the simulator
/// the file that was written after it.
fn now(backend: Backend, host: &Host) -> String {
    let mut numbers = host.release.split(|c: char| !c.is_ascii_digit());
    let mut number = || numbers.next().and_then(|word| word.parse::<u32>().ok()).unwrap_or(0);
    let version = (number(), number());
    match version {
        _ if backend.boots_kernels() => format!("kernel:{VM_KERNEL}"),
        (major, minor) if backend.uses_running_kernel() => format!("kernel:{major}.{minor}"),
        _ if host.fair == "cfs" => "cfs".into(),
        (6, 6..12) => "eevdf era=60600".into(),
        (6, 12..) => "eevdf era=61200".into(),
        _ => "eevdf".into(),
    }
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
        decides: watched(first, stats::compare::margin::MARGIN_PERCENT),
        keeps: keys.map(|key| watched(key, KEPT_PERCENT)).collect(),
    })
}
