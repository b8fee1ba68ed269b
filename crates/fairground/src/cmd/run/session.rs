// SPDX-License-Identifier: GPL-2.0-only
//! One session: the trials of a plan that have no record yet, run and kept.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use model::{Backend, Progress, Trial};
use store::{Filter, SchedulerSource, Session, Store};

use super::{Args, Ended};
use crate::design::Reach;
use crate::exit;
use crate::home;
use crate::output;
use crate::question::Asked;
use crate::run::objects::{self, Prepared};
use crate::run::sink::Sink;
use crate::run::{self, Settings, interrupt};
use crate::ui::Screen;
use crate::words;

/// Runs the trials of a plan that have no record yet in the `family` of sessions: a given one, that
/// of an earlier run of the same plan if this one resumes it, or a new one.
///
/// # Errors
/// When a scheduler does not compile, and when the lab itself fails.
pub fn run(args: &Args, asked: &Asked, family: Option<i64>) -> Result<Ended> {
    let stop = interrupt::flag()?;
    let prepared = objects::prepare(&asked.trials, &asked.sources)?;
    let store = Store::open(&args.store)?;
    let session = session(&store, asked, (family, args.resume))?;
    let left = left(&store, asked, session.family)?;
    store.keep_sources(&sources(asked))?;
    let id = store.begin(&session)?;
    let ended = execute(args, asked, (&left, &prepared), (store, id), &stop);
    if stop.load(Ordering::SeqCst) && ended.is_ok() {
        output::tell(format_args!("interrupted; to go on: {}", words::resume_command()));
        return Ok(Ended::Interrupted(ExitCode::from(exit::INTERRUPTED)));
    }
    if ended.is_err() {
        output::tell(format_args!("what was measured is in {}", args.store.display()));
        output::tell(format_args!("to go on: {}", words::resume_command()));
        if simulated_too(asked) {
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

/// This run's session: of a given family, of that of an earlier run with the same plan, or of its
/// own.
fn session(store: &Store, asked: &Asked, (given, resume): (Option<i64>, bool)) -> Result<Session> {
    let plan = asked.plan_id();
    let sessions = store.sessions()?.into_iter().rev();
    // What somebody else has measured is no part of our run.
    let earlier = sessions.into_iter().find(|one| one.plan == plan && one.origin.is_none());
    let earlier = earlier.filter(|_| resume).map(|session| session.first());
    let family = given.or(earlier);
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
    remark(asked, args.question.own_rules, &mut screen);
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
fn remark(asked: &Asked, own_rules: bool, screen: &mut Screen) {
    for note in &asked.notes {
        screen.show(&Progress::Note(note));
    }
    let declared = own_rules || asked.experiment.design.exploratory;
    if let Some(words) = Reach::of(asked).words().filter(|_| !declared) {
        screen.show(&Progress::Note(&words));
    }
}

/// Whether a part of the experiment needs nothing but this program, and another does.
fn simulated_too(asked: &Asked) -> bool {
    let backends = &asked.experiment.backends;
    backends.len() > 1 && backends.contains(&Backend::Sim)
}
