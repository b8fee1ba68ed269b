// SPDX-License-Identifier: GPL-2.0-only
//! `fairground soak [EXPERIMENT]`: whether schedulers survive all kinds of stress at once.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use model::{Backend, Outcome, Record, SchedulerChoice, Seed};
use report::junit::{Case, CaseResult};
use stats::view::survival;

use super::measured;
use crate::execution::locations::data_folder;
use crate::measure::{Campaign, RunOptions};
use crate::output::TestFormat;
use crate::planned_experiment::{ExperimentOptions, PlannedExperiment};
use crate::{exit, output, test_cases, ui};
use spec::Overrides;

/// The experiment whose workloads are the stress.
const EXPERIMENT: &str = "soak";
/// The experiments of this project that are for this verb.
const OURS: [&str; 2] = [EXPERIMENT, "soak_short"];

/// The kernel that schedulers run on unless they name another, see `fairground list kernels`.
const KERNEL: &str = "7";

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    experiment: ExperimentOptions,
    #[command(flatten)]
    execution: RunOptions,
    /// Interleave the callbacks of several CPUs at kfuncs and locks, as the seed draws, in the
    /// simulator: finds updates of shared memory that are lost, and what becomes of them
    #[arg(long)]
    races: bool,
    /// How to print it: table, or junit, where each trial is a test
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    format: TestFormat,
}

/// Runs the experiment under every scheduler of the project, or under those of `--scheduler`, on
/// each kernel with sched_ext that was pulled, and says which did not survive.
pub fn run(mut args: Args) -> Result<ExitCode> {
    args.experiment.experiment.get_or_insert_with(|| EXPERIMENT.into());
    let schedulers = &mut args.experiment.overrides.schedulers;
    if schedulers.is_empty() {
        schedulers.extend(compile::builtin().into_iter().map(|source| source.name));
    }
    if args.races {
        only_simulated(&mut args.experiment.overrides)?;
    }
    // The simulator lacks the kernel's own scheduler, which these name for the kernels.
    let is_ours = args.experiment.experiment.as_ref().is_some_and(|name| OURS.contains(&&name[..]));
    let overrides = &mut args.experiment.overrides;
    overrides.options_only = is_ours && overrides.on == [Backend::Sim];
    let (mut records, mut again) = (Vec::new(), None);
    for mut planned in on_all_kernels(&args.experiment)? {
        if args.races {
            planned.experiment.races = true;
            planned = planned.replanned();
            again = Some(planned.seed);
        }
        let campaign = Campaign::with_own_rules(planned, &args.execution);
        let Some(selection) = measured(campaign)? else { return Ok(exit::interrupted()) };
        records.extend(selection.with_traces()?.records);
    }
    show(&records, again, args.format)
}

/// Callbacks interleave in the simulator alone.
fn only_simulated(overrides: &mut Overrides) -> Result<()> {
    if overrides.on.iter().any(|on| *on != Backend::Sim) {
        return Err(exit::bad_input("--races is for the simulator: leave out --on"));
    }
    overrides.on = vec![Backend::Sim];
    Ok(())
}

/// The plan for the simulator and the usual kernel, and one for each other kernel.
fn on_all_kernels(options: &ExperimentOptions) -> Result<Vec<PlannedExperiment>> {
    let mut all = vec![options.plan()?];
    if let Some(&on) = all[0].experiment.backends.iter().find(|on| on.boots_kernels()) {
        for kernel in other_kernels()? {
            all.push(on_kernel(options, on, &kernel).plan()?);
        }
    }
    Ok(all)
}

/// The pulled kernels with sched_ext that are here, without the usual one. Kernels of the user's
/// own may be for one CPU or lack what the workloads need; `--scheduler NAME@KERNEL` asks about
/// them.
fn other_kernels() -> Result<Vec<String>> {
    let home = data_folder()?;
    let usual = vm::kernels::find(&home, KERNEL).map(|kernel| kernel.release);
    let here = vm::kernels::list(&home)?.into_iter();
    let others = here
        .filter(|kernel| kernel.sched_ext && !kernel.is_named)
        .filter(|kernel| Some(&kernel.release) != usual.as_ref().ok());
    Ok(others.map(|kernel| kernel.name).collect())
}

/// The same on another kernel, for schedulers that name none.
fn on_kernel(options: &ExperimentOptions, on: Backend, kernel: &str) -> ExperimentOptions {
    let mut options = options.clone();
    let Overrides { on: backends, schedulers, .. } = &mut options.overrides;
    schedulers.retain(|text| !text.contains('@'));
    schedulers.iter_mut().for_each(|text| *text += &format!("@{kernel}"));
    schedulers.push(format!("kernel:{kernel}"));
    *backends = vec![on];
    options
}

struct Judged<'a> {
    record: &'a Record,
    faults: Vec<String>,
    idle_ns: Option<u64>,
}

fn judge(records: &[Record]) -> Vec<Judged<'_>> {
    let usual = idle_of_kernels(records);
    let judged = |record| Judged {
        faults: survival::faults(record, usual.get(&place(record)).copied().unwrap_or(0)),
        idle_ns: survival::idle_ns(record),
        record,
    };
    records.iter().map(judged).collect()
}

/// `races`: the seed that has drawn how callbacks interleave.
fn show(records: &[Record], races: Option<Seed>, format: TestFormat) -> Result<ExitCode> {
    let judged = judge(records);
    if format == TestFormat::Junit {
        return show_as_tests(&judged);
    }
    output::print(&output::table(&rows(&judged)))?;
    let mut faults = Vec::new();
    for Judged { record, faults: found, .. } in &judged {
        let label = format!("{} on {}", ui::label(&record.trial), machine(record));
        let told = |fault: &String| match races {
            Some(_) => fault.replace('\n', "\n  "),
            None => ui::first_line(fault).to_owned(),
        };
        faults.extend(found.iter().map(|fault| format!("{label}: {}", told(fault))));
    }
    if faults.is_empty() {
        output::print("All survived.\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    output::print(&format!("\n{}\n", faults.join("\n")))?;
    let is_unsupported = |record: &Record| matches!(record.outcome, Outcome::Unsupported { .. });
    let has_run = judged.iter().any(|one| !one.faults.is_empty() && !is_unsupported(one.record));
    if let Some(seed) = races.filter(|_| has_run) {
        output::print(&format!(
            "\nThe same again: --seed {}. Without --races each callback runs from its beginning to \
             its end.\n",
            seed.0
        ))?;
    }
    Ok(ExitCode::from(exit::MISBEHAVED))
}

fn show_as_tests(judged: &[Judged]) -> Result<ExitCode> {
    let case = |one: &Judged| {
        let result = match one.faults.is_empty() {
            true => CaseResult::Passed,
            false => CaseResult::Failed(one.faults.join("\n")),
        };
        test_cases::case(one.record, result)
    };
    let cases: Vec<Case> = judged.iter().map(case).collect();
    output::print_exact(&report::junit::junit(EXPERIMENT, &cases))?;
    let misbehaved = judged.iter().any(|one| !one.faults.is_empty());
    Ok(if misbehaved { ExitCode::from(exit::MISBEHAVED) } else { ExitCode::SUCCESS })
}

/// Where a record was made: its kernel, machine and cell.
type Placing = (String, String, String);

fn place(record: &Record) -> Placing {
    let kernel = record.provenance.kernel_release.clone();
    (kernel, machine(record), record.trial.workload.cell())
}

fn machine(record: &Record) -> String {
    let backend = record.trial.backend.word();
    format!("{} ({backend})", record.trial.machine.name)
}

/// How long CPUs idled while tasks waited under the kernels' own schedulers, ns.
fn idle_of_kernels(records: &[Record]) -> BTreeMap<Placing, u64> {
    let own = records
        .iter()
        .filter(|record| record.trial.contestant.scheduler == SchedulerChoice::Kernel);
    own.filter_map(|record| Some((place(record), survival::idle_ns(record)?))).collect()
}

/// A line for each scheduler on each machine: its trials, how many it survived, its reloads, and
/// the longest time that a CPU idled while a task waited.
fn rows(judged: &[Judged]) -> Vec<Vec<String>> {
    let mut groups: BTreeMap<(&str, &str, String), Vec<&Judged>> = BTreeMap::new();
    for judgement in judged {
        let (trial, provenance) = (&judgement.record.trial, &judgement.record.provenance);
        let key = (trial.contestant.name.as_str(), provenance.kernel_release.as_str());
        groups.entry((key.0, key.1, machine(judgement.record))).or_default().push(judgement);
    }
    let titles = ["scheduler", "kernel", "machine", "trials", "survived", "reloads", "idle ms"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    for ((name, kernel, machine), judged) in groups {
        let survived = judged.iter().filter(|judgement| judgement.faults.is_empty()).count();
        let reloads =
            judged.iter().filter_map(|judgement| judgement.record.measured.value("reloads", "all"));
        let idle_ns = judged.iter().filter_map(|judgement| judgement.idle_ns).max();
        rows.push(vec![
            name.into(),
            kernel.into(),
            machine,
            judged.len().to_string(),
            survived.to_string(),
            reloads.fold(0.0, std::ops::Add::add).to_string(),
            idle_ns.map_or("–".into(), |ns| format!("{:.1}", ns as f64 / 1e6)),
        ]);
    }
    rows
}
