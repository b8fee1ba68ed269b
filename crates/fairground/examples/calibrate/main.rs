// SPDX-License-Identifier: GPL-2.0-only
//! What a kernel's work costs in the simulator, measured in a virtual machine. For developers:
//!
//! ```text
//! cargo run --release -p fairground --example calibrate -- MACHINE -o machines/MACHINE.toml
//!
//! witnesses ─► VM, virtual clock ─► times ─┐
//!     └──────► simulator ─────────► times ─┴─► least_squares ─► costs
//! ```
//!
//! [`witnesses`] are the workloads, [`times`] takes their times from records, [`least_squares`]
//! fits the costs to them, [`costs`] writes the costs into a machine's file.

mod costs;
mod least_squares;
mod times;
mod witnesses;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use fairground::execution::objects::{self, Prepared, Sources};
use fairground::execution::sink::Sink;
use fairground::execution::{Settings, interrupt};
use model::{Backend, Clock, Progress, Record, Seed, Trial};

use fairground::exit::bad_input;
use fairground::planned_experiment::host_cpus;
use fairground::{exit, output, ui};
use spec::plan;

/// Measures what a kernel's work costs, for the simulator
#[derive(clap::Parser)]
#[command(name = "calibrate")]
struct Args {
    /// The machine, one with a virtual clock
    #[arg(default_value = "uniprocessor")]
    machine: String,
    /// The kernel to measure
    #[arg(long, value_name = "KERNEL", default_value = "7")]
    kernel: String,
    /// The machine file to write the costs into, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Never download a kernel
    #[arg(long)]
    offline: bool,
}

fn main() -> ExitCode {
    calibrate(&Args::parse()).unwrap_or_else(|error| exit::report(&error))
}

/// Runs the witnesses on the kernel, fits the simulator's costs to them, and writes the costs.
fn calibrate(args: &Args) -> Result<ExitCode> {
    let machine = spec::machine::load(&args.machine, Path::new(""), host_cpus())?;
    if machine.clock != Clock::Virtual {
        return Err(bad_input(format!(
            "{}: costs are counted as instructions; give the machine clock = \"virtual\"",
            machine.name
        )));
    }
    let file = read(args.output.as_deref())?;
    let (experiment, sources) = witnesses::experiment(&machine, &args.kernel)?;
    let trials = plan::plan(&experiment, Seed(1));
    let mut both = trials.clone();
    // The simulator needs the same schedulers.
    both.extend(trials.iter().cloned().map(|trial| Trial { backend: Backend::MODEL, ..trial }));
    let prepared = objects::prepare(&both, &sources)?;
    let Some(records) = measure(args, &trials, &prepared, sources)? else {
        return Ok(exit::interrupted());
    };
    let fit = witnesses::fit(&machine, &records, &prepared.native)?;
    let kernel = records.first().map_or("", |record| record.provenance.kernel_release.as_str());
    let command =
        format!("cargo run --example calibrate {} --kernel {}", machine.name, args.kernel);
    let text = costs::write(&file, &fit, &command, kernel)?;
    match &args.output {
        Some(path) => std::fs::write(path, text)
            .with_context(|| format!("{}: cannot be written", path.display()))?,
        None => output::print(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The file that gets the table; empty where there is none yet.
fn read(file: Option<&Path>) -> Result<String> {
    match file.filter(|file| file.exists()) {
        Some(file) => spec::files::text(file, spec::files::DEFINITION)
            .map_err(|fault| bad_input(format!("{}: {fault}", file.display()))),
        None => Ok(String::new()),
    }
}

/// The witnesses' records in the order of the trials; `None` when the user has interrupted.
fn measure(
    args: &Args,
    trials: &[Trial],
    prepared: &Prepared,
    sources: Sources,
) -> Result<Option<Vec<Record>>> {
    let stop = interrupt::flag()?;
    let settings = Settings { sources, offline: args.offline, ..Settings::default() };
    let mut records = Vec::new();
    let mut keep = |new: &[Record]| {
        records.extend_from_slice(new);
        Ok(())
    };
    ui::watch(|hear| {
        hear(&Progress::Planned { trials: trials.len(), done: 0 });
        let mut hear = |progress: &Progress<'_>| hear(progress);
        fairground::execution::execute(
            trials,
            prepared,
            &settings,
            &Sink::new(&mut keep, &mut hear, &stop),
        )
    })?;
    let interrupted = stop.load(std::sync::atomic::Ordering::SeqCst);
    records.sort_by_key(|record| record.trial.position);
    Ok((!interrupted).then_some(records))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_instructions_can_be_calibrated() {
        let args = Args::parse_from(["calibrate", "two_cpus"]);
        let error = calibrate(&args).expect_err("its clock is real").to_string();
        assert!(error.contains("clock = \"virtual\""), "{error}");
    }
}
