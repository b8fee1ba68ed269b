// SPDX-License-Identifier: GPL-2.0-only
//! `fairground run [EXPERIMENT]`: spec → plan → trials → records → statistics → table.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use model::{Backend, Progress, Trial};
use store::{Filter, SchedulerSource, Session, Store};

use crate::exit;
use crate::home;
use crate::output;
use crate::question::{Asked, Question};
use crate::records::Chosen;
use crate::run::objects::{self, Prepared};
use crate::run::sink::Sink;
use crate::run::{self, Settings, interrupt};
use crate::ui::Screen;
use crate::{summary, words};

/// With fewer runs per contestant and cell a median has no finite 95 % interval.
const RUNS_MIN: u32 = 6;

/// Options of `run`.
#[derive(clap::Args, Clone)]
pub struct Args {
    /// Which trials there are.
    #[command(flatten)]
    pub question: Question,
    /// Run only the trials that the last run of the same plan has left
    #[arg(long)]
    pub resume: bool,
    /// Where the records go
    #[arg(long, value_name = "FILE", default_value = home::STORE)]
    pub store: PathBuf,
    /// Trials at a time [default: as many as CPUs in the simulator and where only instructions are
    /// counted, else one]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Never download a kernel
    #[arg(long)]
    pub offline: bool,
}

/// Runs what is asked and shows what came out.
///
/// # Errors
/// When the input is wrong (before anything runs), or the lab itself fails.
pub fn run(args: Args) -> Result<ExitCode> {
    let asked = args.question.ask()?;
    match measure(&args, asked)? {
        Ended::Session(id) => summarise(&args, id),
        Ended::Interrupted(code) => Ok(code),
    }
}

/// How measuring has ended, if the lab did not fail.
pub enum Ended {
    /// Every trial has its record; the session's number in the store.
    Session(i64),
    /// By the user, who has been told how to go on.
    Interrupted(ExitCode),
}

/// Runs the trials of a question, as far as they have no record yet.
///
/// # Errors
/// As for [`run`].
pub fn measure(args: &Args, asked: Asked) -> Result<Ended> {
    let stop = interrupt::flag()?;
    let prepared = objects::prepare(&asked.trials, &asked.sources)?;
    let store = Store::open(&args.store)?;
    let session = session(&store, &asked, args.resume)?;
    let left = left(&store, &asked, session.family)?;
    store.keep_sources(&sources(&asked))?;
    let id = store.begin(&session)?;
    let ended = execute(args, &asked, (&left, &prepared), (store, id), &stop);
    if stop.load(Ordering::SeqCst) && ended.is_ok() {
        output::tell(format_args!("interrupted; to go on: {}", words::resume_command()));
        return Ok(Ended::Interrupted(ExitCode::from(exit::INTERRUPTED)));
    }
    if ended.is_err() {
        output::tell(format_args!("what was measured is in {}", args.store.display()));
        output::tell(format_args!("to go on: {}", words::resume_command()));
        if simulated_too(&asked) {
            output::tell("--on sim needs no virtual machine: it shows the simulator's part alone");
        }
    }
    ended?;
    Ok(Ended::Session(id))
}

/// The texts of the schedulers' files, with what they include.
fn sources(asked: &Asked) -> Vec<SchedulerSource> {
    asked.sources.values().map(objects::text).filter(SchedulerSource::is_genuine).collect()
}

/// This run's session: of its own family, or of that of an earlier run with the same plan.
fn session(store: &Store, asked: &Asked, resume: bool) -> Result<Session> {
    let plan = asked.plan_id();
    let sessions = store.sessions()?.into_iter().rev();
    // What somebody else has measured is no part of our run.
    let earlier = sessions.into_iter().find(|one| one.plan == plan && one.origin.is_none());
    let family = earlier.filter(|_| resume).map(|session| session.family.unwrap_or(session.id));
    let started_unix_s = words::now();
    Ok(Session {
        id: 0,
        family,
        experiment: asked.experiment.clone(),
        plan,
        seed: asked.seed,
        command: words::command(),
        started_unix_s,
        fairground: run::VERSION.into(),
        origin: None,
    })
}

/// The trials that have no record yet.
fn left(store: &Store, asked: &Asked, family: Option<i64>) -> Result<Vec<Trial>> {
    let done = match family {
        Some(_) => store.trial_ids_done(&Filter { family, ..Filter::default() })?,
        None => BTreeSet::new(),
    };
    Ok(asked.trials.iter().filter(|trial| !done.contains(&trial.id())).cloned().collect())
}

fn execute(
    args: &Args,
    asked: &Asked,
    (left, prepared): (&[Trial], &Prepared),
    (store, session): (Store, i64),
    stop: &AtomicBool,
) -> Result<()> {
    let mut screen = Screen::new();
    remark(asked, args.question.exploratory, &mut screen);
    let done = asked.trials.len() - left.len();
    screen.show(&Progress::Planned { trials: asked.trials.len(), done });
    let settings = Settings {
        home: home::home()?,
        sources: asked.sources.clone(),
        jobs: args.jobs,
        offline: args.offline,
        executable: None,
    };
    let mut keep = move |record: &model::Record| Ok(store.append(session, record)?);
    let mut hear = |progress: &Progress<'_>| screen.show(progress);
    let result = {
        let sink = Sink::new(&mut keep, &mut hear, stop);
        run::execute(left, prepared, &settings, &sink)
    };
    screen.clear();
    result
}

/// What the audience should know before it waits.
fn remark(asked: &Asked, exploratory: bool, screen: &mut Screen) {
    for note in &asked.notes {
        screen.show(&Progress::Note(note));
    }
    let runs = asked.experiment.blocks.saturating_mul(asked.experiment.runs_per_boot);
    if runs < RUNS_MIN && !exploratory {
        screen.show(&Progress::Note(&format!(
            "exploratory: {runs} runs of each cell prove little; {RUNS_MIN} or more are needed"
        )));
    }
}

/// Whether a part of the experiment needs nothing but this program, and another does.
fn simulated_too(asked: &Asked) -> bool {
    let backends = &asked.experiment.backends;
    backends.len() > 1 && backends.contains(&Backend::Sim)
}

/// The table on standard output; on standard error where everything is, and what went wrong.
fn summarise(args: &Args, session: i64) -> Result<ExitCode> {
    let (sessions, records) = Chosen::session(args.store.clone(), session).open()?;
    let comparison = summary::compare(&sessions, &records, None)?;
    let agreement = report::sides::agreed(&comparison, &records);
    output::print(&report::terminal::table(&comparison, agreement.as_ref(), output::colour()))?;
    summary::misbehaviours(&records).iter().for_each(output::tell);
    let (store, experiment) = (args.store.display(), &records[0].trial.experiment);
    let report = format!("fairground report {experiment} --store {store} -o {experiment}.html");
    output::tell(format_args!("records: {store}\nreport:  {report}"));
    let ok = records.iter().all(|record| record.outcome.is_ok());
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::from(exit::MISBEHAVED) })
}
