// SPDX-License-Identifier: GPL-2.0-only
//! `fairground replicate [CLAIM …]`: claims → sessions → records → findings → report.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use model::claim::Source;
use model::{Record, Seed};
use report::replication::Replication;
use stats::decide::replication::Reproduction;

use crate::claims::blocks::{self, Blocks};
use crate::claims::choose::{self, Session, Wanted};
use crate::claims::judge::{self, Answers};
use crate::execution::{Settings, locations};
use crate::exit::{self, bad_input};
use crate::experiment_options::Backends;
use crate::measure::{self, Campaign, Ended, Execution, JudgedBy};
use crate::planned_experiment::PlannedExperiment;
use crate::records::Chosen;
use crate::{command_line, dates, output, summary, ui};
use spec::Overrides;

/// The fewest independent replicates that give an interval of a median.
const REPLICATES_QUICK: u32 = 6;

/// Options of `replicate`.
#[derive(clap::Args)]
pub struct Args {
    /// Claims by name or file, NAME:TEST for one test of a claim; all without it
    #[arg(value_name = "CLAIM")]
    claims: Vec<String>,
    /// Only claims of these sources: S0 … S4
    #[arg(long, value_name = "SOURCE", value_delimiter = ',')]
    source: Vec<String>,
    /// Which backends' tests.
    #[command(flatten)]
    backends: Backends,
    /// Use only the simulator, and no more blocks than an interval needs: minutes
    #[arg(long, conflicts_with_all = ["on", "full"])]
    quick: bool,
    /// Also run tests in the published size: hours
    #[arg(long)]
    full: bool,
    /// Run only tests of originals, on kernels that `kernel build` has made
    #[arg(long, conflicts_with = "quick")]
    originals: bool,
    /// Number of blocks, instead of each experiment's own: for all, or for a backend or an
    /// experiment: 10, live=4, s3_make_policies=2
    #[arg(long, value_name = "[WHICH=]N", value_delimiter = ',')]
    blocks: Vec<Blocks>,
    /// Where the records go
    #[arg(long, value_name = "FILE", default_value = locations::STORE)]
    store: PathBuf,
    /// Run only the trials that the last campaigns with the same plans did not finish
    #[arg(long)]
    resume: bool,
    /// The only source of randomness: order of trials, start phases
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Trials at a time [default: as `run`]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Never download a kernel
    #[arg(long)]
    offline: bool,
    /// The page to write
    #[arg(short, long, value_name = "FILE", default_value = "replication.html")]
    output: PathBuf,
    /// Write it as Markdown too
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// Runs each experiment that the claims need once, and says which of them hold.
///
/// # Errors
/// Whatever is wrong with the claims' files or the options, before anything runs; and when
/// something cannot be written. If the lab fails in one session, the rest is judged.
pub fn run(args: Args) -> Result<ExitCode> {
    let chosen = choose::claims(&wanted(&args)?)?;
    let sessions = choose::sessions(&chosen);
    blocks::known(&args.blocks, sessions.keys())?;
    let planned: Vec<PlannedExperiment> =
        sessions.keys().map(|session| plan(&args, session)).collect::<Result<_>>()?;
    let trials: usize = planned.iter().map(|planned| planned.trials.len()).sum();
    let counted = [(chosen.len(), "claim"), (planned.len(), "session"), (trials, "trial")];
    let counted = counted.map(|(count, noun)| report::units::count(count as u64, noun));
    output::tell(counted.join(", "));
    let mut answers = Answers::new();
    let mut failed = None;
    for ((session, claims), planned) in sessions.iter().zip(planned) {
        let (on, claims) = (session.on.word(), claims.join(", "));
        output::tell(format_args!("{} on {on}, for {claims}", session.experiment));
        let answer = match measure(&args, planned) {
            Ok(Ended::Complete(id)) => Ok(records(&args, id)?),
            Ok(Ended::Interrupted) => return Ok(exit::interrupted()),
            Err(error) => {
                output::tell(format_args!("fairground: {error:#}; the other claims continue"));
                let answer = Err(left_out(&error));
                failed.get_or_insert(error);
                answer
            }
        };
        answers.insert(session.clone(), answer);
    }
    let judged: Vec<_> = chosen.into_iter().map(|claim| judge::claim(claim, &answers)).collect();
    let replication = Replication {
        claims: judged,
        commands: vec![command_line::command()],
        kernels: judge::kernels(answers.values().flatten().flatten()),
        trials: answers.values().flatten().flatten().count(),
        generated: dates::today(),
    };
    show(&args, &replication)?;
    Ok(failed.map_or_else(|| code(&replication), |error| ExitCode::from(exit::code(&error))))
}

/// Why a session has no records.
fn left_out(error: &anyhow::Error) -> String {
    match exit::code(error) {
        exit::BAD_INPUT => format!("{error:#}"),
        _ => format!("the lab failed: {error:#}"),
    }
}

fn wanted(args: &Args) -> Result<Wanted> {
    let source = |text: &String| {
        let found = Source::ALL.into_iter().find(|source| source.to_string() == *text);
        found.ok_or_else(|| {
            let known = Source::ALL.map(|source| source.to_string()).join(", ");
            bad_input(format!("--source {text}: unknown source; known are {known}"))
        })
    };
    Ok(Wanted {
        names: args.claims.clone(),
        sources: args.source.iter().map(source).collect::<Result<_>>()?,
        on: args.backends.named(),
        quick: args.quick,
        full: args.full,
        originals: args.originals,
    })
}

/// The plan of a session, with the number of blocks that the options want.
fn plan(args: &Args, session: &Session) -> Result<PlannedExperiment> {
    let blocks = blocks::wanted(&args.blocks, session);
    let overrides = Overrides { on: vec![session.on], blocks, ..Overrides::default() };
    let planned = PlannedExperiment::read(Some(&session.experiment), &overrides, Seed(args.seed))?;
    let enough = REPLICATES_QUICK.div_ceil(planned.experiment.trials_per_boot);
    let is_too_long = args.quick && blocks.is_none() && planned.experiment.blocks > enough;
    Ok(if is_too_long { planned.with_blocks(enough) } else { planned })
}

/// Measures what a session asks; a claim's rules judge it.
fn measure(args: &Args, planned: PlannedExperiment) -> Result<Ended> {
    let execution = Execution {
        store: args.store.clone(),
        resume: args.resume,
        fleet: None,
        settings: Settings { jobs: args.jobs, offline: args.offline, ..Settings::default() },
    };
    let campaign = Campaign { planned, judged_by: JudgedBy::OwnRules, execution };
    ui::watch(|hear| measure::run(campaign, hear))
}

fn records(args: &Args, session: i64) -> Result<Vec<Record>> {
    let records = Chosen::session(args.store.clone(), session).records()?;
    summary::misbehaviours(&records).iter().for_each(output::tell);
    Ok(records)
}

/// Writes the page, and the Markdown if it is wanted; prints the claims.
fn show(args: &Args, replication: &Replication) -> Result<()> {
    let write = |file: &PathBuf, text: String| -> Result<()> {
        let mut out = output::writer(Some(file))?;
        out.write_all(text.as_bytes())?;
        out.flush()?;
        output::tell(format_args!("wrote {}", file.display()));
        Ok(())
    };
    write(&args.output, report::html::replication_page::page(replication))?;
    if let Some(file) = &args.markdown {
        write(file, report::replication::markdown(replication))?;
    }
    output::print(&report::replication::text(replication, output::colour()))
}

/// A claim without data is a scheduler or workload that misbehaved.
fn code(replication: &Replication) -> ExitCode {
    let without_data = replication.claims.iter().any(|claim| claim.verdict == Reproduction::NoData);
    if without_data { ExitCode::from(exit::MISBEHAVED) } else { ExitCode::SUCCESS }
}
