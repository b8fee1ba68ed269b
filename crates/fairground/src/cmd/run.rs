// SPDX-License-Identifier: GPL-2.0-only
//! `fairground run [EXPERIMENT]`: spec → plan → trials → records → statistics → table.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use stats::sample_size::precision::{Next, next};
use store::Session;

use crate::design::{self, duration, grown, same};
use crate::exit;
use crate::home;
use crate::output;
use crate::question::{Asked, Question};
use crate::records::Chosen;
use crate::run::boots;
use crate::summary;
use spec::plan;

mod session;

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
    /// Take as many blocks as fit into this time: 90s, 10m, 2h. The first one shows what a block
    /// takes; the number is fixed before any result is looked at
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    #[arg(conflicts_with_all = ["blocks", "until"])]
    pub budget: Option<Duration>,
    /// Add blocks until every shift of a headline measure is known to ± so many percent
    #[arg(long, value_name = "PERCENT", value_parser = duration::percent)]
    #[arg(conflicts_with = "blocks")]
    pub until: Option<f64>,
    /// Refuse a plan that could not see a difference of so many percent, as A/A trials show it
    #[arg(long, value_name = "PERCENT", value_parser = duration::percent)]
    #[arg(conflicts_with = "until")]
    pub effect: Option<f64>,
    /// No A/A trials before real time is measured
    #[arg(long, conflicts_with = "effect")]
    pub no_aa: bool,
    /// The fewest and the most blocks that a budget may give, where the verb knows better than the
    /// plan.
    #[arg(skip)]
    pub blocks: Option<(u32, u32)>,
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

/// Runs the trials of a question, with as many blocks as the options want.
///
/// # Errors
/// As for [`run`].
pub fn measure(args: &Args, mut asked: Asked) -> Result<Ended> {
    if args.question.own_rules {
        return session::run(args, &asked, None);
    }
    let began = Instant::now();
    let declared = &mut asked.experiment.design;
    (declared.until_percent, declared.budget_s) = (args.until, args.budget.map(|it| it.as_secs()));
    match (args.budget, args.until) {
        (Some(budget), _) => room(args, &asked, budget)?,
        (None, Some(_)) => {}
        (None, None) => design::check(&asked)?,
    }
    if let Some(interrupted) = equals(args, &mut asked)? {
        return Ok(interrupted);
    }
    match (args.budget, args.until) {
        (Some(budget), _) => within(args, asked, budget, began),
        (None, Some(percent)) => until(args, asked, percent),
        (None, None) => {
            asked.notes.extend(design::visible(&asked, args.effect)?);
            session::run(args, &asked, None)
        }
    }
}

/// A/A trials, where real time will be compared: how far equals are apart. Returns something only
/// when the user has interrupted them.
fn equals(args: &Args, asked: &mut Asked) -> Result<Option<Ended>> {
    if args.no_aa || asked.experiment.design.exploratory {
        return Ok(None);
    }
    let Some(question) = same::question(asked) else { return Ok(None) };
    let records = match same::known(&args.store, &question)? {
        Some(records) => records,
        None => {
            output::tell(same::words(&question));
            let args = Args { resume: true, ..unremarked(args) };
            match session::run(&args, &question, None)? {
                Ended::Session(id) => Chosen::session(args.store.clone(), id).records()?,
                interrupted => return Ok(Some(interrupted)),
            }
        }
    };
    asked.experiment.design.scatter = stats::compare::noise_floor::scatter(&records);
    Ok(None)
}

/// The same without a remark on what so few runs can prove: more will follow.
fn unremarked(args: &Args) -> Args {
    let mut args = args.clone();
    args.question.own_rules = true;
    args
}

/// The fewest blocks that show anything, and the most that are wanted.
fn bounds(args: &Args, asked: &Asked) -> (u32, u32) {
    let (least, most) = args.blocks.unwrap_or((1, u32::MAX));
    (grown::needed(asked).max(least), most)
}

/// Refuses a budget that the workloads' own times exceed, before anything runs.
fn room(args: &Args, asked: &Asked, budget: Duration) -> Result<()> {
    let (needed, _) = bounds(args, asked);
    let least = grown::least_time(&asked.clone().with_blocks(1)) * needed;
    if least > budget { refuse(args, asked, budget, (needed, least)) } else { Ok(()) }
}

/// Refuses a budget that so many blocks exceed, unless nothing has to be proved.
fn refuse(args: &Args, asked: &Asked, budget: Duration, needed: (u32, Duration)) -> Result<()> {
    if asked.experiment.design.exploratory {
        return Ok(());
    }
    let otherwise = if args.blocks.is_some() { "" } else { ", or add --exploratory" };
    Err(grown::too_short(asked, budget, needed, otherwise))
}

/// As many blocks as fit into a time.
fn within(args: &Args, asked: Asked, budget: Duration, began: Instant) -> Result<Ended> {
    let (needed, most) = bounds(args, &asked);
    let (asked, family) = match grown::resumed(args.resume, &args.store, &asked)? {
        Some((blocks, family)) => (asked.with_blocks(blocks), Some(family)),
        None => {
            let (first, before) = (asked.clone().with_blocks(1), Instant::now());
            let id = match session::run(&unremarked(args), &first, None)? {
                Ended::Session(id) => id,
                interrupted => return Ok(interrupted),
            };
            // A block alone may leave CPUs idle which several at a time do not.
            let at_once = boots::at_once(&first.trials, args.jobs);
            let used = plan::by_boot(&first.trials).len().clamp(1, at_once);
            let block = before.elapsed() * used as u32 / at_once as u32;
            let blocks = grown::that_fit(block, budget.saturating_sub(began.elapsed())).min(most);
            if blocks < needed {
                refuse(args, &asked, budget, (needed, began.elapsed() + block * (needed - 1)))?;
            }
            output::tell(grown::plan_words(blocks, block));
            (asked.with_blocks(blocks), Some(id))
        }
    };
    design::visible(&asked, args.effect)?.iter().for_each(output::tell);
    session::run(args, &asked, family)
}

/// Blocks until the shifts are known well enough.
fn until(args: &Args, asked: Asked, percent: f64) -> Result<Ended> {
    let needed = grown::needed(&asked);
    let (mut asked, mut family) = (asked.with_blocks(needed), None);
    loop {
        let id = match session::run(args, &asked, family)? {
            Ended::Session(id) => id,
            interrupted => return Ok(interrupted),
        };
        let (sessions, records) = Chosen::session(args.store.clone(), id).open()?;
        family = sessions.first().map(Session::first);
        let comparison = summary::compare(&sessions, &records, None)?;
        let next = next(&comparison, asked.experiment.blocks, percent);
        output::tell(next.words(asked.experiment.blocks, percent));
        match next {
            Next::Blocks { blocks, .. } => asked = asked.with_blocks(blocks),
            Next::Enough { .. } | Next::Never { .. } => {
                return Ok(Ended::Session(id));
            }
        }
    }
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
