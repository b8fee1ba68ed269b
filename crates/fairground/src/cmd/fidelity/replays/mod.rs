// SPDX-License-Identifier: GPL-2.0-only
//! Real programs compared with their replays: is a recording the truth?
//!
//! ```text
//! experiment ─► programs, traced ─► the baseline's first trial ─► a workload file each
//! workload files ─► replays, traced, under the same schedulers ─► stats::replay ─► tables
//! ```
//!
//! Both sides are trials with traces, and their figures come from these by one function.

mod sides;
mod taping;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use model::{Backend, Record, Workload};
use stats::replay::{self, Proof};

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
    let programs = programs(asked.clone())?;
    let tapes = Tapes::new(args.tapes.as_deref())?;
    let recorded_under = programs.experiment.baseline.clone();
    let Some(records) = measure(&args, programs)? else { return Ok(exit::interrupted()) };
    let recorded = tapes.write(&args.execution.store, &records, &recorded_under)?;
    let mut all = records.clone();
    let mut proofs = Vec::new();
    for backend in kernel_backends(&asked) {
        let of_backend: Vec<&Recorded> =
            recorded.iter().filter(|program| program.backend == backend).collect();
        let Some(planned) = replays(&args, &asked, backend, &of_backend)? else { continue };
        let Some(replayed) = measure(&args, planned)? else { return Ok(exit::interrupted()) };
        let sides = Sides {
            store: &args.execution.store,
            counterparts: &asked.relations.counterparts,
            programs: &records,
            replays: &replayed,
        };
        proofs.extend(prove(&sides, &of_backend, &recorded_under)?);
        all.extend(replayed);
    }
    let text = report::replay_markdown::tables(&proofs, args.all);
    output::write(args.output.as_deref(), text.as_bytes())?;
    comparison::misbehaviours(&all).iter().for_each(output::tell);
    Ok(exit::of_records(&all))
}

fn kernel_backends(planned: &PlannedExperiment) -> Vec<Backend> {
    let backends = planned.experiment.backends.iter().copied();
    backends.filter(|backend| !backend.is_model()).collect()
}

/// The part that runs on kernels, with traces.
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
    Ok(planned.with_traces())
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
    Ok(Some(planned.with_traces()))
}

/// Runs a plan; its records, or `None` when the user has interrupted it.
fn measure(args: &Args, planned: PlannedExperiment) -> Result<Option<Vec<Record>>> {
    match measured(Campaign::with_own_rules(planned, &args.execution))? {
        Some(selection) => Ok(Some(selection.open()?.records)),
        None => Ok(None),
    }
}

fn prove(sides: &Sides<'_>, recorded: &[&Recorded], under: &str) -> Result<Vec<Proof>> {
    let prove = |of: &&Recorded| {
        let (program, replay, model) = (sides.program(of)?, sides.replay(of)?, sides.model(of)?);
        let of = (of.cell.clone(), of.machine.clone(), of.backend);
        Ok(replay::proof(of, under, [&program, &replay, &model]))
    };
    recorded.iter().map(prove).collect()
}
