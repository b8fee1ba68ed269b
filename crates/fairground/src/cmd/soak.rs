// SPDX-License-Identifier: GPL-2.0-only
//! `fairground soak [EXPERIMENT]`: whether schedulers survive, under everything at once.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use model::{Backend, Record, SchedulerChoice};
use stats::view::survival;

use super::run::{self, Ended};
use crate::exit;
use crate::home::home;
use crate::output;
use crate::records::Chosen;
use crate::ui;

/// The experiment whose loads are meant for this.
const EXPERIMENT: &str = "soak";

/// The kernel that schedulers run on unless they say another, see `fairground kernel list`.
const KERNEL: &str = "7";

/// Options of `soak`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    run: run::Args,
}

/// Runs the experiment under every scheduler of the project, or under those of `--scheduler`, on
/// each kernel with sched_ext that is here, and says who did not survive.
///
/// # Errors
/// As `run`.
pub fn run(mut args: Args) -> Result<ExitCode> {
    let question = &mut args.run.question;
    question.experiment.get_or_insert_with(|| EXPERIMENT.into());
    question.own_rules = true;
    if question.schedulers.is_empty() {
        let all = compile::builtin().into_iter();
        question.schedulers = all.map(|source| source.name).collect();
    }
    let mut records = Vec::new();
    for session in sessions(&args.run)? {
        match run::measure(&session, session.question.ask()?)? {
            Ended::Session(id) => records.extend(of_session(&session, id)?),
            Ended::Interrupted(code) => return Ok(code),
        }
    }
    tell(&records)
}

/// One session for the simulator and the usual kernel, and one for each other kernel.
fn sessions(args: &run::Args) -> Result<Vec<run::Args>> {
    let mut sessions = vec![args.clone()];
    let asked = args.question.ask()?;
    if asked.experiment.backends.contains(&Backend::Vm) {
        for kernel in other_kernels()? {
            sessions.push(on_kernel(args, &kernel));
        }
    }
    Ok(sessions)
}

/// Kernels with sched_ext that were got beside the usual one.
fn other_kernels() -> Result<Vec<String>> {
    let home = home()?;
    let usual = vm::kernels::find(&home, KERNEL).map(|kernel| kernel.release);
    let here = vm::kernels::list(&home)?.into_iter();
    let others = here.filter(|one| one.sched_ext && Some(&one.release) != usual.as_ref().ok());
    Ok(others.map(|kernel| kernel.name).collect())
}

/// The same question on another kernel, for schedulers that name none.
fn on_kernel(args: &run::Args, kernel: &str) -> run::Args {
    let mut args = args.clone();
    let names = args.question.schedulers.iter().filter(|text| !text.contains('@'));
    let mut schedulers: Vec<String> = names.map(|text| format!("{text}@{kernel}")).collect();
    schedulers.push(format!("kernel:{kernel}"));
    args.question.schedulers = schedulers;
    args.question.backends = Backend::Vm.into();
    args
}

fn of_session(args: &run::Args, session: i64) -> Result<Vec<Record>> {
    Ok(Chosen::session(args.store.clone(), session).with_traces()?.1)
}

/// A record, and what came of it.
struct Judged<'a> {
    record: &'a Record,
    faults: Vec<String>,
    idle_ns: Option<u64>,
}

fn judge(records: &[Record]) -> Vec<Judged<'_>> {
    let controls = controls(records);
    let judged = |record| Judged {
        faults: survival::faults(record, controls.get(&place(record)).copied().unwrap_or(0)),
        idle_ns: survival::idle_ns(record),
        record,
    };
    records.iter().map(judged).collect()
}

/// The table, and every fault.
fn tell(records: &[Record]) -> Result<ExitCode> {
    let judged = judge(records);
    output::print(&output::table(&rows(&judged)))?;
    let mut faults = Vec::new();
    for Judged { record, faults: found, .. } in &judged {
        let label = format!("{} on {}", ui::label(&record.trial), machine(record));
        faults.extend(found.iter().map(|fault| format!("{label}: {}", ui::first_line(fault))));
    }
    if faults.is_empty() {
        output::print("Everybody survived.\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    output::print(&format!("\n{}\n", faults.join("\n")))?;
    Ok(ExitCode::from(exit::MISBEHAVED))
}

/// Where a record was made: its kernel, machine and cell.
type Placing = (String, String, String);

fn place(record: &Record) -> Placing {
    let kernel = record.provenance.kernel_release.clone();
    (kernel, machine(record), record.trial.workload.cell())
}

fn machine(record: &Record) -> String {
    let backend = stats::backend_word(record.trial.backend);
    format!("{} ({backend})", record.trial.machine.name)
}

/// How long CPUs idled beside waiting tasks under the kernels' own schedulers, ns.
fn controls(records: &[Record]) -> BTreeMap<Placing, u64> {
    let own =
        records.iter().filter(|one| one.trial.contestant.scheduler == SchedulerChoice::Kernel);
    own.filter_map(|record| Some((place(record), survival::idle_ns(record)?))).collect()
}

/// A line for each scheduler on each machine: trials, those survived, reloads, the longest idling.
fn rows(judged: &[Judged]) -> Vec<Vec<String>> {
    let mut groups: BTreeMap<(&str, &str, String), Vec<&Judged>> = BTreeMap::new();
    for one in judged {
        let (trial, provenance) = (&one.record.trial, &one.record.provenance);
        let key = (trial.contestant.name.as_str(), provenance.kernel_release.as_str());
        groups.entry((key.0, key.1, machine(one.record))).or_default().push(one);
    }
    let titles = ["scheduler", "kernel", "machine", "trials", "survived", "reloads", "idle ms"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    for ((name, kernel, machine), judged) in groups {
        let survived = judged.iter().filter(|one| one.faults.is_empty()).count();
        let reloads = judged.iter().filter_map(|one| one.record.measured.value("reloads", "all"));
        let idle_ns = judged.iter().filter_map(|one| one.idle_ns).max();
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
