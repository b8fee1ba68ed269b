// SPDX-License-Identifier: GPL-2.0-only
//! `fairground explain`: why tasks waited, in a traced trial of a store, in one that runs now, or
//! in a trace of a real machine.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use model::{Backend, Outcome, Record, Seed};
use recording::as_trace::as_trace;
use report::explain::letters;
use report::stall::where_left;
use serde_json::json;
use stats::explain::{self, Chosen, Explanation, Interrupt, Letters, explain};
use store::{Filter, Store};

use crate::cmd::import::trace;
use crate::execution::{self, Settings};
use crate::exit::{self, bad_input};
use crate::measure::prerequisites;
use crate::output::{self, Format};
use crate::planned_experiment::PlannedExperiment;
use crate::records;
use spec::Overrides;

/// How many trials an error lists.
const LISTED: usize = 10;
/// How many lines of a dump, and of what a scheduler printed, are shown.
const SHOWN: usize = 20;

/// How many of each group's longest waits are shown, and of all tasks of a machine.
const WAITS: usize = 3;
const WAITS_OF_ALL: usize = 5;

#[derive(clap::Args)]
pub struct Args {
    /// A trial's identity, or its beginning; or the file of a trace, which `record --trace`,
    /// trace-cmd, perf or Perfetto wrote; without one, --scheduler and --workload run a trial now
    #[arg(value_name = "TRIAL|FILE")]
    #[arg(conflicts_with_all = ["scheduler", "workload", "machine", "on", "seed"])]
    trial: Option<String>,
    /// The store
    #[arg(long, value_name = "FILE", default_value = crate::execution::locations::STORE)]
    store: PathBuf,
    /// Run this scheduler now: NAME, FILE.bpf.c, 'NAME knob=value', policy:rr:50
    #[arg(long, requires = "workload")]
    scheduler: Option<String>,
    /// Run it under this workload: NAME, FILE, 'NAME parameter=value'
    #[arg(long, requires = "scheduler")]
    workload: Option<String>,
    /// Run it on this machine
    #[arg(long)]
    machine: Option<String>,
    /// Run it on this backend: sim, vm or live [default: sim]
    #[arg(long, value_parser = spec::backend_parser(), hide_possible_values = true)]
    #[arg(value_name = "BACKEND")]
    on: Option<Backend>,
    /// The only source of randomness [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Only waits at about this time since the start: 12.3s, 450ms
    #[arg(long, value_name = "TIME", value_parser = crate::times::moment)]
    at: Option<Duration>,
    /// Only waits of this task: a name, a thread's number, or a group
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// How many waits, the longest of all [default: 3 of each group, of a file 5 of all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    worst: Option<u32>,
    /// Write a page instead, which draws what ran during each wait
    #[arg(short, long, value_name = "FILE", conflicts_with = "format")]
    output: Option<PathBuf>,
    /// How to print it: table or json
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    format: Format,
}

impl Args {
    fn chosen(&self, worst: Option<usize>) -> Chosen {
        Chosen {
            of_each: WAITS,
            worst: self.worst.map(|worst| worst as usize).or(worst),
            task: self.task.clone(),
            at_ns: self.at.map(|at| at.as_nanos() as u64),
            letters: match self.format {
                Format::Table => output::columns().map_or_else(Letters::default, letters),
                Format::Json => Letters::default(),
            },
        }
    }

    /// Refuses what no task waited for.
    fn check(&self, explanation: &Explanation) -> Result<()> {
        if let Some(at) = self.at.filter(|at| at.as_nanos() > explanation.end_ns.into()) {
            let (at, end) = (at.as_secs_f64(), explanation.end_ns as f64 / 1e9);
            return Err(bad_input(format!("--at {at:.3}s: it ends after {end:.3} s")));
        }
        match &self.task {
            Some(task) if explanation.waits.is_empty() && explanation.held.is_empty() => {
                let mut by_wait: Vec<_> = explanation.tasks.iter().collect();
                by_wait.sort_by_key(|task| std::cmp::Reverse(task.waiting_ns));
                let names: Vec<&str> =
                    by_wait.iter().take(LISTED).map(|task| task.name.as_str()).collect();
                let longest = names.join(", ");
                Err(bad_input(format!(
                    "--task {task}: none of that name waited then; these waited longest: {longest}"
                )))
            }
            _ => Ok(()),
        }
    }
}

pub fn run(args: Args) -> Result<ExitCode> {
    if let Some(named) = &args.trial {
        let file = Path::new(named);
        if file.is_file() {
            return explain_file(&args, file);
        }
        // A trial's identity has only digits.
        if named.contains(['.', '/']) {
            let what = if file.exists() { "this is no file" } else { "there is no such file" };
            return Err(bad_input(format!("{named}: {what}")));
        }
    }
    let record = match (&args.scheduler, &args.workload) {
        (Some(scheduler), Some(workload)) => match run_now(&args, scheduler, workload)? {
            Some(record) => record,
            None => return Ok(exit::interrupted()),
        },
        _ => find(&args.store, args.trial.as_deref())?,
    };
    show(&args, &record)?;
    Ok(exit::of_records(&[record]))
}

/// Explains a trace that somebody else, or `record`, has written.
fn explain_file(args: &Args, file: &Path) -> Result<ExitCode> {
    if !trace::is_trace(file) {
        let shown = file.display();
        return Err(bad_input(format!(
            "{shown}: no trace of a scheduler. A workload of a recording does not say how long \
             tasks waited: record with --trace FILE, or explain its replay with --workload \
             ./{shown} --scheduler eevdf"
        )));
    }
    let chosen = args.chosen(Some(WAITS_OF_ALL));
    let recording = trace::read(file, chosen.at_ns)?;
    let told = as_trace(&recording);
    let interrupt = |(cpu, from_ns, to_ns)| Interrupt { cpu, from_ns, to_ns };
    let about = explain::About {
        cpus: recording.cpus,
        end_ns: recording.length_ns,
        affinity: told.affinity,
        chosen,
        interrupts: told.interrupts.into_iter().map(interrupt).collect(),
        by_comm: true,
        ..explain::About::default()
    };
    let explanation = explain::explain_trace(&told.trace, &about);
    args.check(&explanation)?;
    let title = format!("{}, {}", file.display(), recording.source);
    if let Some(page) = &args.output {
        let untold = &recording.untold;
        let drawn = report::html::explained::page(&title, &explanation, &told.trace, untold);
        output::write_and_tell(page, &drawn)?;
        return Ok(ExitCode::SUCCESS);
    }
    match args.format {
        Format::Table => {
            output::print(&report::explain::text(&title, &explanation, output::colour()))?;
            for sentence in &recording.untold {
                output::tell(format_args!("it does not tell: {sentence}"));
            }
        }
        Format::Json => output::print_json(&json!({
            "file": file,
            "source": recording.source,
            "untold": recording.untold,
            "explanation": explanation,
        }))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn run_now(args: &Args, scheduler: &str, workload: &str) -> Result<Option<Record>> {
    let planned = one_trial(args, scheduler, workload)?;
    prerequisites::check(&planned)?;
    planned.notes.iter().for_each(output::tell);
    let settings = Settings { sources: planned.sources, ..Settings::default() };
    let trial = planned.trials.into_iter().next().context("a plan of one trial has one")?;
    execution::record_of(trial, &settings, &mut output::notes)
}

/// A plan of the one trial that the options describe.
fn one_trial(args: &Args, scheduler: &str, workload: &str) -> Result<PlannedExperiment> {
    let overrides = Overrides {
        on: vec![args.on.unwrap_or_default()],
        schedulers: vec![scheduler.into()],
        workloads: vec![workload.into()],
        machines: args.machine.iter().cloned().collect(),
        blocks: Some(1),
        trials_per_boot: Some(1),
        trace: vec!["all".into()],
        ..Overrides::default()
    };
    let planned = PlannedExperiment::read(None, &overrides, Seed(args.seed.unwrap_or(1)))?;
    if planned.trials.len() == 1 {
        return Ok(planned);
    }
    Err(bad_input(format!("--workload '{workload}': more than one cell; choose one")))
}

fn show(args: &Args, record: &Record) -> Result<()> {
    let format = args.format;
    if !record.outcome.is_ok() {
        output::tell(format_args!("{}: {}", record.outcome.word(), record.outcome.reason()));
    }
    if format == Format::Table {
        output::print(&left_behind(record))?;
    }
    let Some(explanation) = explain(record, &args.chosen(None)) else {
        if record.outcome.is_ok() {
            return Err(bad_input("the trial left no events to explain"));
        }
        if format == Format::Table {
            let variables = &record.provenance.variables;
            output::print(&report::inside::variables_at_end(variables, output::colour()))?;
        }
        return Ok(());
    };
    args.check(&explanation)?;
    let id = record.trial.id();
    let title = format!("{}, trial {id}", label(record));
    if let (Some(page), Some(trace)) = (&args.output, &record.trace) {
        let drawn = report::html::explained::page(&title, &explanation, trace, &[]);
        return output::write_and_tell(page, &drawn);
    }
    match format {
        Format::Table => {
            output::print(&report::explain::text(&title, &explanation, output::colour()))?;
            let provenance = &record.provenance;
            output::print(&report::inside::text(provenance, &explanation, output::colour()))
        }
        Format::Json => output::print_json(&json!({
            "trial": id,
            "contestant": record.trial.contestant.name,
            "cell": record.trial.workload.cell(),
            "machine": record.trial.machine.name,
            "backend": record.trial.backend,
            "outcome": record.outcome,
            "printed": record.provenance.printed,
            "variables": record.provenance.variables,
            "inside": record.provenance.inside,
            "explanation": explanation,
        })),
    }
}

/// What the scheduler printed, and where each task waited when the scheduler was ejected.
fn left_behind(record: &Record) -> String {
    let dumped = match &record.outcome {
        Outcome::Ejected { dump, .. } => dump.lines().collect::<Vec<&str>>(),
        _ => Vec::new(),
    };
    let printed: Vec<&str> = record.provenance.printed.iter().map(String::as_str).collect();
    let place = where_left(&record.outcome).map(|place| format!("{place}.\n\n"));
    let parts = [titled("When it was ejected", &dumped), titled("bpf_printk", &printed)];
    let parts = parts.into_iter().flatten().map(|part| part + "\n");
    place.into_iter().chain(parts).collect()
}

/// The first of these lines below a title; `None` if there are none.
fn titled(title: &str, lines: &[&str]) -> Option<String> {
    if lines.is_empty() {
        return None;
    }
    let mut text = format!("{title}\n");
    lines.iter().take(SHOWN).for_each(|line| text += &format!("  {line}\n"));
    if lines.len() > SHOWN {
        text += &format!("  and {} more lines\n", lines.len() - SHOWN);
    }
    Some(text)
}

/// `vtime in wake_under_hogs hogs=3 on uniprocessor (sim)`.
fn label(record: &Record) -> String {
    let trial = &record.trial;
    let (contestant, cell) = (&trial.contestant.name, trial.workload.cell());
    let (machine, backend) = (&trial.machine.name, trial.backend.word());
    format!("{contestant} in {cell} on {machine} ({backend})")
}

/// The last record of the one trial whose identity begins like this.
fn find(path: &Path, wanted: Option<&str>) -> Result<Record> {
    let store = Store::open_readonly(path)?;
    let refused = |what: &str| -> Result<Record> {
        Err(refusal(path, what, &records::read(&store, &Filter::default())?))
    };
    let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else {
        return refused("say which trial");
    };
    let filter = Filter { trial_id: Some(wanted.into()), traces: true, ..Filter::default() };
    let mut found = records::read(&store, &filter)?;
    let Some(first) = found.first().map(|record| record.trial.id()) else {
        return refused(&format!("has no trial `{wanted}`"));
    };
    if found.iter().any(|record| record.trial.id() != first) {
        return Err(refusal(path, &format!("`{wanted}` is the beginning of several"), &found));
    }
    match found.iter().rposition(|record| record.trace.is_some()) {
        Some(last) => Ok(found.swap_remove(last)),
        None => refused(&format!("trial {first} has no trace")),
    }
}

/// An error that names the traced trials among these.
fn refusal(path: &Path, what: &str, records: &[Record]) -> anyhow::Error {
    let traced: Vec<&Record> = records.iter().filter(|record| record.trial.trace).collect();
    let mut text = format!("{}: {what}; ", path.display());
    text += match traced.len() {
        0 => "none is traced: run with --trace, or give --scheduler and --workload",
        _ => "traced are",
    };
    let mut lines: Vec<String> = traced
        .into_iter()
        .map(|record| format!("\n  {}  {}", record.trial.id(), label(record)))
        .collect();
    lines.sort_unstable();
    lines.dedup();
    let more = lines.len().saturating_sub(LISTED);
    text += &lines.into_iter().take(LISTED).collect::<String>();
    if more > 0 {
        text += &format!("\n  and {more} more");
    }
    bad_input(text)
}
