// SPDX-License-Identifier: GPL-2.0-only
//! Real programs compared with their replays: is a recording the truth?
//!
//! ```text
//! experiment ─► programs, traced ─► the baseline's first trial ─► a workload file each
//! programs, workload files, under all schedulers ─► stats::replay ─► tables
//! ```
//!
//! Programs and replays run twice, without traces and with them.

mod sides;
mod taping;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use model::{Backend, Record, Workload};
use stats::replay::{self, Proof, Proofs};

use super::{Args, measured};
use crate::exit::{self, bad_input};
use crate::measure::Campaign;
use crate::planned_experiment::PlannedExperiment;
use crate::{comparison, output};
use sides::Sides;
use taping::{Recorded, Tapes};

/// The experiment that the published table is of.
pub const EXPERIMENT: &str = "replays";

/// Runs programs and their replays, and writes how near they are.
pub fn run(mut args: Args) -> Result<ExitCode> {
    let options = &mut args.experiment;
    options.experiment.get_or_insert_with(|| EXPERIMENT.into());
    let asked = options.plan()?;
    let planned = programs(asked.clone())?;
    let tapes = Tapes::new(args.tapes.as_deref())?;
    tapes.refuse_old_files(&planned.experiment.workloads, &planned.experiment.backends)?;
    let under = planned.experiment.baseline.clone();
    let Some(traced) = records(&args, planned.clone().with_traces())? else {
        return Ok(exit::interrupted());
    };
    // Without a recording nothing else is worth a run.
    let recorded = tapes.write(&args.execution.store, &traced, &under)?;
    let Some(untraced) = records(&args, planned)? else { return Ok(exit::interrupted()) };
    let programs = Measured { untraced, traced };
    let mut all = programs.clone();
    let mut proofs = Proofs::default();
    for backend in kernel_backends(&asked) {
        let of_backend: Vec<&Recorded> =
            recorded.iter().filter(|program| program.backend == backend).collect();
        let Some(planned) = replays(&args, &asked, backend, &of_backend)? else { continue };
        let Some(traced) = records(&args, planned.clone().with_traces())? else {
            return Ok(exit::interrupted());
        };
        let Some(untraced) = records(&args, planned)? else { return Ok(exit::interrupted()) };
        let replays = Measured { untraced, traced };
        let prove = |programs, replays| {
            let store = &args.execution.store;
            let counterparts = &asked.relations.counterparts;
            prove(&Sides { store, counterparts, programs, replays }, &of_backend, &under)
        };
        proofs.judged.extend(prove(&programs.untraced, &replays.untraced)?);
        proofs.traced.extend(prove(&programs.traced, &replays.traced)?);
        all.untraced.extend(replays.untraced);
        all.traced.extend(replays.traced);
    }
    let text = report::replay_markdown::tables(&proofs, args.all);
    output::write(args.output.as_deref(), text.as_bytes())?;
    let all = [all.untraced, all.traced].concat();
    comparison::misbehaviours(&all).iter().for_each(output::tell);
    Ok(exit::of_records(&all))
}

/// The same trials, measured twice.
#[derive(Clone)]
struct Measured {
    untraced: Vec<Record>,
    traced: Vec<Record>,
}

fn kernel_backends(planned: &PlannedExperiment) -> Vec<Backend> {
    let backends = planned.experiment.backends.iter().copied();
    backends.filter(|backend| !backend.is_model()).collect()
}

/// The part that runs on kernels.
fn programs(planned: PlannedExperiment) -> Result<PlannedExperiment> {
    if kernel_backends(&planned).is_empty() {
        return Err(bad_input(format!(
            "{}: programs are recorded on a kernel; write on = \"vm\", or --on vm,sim",
            planned.experiment.name
        )));
    }
    let starts_none = |workload: &&Workload| workload.program.is_none();
    if let Some(workload) = planned.experiment.workloads.iter().find(starts_none) {
        return Err(bad_input(format!(
            "{}: the workload '{}' starts no program, so there is no truth to compare a replay \
             with; name programs with --workload",
            planned.experiment.name, workload.name
        )));
    }
    let mut planned = planned;
    planned.experiment.backends.retain(|backend| !backend.is_model());
    Ok(planned)
}

/// The plan of the replays of what was recorded on a backend: there, and in the simulator if the
/// experiment names it and the backend is no live machine, whose costs nobody knows. `None`:
/// nothing was recorded there.
fn replays(
    args: &Args,
    asked: &PlannedExperiment,
    backend: Backend,
    recorded: &[&Recorded],
) -> Result<Option<PlannedExperiment>> {
    if recorded.is_empty() {
        return Ok(None);
    }
    let has_model = asked.experiment.backends.contains(&Backend::MODEL);
    let model = (has_model && backend != Backend::Live).then_some(Backend::MODEL);
    let on = std::iter::once(backend).chain(model).collect();
    let files: Vec<PathBuf> = recorded.iter().map(|program| program.file.clone()).collect();
    let mut planned = args.experiment.plan_of_files(on, &files)?;
    planned.experiment.name = format!("{}-tapes-{}", asked.experiment.name, backend.word());
    Ok(Some(planned))
}

/// Runs a plan; `None` when the user has interrupted it.
fn records(args: &Args, planned: PlannedExperiment) -> Result<Option<Vec<Record>>> {
    let selection = measured(Campaign::with_own_rules(planned, &args.execution))?;
    selection.map(|selection| Ok(selection.open()?.records)).transpose()
}

fn prove(sides: &Sides<'_>, recorded: &[&Recorded], under: &str) -> Result<Vec<Proof>> {
    let prove = |of: &&Recorded| {
        let (program, replay, model) = (sides.program(of)?, sides.replay(of)?, sides.model(of)?);
        let of = (of.cell.clone(), of.machine.clone(), of.backend);
        Ok(replay::proof(of, under, [&program, &replay, &model]))
    };
    recorded.iter().map(prove).collect()
}
