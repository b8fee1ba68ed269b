// SPDX-License-Identifier: GPL-2.0-only
//! `fairground get NAME[@VERSION]`: the schedulers of today, built once and kept.

use std::process::ExitCode;

use anyhow::Result;
use spec::source::advice;
use spec::{settings, today as known};

use crate::execution::interrupt;
use crate::execution::locations::data_folder;
use crate::exit::bad_input;
use crate::measure::at_least_one;
use crate::today::{self, cargo_install};
use crate::{build_progress, output};

#[derive(clap::Args)]
pub struct Args {
    /// Schedulers of today, scx_lavd or scx_lavd@1.1.4; without one, a list of them
    #[arg(value_name = "NAME[@VERSION]")]
    names: Vec<String>,
    /// Do not use the network: only what cargo has downloaded before
    #[arg(long)]
    offline: bool,
    /// Compilers at a time; all CPUs without it
    #[arg(long, value_name = "N", value_parser = at_least_one())]
    jobs: Option<usize>,
}

/// Builds the programs that are not kept yet, or lists all.
pub fn run(args: Args) -> Result<ExitCode> {
    let wanted: Vec<(String, String)> =
        args.names.iter().map(|name| wanted(name)).collect::<Result<_>>()?;
    let home = data_folder()?;
    if !wanted.is_empty() {
        let stop = interrupt::flag()?;
        for (name, version) in &wanted {
            let jobs = build_progress::jobs(args.jobs);
            let order =
                cargo_install::Order { name, version, offline: args.offline, jobs, stop: &stop };
            build_progress::watch(|on_event| cargo_install::build(&order, &home, on_event))?;
        }
    }
    output::print(&table()?)?;
    Ok(ExitCode::SUCCESS)
}

/// A name, with the version that is known unless the user names one.
fn wanted(text: &str) -> Result<(String, String)> {
    let full = if text.starts_with("scx_") { text.to_owned() } else { format!("scx_{text}") };
    let (name, version) = full.split_once('@').map_or((full.as_str(), None), |(n, v)| (n, Some(v)));
    let Some(known) = today::known_version(name) else {
        let names = known::names();
        let hint = advice(name, names.iter().map(String::as_str)).unwrap_or_default();
        return Err(bad_input(format!("no scheduler of today is called '{name}'; {hint}")));
    };
    match version {
        Some(version) if !known::is_version(version) => {
            Err(bad_input(format!("{text}: a version has three numbers; write {name}@{known}")))
        }
        version => Ok((name.to_owned(), version.unwrap_or(&known).to_owned())),
    }
}

fn table() -> Result<String> {
    let kept = today::all(&data_folder()?);
    let mut rows = vec![["scheduler", "version", "here", ""].map(String::from).to_vec()];
    for name in known::names() {
        let Some(found) = settings::of_today(&name)? else { continue };
        let own = kept.iter().filter(|facts| facts.name == name);
        let mut here: Vec<&str> = own.map(|facts| facts.version.as_str()).collect();
        if here.is_empty() {
            here.push("no");
        }
        rows.push(vec![name, found.version, here.join(", "), found.about]);
    }
    Ok(output::table(&rows))
}
