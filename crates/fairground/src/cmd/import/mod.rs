// SPDX-License-Identifier: GPL-2.0-only
//! `fairground import FILE …`: shared files, folders of chunks, or other programs' results →
//! records in the store; a trace → a workload file ([`trace`]).

mod own_files;
pub mod trace;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use model::{ReadFault, Record, Seed};
use store::Store;

use crate::exit::bad_input;
use crate::{command_line, output};
use spec::source::advice;
use store::exchange::imports::{self, Format, ImportedFile, Labels};

/// The experiment of imported records that do not join another one.
const EXPERIMENT: &str = "imported";

#[derive(clap::Args)]
pub struct Args {
    /// Shared files (`fairground share`), folders of chunks (`fairground plan --chunks`), results
    /// of jitterdebugger, cyclictest, stress-ng, schbench (JSON, YAML or what they print),
    /// hyperfine (JSON), hackbench, perf bench sched, sysbench, pgbench, tbench (what they print),
    /// Phoronix Test Suite (composite.xml) or MangoHud (CSV), or a trace of a scheduler: the text
    /// of perf script, trace-cmd report or ftrace, or a file of Perfetto (.pftrace)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Their format, if it cannot be recognised from the content: cyclictest, hackbench,
    /// hyperfine, jitterdebugger, mangohud, perf, pgbench, phoronix, schbench, stress-ng, sysbench,
    /// tbench or trace
    #[arg(long = "as", value_name = "FORMAT")]
    format: Option<String>,
    /// The scheduler that they are results of, instead of what the files say; it is not verified
    #[arg(long, value_name = "NAME")]
    scheduler: Option<String>,
    /// The machine that they were measured on
    #[arg(long, value_name = "TEXT")]
    machine: Option<String>,
    /// The experiment that they join
    #[arg(long, value_name = "NAME", default_value = EXPERIMENT)]
    experiment: String,
    /// Where the records go
    #[arg(long, value_name = "FILE", default_value = crate::execution::locations::STORE)]
    store: PathBuf,
    /// Of a trace: the workload file to write
    #[arg(short, long, value_name = "FILE.toml")]
    output: Option<PathBuf>,
    /// Of a trace: play only threads of this name; can be repeated. What others did counts as done
    /// by devices
    #[arg(long, value_name = "THREAD")]
    only: Vec<String>,
    /// Of a trace: play the kernel's own threads too
    #[arg(long)]
    kernel_threads: bool,
    /// Of a trace: the load runs for a time, not for an amount. Tasks that were there to its end
    /// begin again until that time is over, and what they achieve is measured
    #[arg(long)]
    for_a_time: bool,
}

impl Args {
    /// What the files of other programs do not say.
    fn labels(&self) -> [(bool, &'static str); 3] {
        [
            (self.scheduler.is_some(), "--scheduler"),
            (self.machine.is_some(), "--machine"),
            (self.experiment != EXPERIMENT, "--experiment"),
        ]
    }
}

/// Refuses options that were given for files that need none.
fn refuse_options(options: &[(bool, &str)], why: &str) -> Result<()> {
    match options.iter().find(|(given, _)| *given) {
        Some((_, option)) => Err(bad_input(format!("{option}: {why}; leave the option out"))),
        None => Ok(()),
    }
}

pub fn run(args: Args) -> Result<ExitCode> {
    if let Some(done) = own_files::import(&args)? {
        return Ok(done);
    }
    args.files.iter().try_for_each(|file| refuse_beginning(file))?;
    if is_about_trace(&args) {
        return trace::run(&args);
    }
    let mut files = Vec::new();
    for file in &args.files {
        let (format, source) = read(file, args.format.as_deref())?;
        let trials = source.records.len();
        let plural = if trials == 1 { "" } else { "s" };
        output::tell(format_args!("{}: {format}, {trials} trial{plural}", source.name));
        files.push(source);
    }
    let labels = Labels {
        experiment: &args.experiment,
        scheduler: args.scheduler.as_deref(),
        machine: args.machine.as_deref(),
    };
    let records = imports::labelled(files, &labels).map_err(bad_input)?;
    keep(&args, &records)?;
    tell_how_to_see(&args, &args.experiment, " --session all");
    Ok(ExitCode::SUCCESS)
}

fn tell_how_to_see(args: &Args, experiment: &str, sessions: &str) {
    let store = command_line::quoted(&args.store.display().to_string());
    let experiment = command_line::quoted(experiment);
    output::tell(format_args!(
        "to see them: fairground compare {experiment}{sessions} --store {store}"
    ));
}

/// Refuses a file that is known by its first bytes.
fn refuse_beginning(file: &Path) -> Result<()> {
    const BEGINNING_BYTES: u64 = 16;
    let beginning = spec::files::beginning(file, BEGINNING_BYTES).unwrap_or_default();
    let refused = imports::refused_beginning(&file.display().to_string(), &beginning);
    refused.map_or(Ok(()), |why| Err(bad_input(why)))
}

/// Whether the first file is a trace, or the options are those of one.
fn is_about_trace(args: &Args) -> bool {
    match args.format.as_deref() {
        Some(name) => name == trace::FORMAT,
        None => {
            let asked = args.output.is_some()
                || args.kernel_threads
                || args.for_a_time
                || !args.only.is_empty();
            asked || args.files.first().is_some_and(|file| trace::is_trace(file))
        }
    }
}

/// A file's format, and what is in it.
fn read(file: &Path, asked: Option<&str>) -> Result<(&'static str, ImportedFile)> {
    let name = file.display();
    let bytes = spec::files::read(file, spec::files::RESULT)
        .map_err(|fault| bad_input(format!("{name}: {fault}")))?;
    let sha256 = model::trial::sha256_hex(&bytes);
    let text = String::from_utf8(bytes).map_err(|_| bad_input(format!("{name}: not a text")))?;
    let text = text.trim_start_matches('\u{feff}');
    if let Some(why) = imports::refused_text(&name.to_string(), text) {
        return Err(bad_input(why));
    }
    let place = |fault: ReadFault| bad_input(fault.in_file(&name));
    let format = match asked {
        Some(name) => named(name)?,
        None => imports::guessed(text).map_err(place)?,
    };
    let records = format.read(text).map_err(place)?;
    Ok((&format.name, ImportedFile { name: name.to_string(), sha256, records }))
}

fn named(name: &str) -> Result<&'static Format> {
    imports::named(name).ok_or_else(|| {
        let hint =
            advice(name, imports::names()).map_or_else(String::new, |hint| format!("; {hint}"));
        bad_input(format!("--as {name}: unknown format{hint}"))
    })
}

/// Puts the records into the store, as a session of their own.
fn keep(args: &Args, records: &[Record]) -> Result<()> {
    let store = Store::open(&args.store)?;
    let sessions = store.sessions()?;
    let earlier = sessions.iter().rev().map(|session| &session.experiment);
    let beside = earlier.into_iter().find(|experiment| experiment.name == args.experiment);
    let trials: Vec<_> = records.iter().map(|record| &record.trial).collect();
    let (experiment, plan) = (imports::experiment(records, beside), model::trial::hex16(&trials));
    let session = store.begin(&command_line::session(experiment, plan, Seed(0)))?;
    Ok(store.append_all(session, records)?)
}
