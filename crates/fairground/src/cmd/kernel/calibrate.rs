// SPDX-License-Identifier: GPL-2.0-only
//! `fairground kernel calibrate [MACHINE]`: what the kernel's work costs, measured in a virtual
//! machine; on `live`, what the threads of this machine's cores leave each other.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use execution::locations;
use execution::objects::{self, Prepared, Sources};
use execution::repeated::Earlier;
use execution::sink::Sink;
use execution::{Settings, interrupt};
use live::sharing::Sharing;
use model::{Backend, Clock, Progress, Record, Seed, Trial};

use crate::advice::core_sharing;
use crate::calibration::{self, table};
use crate::exit::bad_input;
use crate::experiment_options::On;
use crate::planned_experiment::host_cpus;
use crate::{exit, output, ui};
use spec::plan;

/// Options of `kernel calibrate`.
#[derive(clap::Args)]
pub struct Args {
    /// The machine, one with a virtual clock
    #[arg(default_value = "uniprocessor")]
    machine: String,
    /// `vm` measures costs; `live` measures how much of a core each of two busy threads has here,
    /// and keeps it for the machine `here`
    #[arg(
        long,
        value_name = "BACKEND",
        default_value = "vm",
        hide_possible_values = true,
        conflicts_with_all = ["machine", "kernel", "output", "offline"]
    )]
    on: On,
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

/// Runs the witnesses on the kernel and fits the simulator's costs to them.
///
/// # Errors
/// When the machine is not one that can be calibrated, the file cannot be written, or the lab
/// fails.
pub fn run(args: Args) -> Result<ExitCode> {
    match Backend::from(args.on) {
        Backend::Vm => costs(args),
        Backend::Live => sharing(),
        other => Err(bad_input(format!(
            "{} has no costs of its own to measure; write --on vm or --on live",
            other.word()
        ))),
    }
}

/// Measures what two threads of a core leave each other, and keeps it.
fn sharing() -> Result<ExitCode> {
    let (sharing, path) = core_sharing::measure(&locations::data_folder()?)?;
    let Sharing { cpus: [one, other], percent, range: [least, most] } = sharing;
    output::print(&format!(
        "smt_percent = {percent}: with CPU {other} busy, CPU {one} works at {percent} % of its \
         speed alone ({least} to {most} %)\n{}: kept, for `recommend`\n",
        path.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Measures the kernel's costs, and writes them.
fn costs(args: Args) -> Result<ExitCode> {
    let machine = spec::machine::load(&args.machine, Path::new(""), host_cpus())?;
    if machine.clock != Clock::Virtual {
        return Err(bad_input(format!(
            "{}: costs are counted as instructions; give the machine clock = \"virtual\"",
            machine.name
        )));
    }
    let file = read(args.output.as_deref())?;
    let (experiment, sources) = calibration::experiment(&machine, &args.kernel)?;
    let trials = plan::plan(&experiment, Seed(1));
    let mut both = trials.clone();
    // The simulator needs the same schedulers.
    both.extend(trials.iter().cloned().map(|trial| Trial { backend: Backend::MODEL, ..trial }));
    let prepared = objects::prepare(&both, &sources)?;
    let Some(records) = measure(&args, &trials, &prepared, sources)? else {
        return Ok(exit::interrupted());
    };
    let fit = calibration::fit(&machine, &records, &prepared.native)?;
    let kernel = records.first().map_or("", |record| record.provenance.kernel_release.as_str());
    let command = format!("fairground kernel calibrate {} --kernel {}", machine.name, args.kernel);
    let text = table::write(&file, &fit, &command, kernel)?;
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
    let settings = Settings {
        home: locations::data_folder().ok(),
        sources,
        jobs: None,
        offline: args.offline,
        earlier: Earlier::default(),
        executable: None,
    };
    let mut records = Vec::new();
    let mut keep = |new: &[Record]| {
        records.extend_from_slice(new);
        Ok(())
    };
    ui::watch(|hear| {
        hear(&Progress::Planned { trials: trials.len(), done: 0 });
        let mut hear = |progress: &Progress<'_>| hear(progress);
        execution::execute(trials, prepared, &settings, &Sink::new(&mut keep, &mut hear, &stop))
    })?;
    let interrupted = stop.load(std::sync::atomic::Ordering::SeqCst);
    records.sort_by_key(|record| record.trial.position);
    Ok((!interrupted).then_some(records))
}
