// SPDX-License-Identifier: GPL-2.0-only
//! `fairground import FILE …`: shared files, folders of chunks, or other programs' results →
//! records in the store; a trace → a workload file ([`trace`]).

mod foreign;
mod trace;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use model::{ReadFault, Record, Seed};
use store::{Filter, Session, Store};

use crate::exit::bad_input;
use crate::{command_line, output};
use fleet::campaign_folder::{self, CampaignFolder};
use spec::source::advice;
use store::exchange::imports::{self, Format, ImportedFile, Labels};
use store::exchange::share::{self, Shared};

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
}

pub fn run(args: Args) -> Result<ExitCode> {
    if args.files.iter().any(|path| campaign_folder::is_one(path)) {
        return campaigns(&args);
    }
    let shared: Vec<bool> = args.files.iter().map(|file| is_shared(file)).collect();
    if shared.contains(&true) {
        return shared_files(&args, &shared);
    }
    args.files.iter().try_for_each(|file| foreign::refuse_by_beginning(file))?;
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
        experiment: args.experiment.clone(),
        scheduler: args.scheduler.clone(),
        machine: args.machine.clone(),
    };
    let records = imports::labelled(&files, &labels);
    records.iter().try_for_each(|record| refuse_fault(&files, record))?;
    keep(&args, &records)?;
    let store = args.store.display();
    let (experiment, store) =
        (command_line::quoted(&args.experiment), command_line::quoted(&store.to_string()));
    output::tell(format_args!(
        "to see them: fairground compare {experiment} --session all --store {store}"
    ));
    Ok(ExitCode::SUCCESS)
}

/// Whether the first file is a trace, or the options are those of one.
fn is_about_trace(args: &Args) -> bool {
    match args.format.as_deref() {
        Some(name) => name == trace::FORMAT,
        None => {
            let asked = args.output.is_some() || args.kernel_threads || !args.only.is_empty();
            asked || args.files.first().is_some_and(|file| trace::is_trace(file))
        }
    }
}

fn campaigns(args: &Args) -> Result<ExitCode> {
    args.refuse_options("a folder of chunks")?;
    if let Some(other) = args.files.iter().find(|path| !campaign_folder::is_one(path)) {
        let other = other.display();
        return Err(bad_input(format!("{other}: no folder of chunks; import one kind at a time")));
    }
    args.files.iter().try_for_each(|folder| take_in_campaign(folder, &args.store))?;
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// Refuses options that say what the files themselves say.
    fn refuse_options(&self, what: &str) -> Result<()> {
        let options = [
            (self.format.is_some(), "--as"),
            (self.scheduler.is_some(), "--scheduler"),
            (self.machine.is_some(), "--machine"),
            (self.experiment != EXPERIMENT, "--experiment"),
        ];
        match options.iter().find(|(given, _)| *given) {
            Some((_, option)) => Err(bad_input(format!(
                "{option}: {what} has its own format, scheduler, machine and experiment; leave \
                 the option out"
            ))),
            None => Ok(()),
        }
    }
}

/// Imports shared files, all or none of them. Nothing in them is ever compiled or run.
fn shared_files(args: &Args, shared: &[bool]) -> Result<ExitCode> {
    args.refuse_options("a shared file")?;
    if shared.contains(&false) {
        return Err(bad_input(
            "shared files and other programs' results: import one kind at a time",
        ));
    }
    let files: Vec<Shared> =
        args.files.iter().map(|file| Shared::read(file)).collect::<Result<_>>()?;
    let store = Store::open(&args.store)?;
    for (path, file) in args.files.iter().zip(&files) {
        take_in(&store, path, file)?;
    }
    let experiment = files.iter().flat_map(|file| &file.sessions).next_back();
    let experiment = experiment.map(|(session, _)| command_line::quoted(&session.experiment.name));
    output::tell(format_args!(
        "to see them: fairground compare {} --session all --store {}",
        experiment.unwrap_or_default(),
        command_line::quoted(&args.store.display().to_string())
    ));
    Ok(ExitCode::SUCCESS)
}

/// Puts a shared file's sessions into the store, unless it has them.
fn take_in(store: &Store, path: &Path, file: &Shared) -> Result<()> {
    let known = store.sessions()?;
    let is_known = |new: &Session| {
        let made = |session: &Session| (session.plan.clone(), session.started_unix_s, session.seed);
        known.iter().any(|known| known.origin == new.origin || made(known) == made(new))
    };
    let (path, by) = (path.display(), file.by());
    if file.sessions.iter().all(|(session, _)| is_known(session)) {
        output::tell(format_args!("{path}: shared by {by}: the store has all of it already"));
        return Ok(());
    }
    store.take_in(&file.sessions, &file.sources)?;
    let trials = file.records().count();
    output::tell(format_args!("{path}: shared by {by}: {trials} trials"));
    Ok(())
}

/// A file's format, and what is in it.
fn read(file: &Path, asked: Option<&str>) -> Result<(&'static str, ImportedFile)> {
    let name = file.display();
    let bytes = spec::files::read(file, spec::files::RESULT)
        .map_err(|fault| bad_input(format!("{name}: {fault}")))?;
    let sha256 = model::trial::sha256_hex(&bytes);
    let text = String::from_utf8(bytes).map_err(|_| bad_input(format!("{name}: not a text")))?;
    let text = text.trim_start_matches('\u{feff}');
    let place = |fault: ReadFault| {
        let foreign = (!imports::is_any(text)).then(|| foreign::refusal_of_text(file, text));
        foreign.flatten().unwrap_or_else(|| bad_input(fault.in_file(&name)))
    };
    let format = match asked {
        Some(name) => named(name)?,
        None => imports::guessed(text).map_err(place)?,
    };
    let records = format.read(text).map_err(place)?;
    Ok((format.name, ImportedFile { name: name.to_string(), sha256, records }))
}

/// Refuses a result that cannot be a record, such as a rate of 1e308.
fn refuse_fault(files: &[ImportedFile], record: &Record) -> Result<()> {
    let file = files.get(record.trial.boot as usize).map_or("", |file| file.name.as_str());
    let workload = &record.trial.workload.name;
    let refused = |fault| bad_input(format!("{file}: {workload}: {fault}; nothing was imported"));
    record.fault().map_or(Ok(()), |fault| Err(refused(fault)))
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

fn is_shared(file: &Path) -> bool {
    let named = file.extension().is_some_and(|ending| ending == share::ENDING);
    named || share::is_shared(file)
}

/// Puts the records that are there into the store, each once, as those of one campaign.
fn take_in_campaign(folder: &Path, path: &Path) -> Result<()> {
    let campaign = CampaignFolder::read(folder)?;
    let store = Store::open(path)?;
    let first = earlier_campaign(&store, &campaign.session)?;
    let filter = Filter { campaign: first, ..Filter::default() };
    let known = if first.is_some() { store.trial_ids_done(&filter)? } else { Default::default() };
    let is_new = |record: &&model::Record| !known.contains(&record.trial.id());
    let new: Vec<_> = campaign.records.iter().filter(is_new).cloned().collect();
    if !new.is_empty() {
        store.keep_sources(&campaign.schedulers)?;
        let id = store.begin(&Session { campaign: first, ..campaign.session.clone() })?;
        store.append_all(id, &new)?;
    }
    tell_what_is_there(folder, &campaign, new.len());
    let experiment = command_line::quoted(&campaign.session.experiment.name);
    let store = command_line::quoted(&path.display().to_string());
    output::tell(format_args!("to see them: fairground compare {experiment} --store {store}"));
    Ok(())
}

/// The first session of a campaign that the store has begun to take in.
fn earlier_campaign(store: &Store, new: &Session) -> Result<Option<i64>> {
    let made = |session: &Session| {
        let Session { plan, started_unix_s, seed, command, .. } = session.clone();
        (plan, started_unix_s, seed, command)
    };
    let sessions = store.sessions()?;
    let same = sessions.iter().find(|known| known.origin.is_none() && made(known) == made(new));
    Ok(same.map(Session::first))
}

fn tell_what_is_there(folder: &Path, campaign: &CampaignFolder, new: usize) {
    let trials: usize = campaign.chunks.iter().map(Vec::len).sum();
    let (folder, there) = (folder.display(), campaign.records.len());
    let before = there - new;
    let before =
        if before > 0 { format!(", {before} already in the store") } else { String::new() };
    output::tell(format_args!("{folder}: {there} of {trials} trials{before}"));
    for (number, lacking) in campaign.incomplete() {
        output::tell(format_args!("chunk {number} lacks {lacking}; run it again, with its --out"));
    }
}
