// SPDX-License-Identifier: GPL-2.0-only
//! `fairground replicate [CLAIM …]`: claims → sessions → records → findings → report.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use model::claim::Source;
use report::replication::Replication;
use stats::decide::replication::Verdict;

use super::run::{self, Ended};
use crate::claims::blocks::{self, Blocks};
use crate::claims::choose::{self, Session, Wanted};
use crate::claims::judge::{self, Answer, Answers};
use crate::exit::{self, bad_input};
use crate::question::{Asked, Backends, Question};
use crate::records::Chosen;
use crate::{home, output, summary, words};

/// Fewer independent runs carry no interval of a median, and few carry one of a shift.
const RUNS_QUICK: u32 = 6;

/// Options of `replicate`.
#[derive(clap::Args)]
pub struct Args {
    /// Claims by name or file, NAME:TEST for one test of a claim; all without it
    #[arg(value_name = "CLAIM")]
    claims: Vec<String>,
    /// Only claims of these sources: S0 … S4
    #[arg(long, value_name = "SOURCE", value_delimiter = ',')]
    source: Vec<String>,
    /// Whose tests.
    #[command(flatten)]
    backends: Backends,
    /// Only the simulator, and no more runs than an interval needs: minutes
    #[arg(long, conflicts_with_all = ["on", "full"])]
    quick: bool,
    /// Also tests in the size that was published: hours
    #[arg(long)]
    full: bool,
    /// Blocks, instead of each experiment's own: one pass over everything, with fresh boots. For
    /// all, or for a backend or an experiment: 10, live=4, s3_make_policies=2
    #[arg(long, value_name = "[WHICH=]N", value_delimiter = ',')]
    blocks: Vec<Blocks>,
    /// Where the records go
    #[arg(long, value_name = "FILE", default_value = home::STORE)]
    store: PathBuf,
    /// Run only the trials that the last run of the same plans has left
    #[arg(long)]
    resume: bool,
    /// The only source of chance: order of trials, start phases
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
/// something cannot be written. What the lab could not run is told, and the rest is judged.
pub fn run(args: Args) -> Result<ExitCode> {
    let chosen = choose::claims(&wanted(&args)?)?;
    let sessions = choose::sessions(&chosen);
    blocks::known(&args.blocks, sessions.keys())?;
    let questions: Vec<(Session, Question, Asked)> =
        sessions.keys().map(|session| question(&args, session)).collect::<Result<_>>()?;
    let trials: usize = questions.iter().map(|(_, _, asked)| asked.trials.len()).sum();
    let counted = [(chosen.len(), "claim"), (questions.len(), "session"), (trials, "trial")];
    let counted = counted.map(|(count, noun)| report::units::count(count as u64, noun));
    output::tell(counted.join(", "));
    let (store, seed) = (args.store.clone(), args.seed);
    let mut answers = Answers { sessions: Default::default(), store, seed };
    let mut failed = None;
    for (session, question, asked) in questions {
        let on = stats::backend_word(session.on);
        let claims = sessions[&session].join(", ");
        output::tell(format_args!("{} on {on}, for {claims}", session.experiment));
        let answer = match run::measure(&run_args(&args, question), asked) {
            Ok(Ended::Session(id)) => answer(&args, id)?,
            Ok(Ended::Interrupted(code)) => return Ok(code),
            Err(error) => {
                output::tell(format_args!("fairground: {error:#}; the other claims go on"));
                let answer = Err(format!("the lab failed: {error:#}"));
                failed.get_or_insert(error);
                answer
            }
        };
        answers.sessions.insert(session, answer);
    }
    let judged: Vec<_> = chosen.into_iter().map(|one| judge::claim(one, &answers)).collect();
    let replication = Replication {
        claims: judged,
        commands: vec![words::command()],
        kernels: judge::kernels(answers.records()),
        trials: answers.records().count(),
        generated: words::today(),
    };
    show(&args, &replication)?;
    Ok(failed.map_or_else(|| code(&replication), |error| ExitCode::from(exit::code(&error))))
}

fn wanted(args: &Args) -> Result<Wanted> {
    let source = |text: &String| {
        let found = Source::ALL.into_iter().find(|one| one.to_string() == *text);
        found.ok_or_else(|| {
            let known = Source::ALL.map(|one| one.to_string()).join(", ");
            bad_input(format!("--source {text}: unknown source; known are {known}"))
        })
    };
    Ok(Wanted {
        names: args.claims.clone(),
        sources: args.source.iter().map(source).collect::<Result<_>>()?,
        on: args.backends.named(),
        quick: args.quick,
        full: args.full,
    })
}

/// What a session asks, with as many blocks as are wanted.
fn question(args: &Args, session: &Session) -> Result<(Session, Question, Asked)> {
    let with = |blocks| Question::on(&session.experiment, session.on, args.seed, blocks);
    let blocks = blocks::wanted(&args.blocks, session);
    let (question, asked) = (with(blocks), with(blocks).ask()?);
    let enough = RUNS_QUICK.div_ceil(asked.experiment.runs_per_boot);
    if args.quick && blocks.is_none() && asked.experiment.blocks > enough {
        let question = with(Some(enough));
        let asked = question.ask()?;
        return Ok((session.clone(), question, asked));
    }
    Ok((session.clone(), question, asked))
}

fn run_args(args: &Args, question: Question) -> run::Args {
    run::Args {
        question,
        resume: args.resume,
        store: args.store.clone(),
        jobs: args.jobs,
        offline: args.offline,
        budget: None,
        until: None,
        effect: None,
        no_aa: true,
        blocks: None,
    }
}

fn answer(args: &Args, session: i64) -> Result<Answer> {
    let records = Chosen::session(args.store.clone(), session).records()?;
    summary::misbehaviours(&records).iter().for_each(output::tell);
    Ok(Ok((session, records)))
}

/// The page, the document if it is wanted, and the claims on standard output.
fn show(args: &Args, replication: &Replication) -> Result<()> {
    let write = |file: &PathBuf, text: String| -> Result<()> {
        let mut out = output::writer(Some(file))?;
        out.write_all(text.as_bytes())?;
        out.flush()?;
        output::tell(format_args!("wrote {}", file.display()));
        Ok(())
    };
    write(&args.output, report::html::replication::page(replication))?;
    if let Some(file) = &args.markdown {
        write(file, report::replication::markdown(replication))?;
    }
    output::print(&report::replication::text(replication, output::colour()))
}

/// A claim that was asked in vain is a scheduler or workload that misbehaved.
fn code(replication: &Replication) -> ExitCode {
    let in_vain = replication.claims.iter().any(|one| one.verdict == Verdict::NoData);
    if in_vain { ExitCode::from(exit::MISBEHAVED) } else { ExitCode::SUCCESS }
}
