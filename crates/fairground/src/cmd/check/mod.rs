// SPDX-License-Identifier: GPL-2.0-only
//! `fairground check [FILE …]`: every file parses, every scheduler compiles and schedules one task
//! in the simulator and on a kernel, whose verifier accepts or refuses it; with `--no-boot` it only
//! compiles. Given files are checked alone.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use anyhow::Result;
use compile::Source;
use model::{Backend, Outcome, Record, Seed};
use report::junit::{Case, CaseResult};
use vm::installed;
use vm::kernels::{self, Kernel};

use crate::execution::locations::data_folder;
use crate::execution::{self, Settings, interrupt, objects};
use crate::output::TestFormat;
use crate::planned_experiment::{self, host_cpus};
use crate::{claims, exit, output, today, ui};
use spec::assets::{self, Kind};
use spec::mentions::{self, Missing};
use spec::plan;

pub mod verified;

#[derive(clap::Args)]
pub struct Args {
    /// Files to check: of schedulers, and workloads, machines, experiments, claims, cares (.toml);
    /// without any, all built-in ones
    files: Vec<String>,
    /// Only read and compile: run no scheduler, neither in the simulator nor in a virtual machine
    #[arg(long)]
    no_boot: bool,
    /// Ask the verifier of this kernel instead of the newest: 6.12; of several: a table compares
    /// how many instructions each has verified
    #[arg(long, value_name = "VERSION", conflicts_with = "no_boot")]
    kernel: Vec<String>,
    /// How to print it: table, or junit, where each finding is a test
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    format: TestFormat,
}

/// In place of a name: no kernel was asked.
const SKIPPED: &str = "skipped";

struct Checked {
    kind: &'static str,
    name: String,
    result: Result<String, String>,
}

impl Checked {
    fn as_case(&self) -> Case {
        let result = match &self.result {
            Ok(why) if self.name == SKIPPED => CaseResult::Skipped(why.clone()),
            Ok(_) => CaseResult::Passed,
            Err(why) => CaseResult::Failed(why.clone()),
        };
        Case { class: self.kind.into(), name: self.name.clone(), result }
    }
}

/// Checks every file, compiles every scheduler, and runs each once: in the simulator, and on a real
/// kernel if there is one for it. With `--no-boot` nothing runs.
///
/// # Errors
/// When the lab itself fails, or standard output is closed. A finding of a check is no error.
pub fn run(args: Args) -> Result<ExitCode> {
    let stop = interrupt::flag()?;
    let is_definition = |file: &&String| file.ends_with(".toml") || file.ends_with(".json");
    let (given, schedulers): (Vec<&String>, Vec<&String>) =
        args.files.iter().partition(is_definition);
    let mut findings: Vec<Checked> = given.into_iter().map(|file| definition(file)).collect();
    let kernels = named_kernels(&args.kernel)?;
    let sources = if args.files.is_empty() {
        findings.extend(missing());
        findings.extend(definitions());
        let builtin = compile::builtin().into_iter();
        sources(builtin.map(|source| (source.name.clone(), Ok(source))), &mut findings)
    } else {
        let named = schedulers.into_iter().map(|file| (file.clone(), resolve(file)));
        sources(named, &mut findings)
    };
    let wrong_input = findings.iter().any(|finding| finding.result.is_err());
    let (able, unable) = for_the_simulator(&sources);
    let mut matrix = String::new();
    if args.no_boot || sources.is_empty() {
        findings.extend(able.iter().map(compiled).chain(unable));
    } else {
        findings.extend(unable);
        findings.extend(simulate(&able)?);
        matrix = load_all(&sources, &kernels, &mut findings)?;
    }
    if stop.load(Ordering::SeqCst) {
        return Err(exit::Interrupted.into());
    }
    match args.format {
        TestFormat::Table => output::print(&(table(&findings) + &matrix))?,
        TestFormat::Junit => {
            let cases: Vec<Case> = findings.iter().map(Checked::as_case).collect();
            output::print_exact(&report::junit::junit("check", &cases))?;
        }
    }
    let misbehaved = findings.iter().any(|finding| finding.result.is_err());
    Ok(if wrong_input {
        ExitCode::from(exit::BAD_INPUT)
    } else if misbehaved {
        ExitCode::from(exit::MISBEHAVED)
    } else {
        ExitCode::SUCCESS
    })
}

fn table(findings: &[Checked]) -> String {
    let row = |finding: &Checked| {
        let (word, text) = match &finding.result {
            Ok(text) => ("ok", text),
            Err(text) => ("WRONG", text),
        };
        vec![word.into(), finding.kind.into(), finding.name.clone(), text.clone()]
    };
    output::table(&findings.iter().map(row).collect::<Vec<_>>())
}

/// The schedulers, workloads, machines and experiments that definitions mention and that do not
/// exist.
fn missing() -> Vec<Checked> {
    let resolve = |file: &str, base: &Path| {
        let source = compile::resolve(file, base).map_err(|error| error.to_string())?;
        Ok((source.name, source.sha256))
    };
    let finding = |missing: Missing| {
        let places = missing.places.join(", ");
        let result = Err(format!("does not exist, and is mentioned in {places}"));
        Checked { kind: missing.noun, name: missing.name, result }
    };
    let missing = mentions::missing(&resolve);
    missing.into_iter().map(finding).collect()
}

/// Every definition, and the files of this folder whose names mean others.
fn definitions() -> Vec<Checked> {
    let all = Kind::ALL.into_iter().flat_map(|kind| {
        let own = assets::shadowed(kind).into_iter().map(|path| path.display().to_string());
        assets::names(kind).into_iter().chain(own).map(move |name| (kind, name))
    });
    all.map(|(kind, name)| read_as(kind, &name)).collect()
}

/// A file that the user names.
fn definition(file: &str) -> Checked {
    match assets::kind_of(file) {
        Ok(kind) => read_as(kind, file),
        Err(error) => {
            Checked { kind: "file", name: file.to_owned(), result: Err(error.to_string()) }
        }
    }
}

fn read_as(kind: Kind, name: &str) -> Checked {
    let result = spec(kind, name).map_err(|error| error.to_string());
    Checked { kind: kind.noun(), name: name.to_owned(), result }
}

fn spec(kind: Kind, name: &str) -> Result<String, spec::SpecError> {
    let here = Path::new("");
    match kind {
        Kind::Workload => {
            let asset = assets::find(kind, name, here)?;
            spec::workload::resolve(&asset, &BTreeMap::new(), host_cpus()).map(|_| "reads".into())
        }
        Kind::Machine => spec::machine::load(name, here, host_cpus()).map(|_| "reads".into()),
        Kind::Experiment => {
            let experiment = planned_experiment::experiment_of_file(name)?;
            Ok(format!("{} trials", plan::plan(&experiment, Seed(1)).len()))
        }
        Kind::Claim => Ok(format!("{} tests", claims::read(name)?.tests.len())),
        Kind::Care => spec::care::read(name, here, host_cpus()).map(|_| "reads".into()),
        Kind::Kernel => vm::kernels::build::definition::read(name).map(|_| "reads".into()),
    }
}

fn sources(
    named: impl Iterator<Item = (String, Result<Source>)>,
    findings: &mut Vec<Checked>,
) -> Vec<Source> {
    let mut sources = Vec::new();
    for (name, source) in named {
        let compiled = source.and_then(|source| {
            let object = compile::compile(&source)?;
            Ok((source, object))
        });
        let result = match compiled {
            Ok((source, object)) => {
                sources.push(source);
                objects::tell_warnings(&object);
                Ok(format!("compiles to {} KiB", object.object.len() / 1024))
            }
            Err(error) => Err(format!("{error:#}")),
        };
        findings.push(Checked { kind: "scheduler", name, result });
    }
    sources
}

/// A file; of a scheduler of today that which was built with the program.
fn resolve(file: &str) -> Result<Source> {
    let Some((name, version)) = spec::today::named(file) else {
        return Ok(compile::resolve(file, Path::new(""))?);
    };
    let Some(kept) = today::kept(name, version) else {
        anyhow::bail!("it was not built here; `fairground get {file}` builds it");
    };
    let Some(path) = kept.source else { anyhow::bail!("cargo has kept no source of it") };
    Ok(Source { name: kept.program, ..compile::resolve(&path, Path::new(""))? })
}

/// The schedulers that compile for the simulator, and findings about the others. Using
/// what the simulator lacks is no fault.
fn for_the_simulator(sources: &[Source]) -> (Vec<Source>, Vec<Checked>) {
    let (mut able, mut unable) = (Vec::new(), Vec::new());
    for source in sources {
        match compile::native::native(source) {
            Ok(_) => able.push(source.clone()),
            Err(error) => unable.push(Checked {
                kind: "simulator",
                name: source.name.clone(),
                result: Ok(format!("cannot run it: {error}")),
            }),
        }
    }
    (able, unable)
}

fn compiled(source: &Source) -> Checked {
    Checked { kind: "simulator", name: source.name.clone(), result: Ok("compiles for it".into()) }
}

fn simulate(able: &[Source]) -> Result<Vec<Checked>> {
    if able.is_empty() {
        return Ok(Vec::new());
    }
    let records = load(able, Backend::MODEL, None)?;
    Ok(records.iter().map(loaded).collect())
}

/// The kernels that the user names.
fn named_kernels(names: &[String]) -> Result<Vec<Kernel>> {
    let home = data_folder()?;
    let found = |name: &String| {
        kernels::find(&home, name).map_err(|error| exit::bad_input(format!("{error:#}")))
    };
    names.iter().map(found).collect()
}

/// Loads each scheduler once on each kernel, all in one boot of it; or says why not. Without a
/// kernel the newest is asked. For several, returns the table of what they have verified.
fn load_all(sources: &[Source], kernels: &[Kernel], findings: &mut Vec<Checked>) -> Result<String> {
    let home = data_folder()?;
    let newest = || kernels::list(&home).map(|all| all.into_iter().rev().find(|k| k.sched_ext));
    let kernels = match kernels {
        [] => newest()?.into_iter().collect(),
        named => named.to_vec(),
    };
    let skipped = |why: &str| Checked {
        kind: "boot",
        name: SKIPPED.into(),
        result: Ok(format!("{why}, so no verifier was asked")),
    };
    if kernels.is_empty() {
        findings.push(skipped("no kernel with sched_ext here (`fairground kernel pull`)"));
    } else if installed::find(vm::qemu::PROGRAM).is_none() {
        findings.push(skipped("qemu-system-x86_64 is not installed (`fairground doctor`)"));
    } else {
        let mut all = Vec::new();
        for kernel in &kernels {
            let records = load(sources, Backend::Vm, Some(kernel))?;
            findings.extend(records.iter().map(loaded));
            all.extend(records);
        }
        if kernels.len() > 1 {
            return Ok(format!("\n{}", verified::matrix(&all)));
        }
    }
    Ok(String::new())
}

fn load(sources: &[Source], backend: Backend, kernel: Option<&Kernel>) -> Result<Vec<Record>> {
    let trials =
        plan::plan(&planned_experiment::smallest_experiment(sources, backend, kernel)?, Seed(1));
    let by_hash = |source: &Source| (source.sha256.clone(), source.clone());
    let sources = sources.iter().map(by_hash).collect();
    let prepared = objects::prepare(&trials, &sources)?;
    let settings = Settings { sources, offline: true, ..Settings::default() };
    let mut records = Vec::new();
    let mut keep = |new: &[Record]| {
        records.extend_from_slice(new);
        Ok(())
    };
    if !execution::records_of(&trials, &prepared, &settings, &mut keep, &mut |_| {})? {
        return Err(exit::Interrupted.into());
    }
    records.sort_by(|first, second| first.trial.contestant.name.cmp(&second.trial.contestant.name));
    Ok(records)
}

fn loaded(record: &Record) -> Checked {
    let simulated = record.trial.backend.is_model();
    let result = match &record.outcome {
        Outcome::Ok if simulated => {
            let notes = record.provenance.notes.iter().map(String::as_str);
            Ok(std::iter::once("runs").chain(notes).collect::<Vec<_>>().join("; "))
        }
        Outcome::Ok => Ok(format!(
            "accepted by kernel {}{}",
            record.provenance.kernel_release,
            verified::words(record)
        )),
        other => Err(format!("{}: {}", other.word(), ui::first_line(other.reason()))),
    };
    let kind = if simulated { "simulator" } else { "verifier" };
    Checked { kind, name: record.trial.contestant.name.clone(), result }
}
