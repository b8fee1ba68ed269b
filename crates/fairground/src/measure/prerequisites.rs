// SPDX-License-Identifier: GPL-2.0-only
//! What the trials of a plan need must be here before any of them runs: schedulers that compile,
//! kernels that are known, programs that are installed.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use model::{Backend, Contestant, SchedulerChoice};
use spec::SpecError;
use spec::source::advice;
use vm::{installed, kernels};

use crate::execution::{locations, objects};
use crate::planned_experiment::PlannedExperiment;

/// Refuses a plan whose contestants cannot run here, at the place that names them.
pub fn check(planned: &PlannedExperiment) -> Result<()> {
    for (backend, contestant) in contestants(planned) {
        let wrong = match backend {
            Backend::Vm => unknown_kernel(contestant).or_else(|| absent_program(contestant)),
            Backend::Live => absent_program(contestant),
            Backend::Sim | Backend::Imported => None,
        };
        if let Some((message, hint)) = wrong {
            let origin = planned.origins.get(&contestant.name);
            let origin = origin.cloned().unwrap_or_else(|| SpecError::new(&contestant.name, ""));
            return Err(SpecError { message, ..origin }.maybe_hint(hint).into());
        }
    }
    objects::prepare(&planned.trials, &planned.sources)?;
    Ok(())
}

/// The contestants that have trials, once for each backend.
fn contestants(planned: &PlannedExperiment) -> Vec<(Backend, &Contestant)> {
    let mut found: Vec<(Backend, &Contestant)> = Vec::new();
    for trial in &planned.trials {
        let is_it = |(backend, known): &(Backend, &Contestant)| {
            *backend == trial.backend && known.name == trial.contestant.name
        };
        if !found.iter().any(is_it) {
            found.push((trial.backend, &trial.contestant));
        }
    }
    found
}

type Missing = (String, Option<String>);

/// A kernel that is neither here nor can be downloaded.
fn unknown_kernel(contestant: &Contestant) -> Option<Missing> {
    let name = contestant.kernel.as_deref()?;
    if kernels::NAMES.contains(&name) {
        return None;
    }
    let home = locations::data_folder().ok()?;
    if name.contains('/') {
        let wrong = kernels::from_image(Path::new(name), None, name).err()?;
        return Some((format!("{wrong:#}"), Some("name a kernel's image, or 6.12".into())));
    }
    let known: Vec<String> = kernels::list(&home).ok()?.into_iter().map(|k| k.name).collect();
    if kernels::is_here(&home, name) {
        return None;
    }
    let definitions = kernels::build::definition::names();
    let hint = if definitions.iter().any(|definition| definition == name) {
        Some(format!("`fairground kernel build {name}` makes it"))
    } else {
        let here = known.iter().chain(&definitions).map(String::as_str);
        let names: BTreeSet<&str> = kernels::NAMES.iter().copied().chain(here).collect();
        advice(name, names)
    };
    let more = "`fairground kernel use FILE --name NAME` adds one of your own";
    let hint = hint.map_or_else(|| more.to_owned(), |hint| format!("{hint}; {more}"));
    Some((format!("unknown kernel '{name}'"), Some(hint)))
}

/// A scheduler's program that is not installed.
fn absent_program(contestant: &Contestant) -> Option<Missing> {
    let SchedulerChoice::Program { command, .. } = &contestant.scheduler else { return None };
    let program = command.first()?;
    if installed::find(program).is_some() {
        return None;
    }
    let here = installed::sched_ext();
    Some((installed::not_here(program), advice(program, here.iter().map(String::as_str))))
}
