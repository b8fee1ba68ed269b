// SPDX-License-Identifier: GPL-2.0-only
//! `fairground list [KIND [NAME]]`: what can be named on a command line, and which backends can run
//! it.

mod workload;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;
use model::{Backend, Workload};
use serde::Serialize;
use vm::installed;

use super::kernel;
use crate::execution::locations::data_folder;
use crate::output::{self, Format};
use crate::planned_experiment::{self, host_cpus};
use crate::{claims, exit};
use spec::assets::{self, Kind};

#[derive(clap::Args)]
pub struct Args {
    /// What to show; everything without it
    #[arg(value_enum)]
    kind: Option<ListedKind>,
    /// Of workloads: only this one, a name or a file, with its groups; of a recording also who
    /// wakes whom
    name: Option<String>,
    /// How to print it: table or json
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ListedKind {
    Schedulers,
    Workloads,
    Machines,
    Experiments,
    Claims,
    Cares,
    Kernels,
}

/// One thing, and the backends that can run it.
#[derive(Serialize)]
struct Item {
    name: String,
    backends: Vec<&'static str>,
    about: String,
}

type Find = fn() -> Result<Vec<Item>>;

/// The kinds but for kernels, in the order of the lists: in JSON, in a table, and their things.
const KINDS: [(ListedKind, &str, &str, Find); 6] = [
    (ListedKind::Schedulers, "schedulers", "scheduler", || Ok(schedulers())),
    (ListedKind::Workloads, "workloads", "workload", workloads),
    (ListedKind::Machines, "machines", "machine", machines),
    (ListedKind::Experiments, "experiments", "experiment", experiments),
    (ListedKind::Claims, "claims", "claim", all_claims),
    (ListedKind::Cares, "cares", "care", cares),
];

pub fn run(args: Args) -> Result<ExitCode> {
    if let Some(name) = &args.name {
        return show_workload(name, &args);
    }
    let is_wanted = |what| args.kind.is_none_or(|only| only == what);
    let (mut tables, mut lists) = (Vec::new(), serde_json::Map::new());
    for (_, key, noun, find) in KINDS.into_iter().filter(|(what, ..)| is_wanted(*what)) {
        let items = find()?;
        tables.push(table(noun, &items));
        lists.insert(key.into(), serde_json::to_value(items)?);
    }
    if is_wanted(ListedKind::Kernels) {
        let kernels = vm::kernels::list(&data_folder()?)?;
        let kernels: Vec<kernel::ShownKernel> =
            kernels.iter().map(kernel::ShownKernel::new).collect();
        tables.push(kernel::table(&kernels));
        lists.insert("kernels".into(), serde_json::to_value(kernels)?);
    }
    match args.format {
        Format::Json => output::print_json(&lists)?,
        Format::Table => output::print(&tables.join("\n"))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn show_workload(name: &str, args: &Args) -> Result<ExitCode> {
    if args.kind != Some(ListedKind::Workloads) {
        return Err(exit::bad_input(format!(
            "{name}: only a workload is shown by itself; write `list workloads {name}`"
        )));
    }
    let shown = workload::read(name)?;
    match args.format {
        Format::Json => output::print_json(&shown)?,
        Format::Table => output::print(&workload::text(&shown))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn backends(can: impl Fn(Backend) -> bool) -> Vec<&'static str> {
    Backend::EXECUTING.into_iter().filter(|&backend| can(backend)).map(Backend::word).collect()
}

/// Built-in files with their headers' titles, installed programs, and what every kernel has.
fn schedulers() -> Vec<Item> {
    let live = Path::new("/sys/kernel/sched_ext").exists();
    let loads = |backend: Backend| live || !backend.uses_running_kernel();
    let simulated = backends(loads);
    let on_kernels = backends(|backend| loads(backend) && !backend.is_model());
    let item = |name: &str, backends: &[&'static str], about: &str| Item {
        name: name.into(),
        backends: backends.to_vec(),
        about: about.into(),
    };
    let files = compile::builtin();
    let files = files.iter().map(|source| item(&source.name, &simulated, &source.header.title));
    let programs = installed::sched_ext();
    let programs = programs.iter().map(|name| {
        item(&format!("program:{name}"), &on_kernels, "An installed sched_ext scheduler.")
    });
    let kernels = [
        item(
            "kernel",
            &backends(|backend| !backend.is_model()),
            "The fair scheduler that the kernel has built in.",
        ),
        item(
            "policy:CLASS",
            &backends(|_| true),
            "other, batch, idle, fifo, rr, deadline: given to tasks (sim: the last three).",
        ),
    ];
    files.chain(programs).chain(kernels).collect()
}

fn workloads() -> Result<Vec<Item>> {
    let cpus = host_cpus();
    let items = assets::names(Kind::Workload).into_iter().map(|name| {
        let asset = assets::find(Kind::Workload, &name, Path::new(""))?;
        let workload = spec::workload::resolve(&asset, &BTreeMap::new(), cpus)?.workload;
        let simulated = workload.program.is_none() && workload.reloads == 0;
        let backends = backends(|backend| simulated || !backend.is_model());
        Ok(Item { name, backends, about: with_parameters(&workload) })
    });
    items.collect()
}

/// The sentence about a workload, and its parameters with their defaults.
fn with_parameters(workload: &Workload) -> String {
    let parameters: Vec<String> =
        workload.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    match parameters.as_slice() {
        [] => workload.about.clone(),
        _ => format!("{} ({})", workload.about, parameters.join(" ")),
    }
}

fn machines() -> Result<Vec<Item>> {
    let items = assets::names(Kind::Machine).into_iter().map(|name| {
        let machine = spec::machine::load(&name, Path::new(""), host_cpus())?;
        let backends = backends(|on| {
            on.shapes_machine() && on.cpus_max().is_none_or(|most| machine.cpus <= most)
        });
        Ok(Item { name, backends, about: machine.about })
    });
    items.collect()
}

fn experiments() -> Result<Vec<Item>> {
    let items = assets::names(Kind::Experiment).into_iter().map(|name| {
        let experiment = planned_experiment::experiment_of_file(&name)?;
        let backends = experiment.backends.iter().copied().map(model::Backend::word).collect();
        Ok(Item { name, backends, about: experiment.question })
    });
    items.collect()
}

fn all_claims() -> Result<Vec<Item>> {
    let items = assets::names(Kind::Claim).into_iter().map(|name| {
        let claim = claims::read(&name)?;
        let asks = |on| claim.tests.iter().any(|test| test.on == on && test.experiment.is_some());
        let backends = backends(asks);
        Ok(Item { name, backends, about: claim.about })
    });
    items.collect()
}

fn cares() -> Result<Vec<Item>> {
    let items = assets::names(Kind::Care).into_iter().map(|name| {
        let care = spec::care::read(&name, Path::new(""), host_cpus())?;
        Ok(Item { name, backends: backends(|_| true), about: care.about })
    });
    items.collect()
}

fn table(noun: &str, items: &[Item]) -> String {
    let row = |item: &Item| vec![item.name.clone(), item.backends.join(", "), item.about.clone()];
    let headings = vec![noun.into(), "runs on".into(), "about".into()];
    output::table(&std::iter::once(headings).chain(items.iter().map(row)).collect::<Vec<_>>())
}
