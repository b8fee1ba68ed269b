// SPDX-License-Identifier: GPL-2.0-only
//! `fairground bisect EXPERIMENT --file PATH --good REV --bad REV`: which commit of a git tree made
//! a scheduler worse. An experiment measures commits, and the rule of `history --gate` compares
//! each with the good one. Records stay in the store, so nothing is measured twice.

mod tree;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Error, Result};
use model::{Backend, Outcome, Record, SchedulerChoice};
use report::terminal::gate_text;
use report::units::plural;
use spec::contestant::split_file;
use stats::Verdict;
use stats::decide::gate::{Gate, gate};

use crate::execution::interrupt;
use crate::exit::{self, bad_input};
use crate::measure::session::{CampaignRunner, Continues, Remarks};
use crate::measure::{Ended, RunOptions, prerequisites};
use crate::planned_experiment::{ExperimentOptions, PlannedExperiment};
use crate::records::Selection;
use crate::times::words;
use crate::{command_line, output, ui};
use tree::{Commit, Tree};

// Options that mean nothing here: commits are what is compared, and it always continues.
#[derive(clap::Args)]
#[command(mut_arg("schedulers", |option| option.hide(true)))]
#[command(mut_arg("baseline", |option| option.hide(true)))]
#[command(mut_arg("resume", |option| option.hide(true)))]
pub struct Args {
    #[command(flatten)]
    experiment: ExperimentOptions,
    #[command(flatten)]
    execution: RunOptions,
    /// The git tree, or a folder in it
    #[arg(long, value_name = "DIR", default_value = ".")]
    tree: PathBuf,
    /// The scheduler in that folder: FILE.bpf.c, 'FILE.bpf.c knob=value', FILE+FILE, or a folder
    #[arg(long, value_name = "PATH")]
    file: String,
    /// A commit that is as it should be; --bad contains it
    #[arg(long, value_name = "REVISION")]
    good: String,
    /// A later commit that is worse
    #[arg(long, value_name = "REVISION", default_value = "HEAD")]
    bad: String,
    /// Smaller changes do not count, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    margin: f64,
}

/// What is known of a commit.
enum Measured {
    Records(Vec<Record>),
    /// It cannot be judged, and why.
    Skipped(String),
}

struct Bisect {
    args: Args,
    tree: Tree,
    /// The scheduler's files in the tree.
    files: Vec<String>,
    /// The knobs behind them.
    knobs: String,
    /// How long each commit took.
    took: Vec<Duration>,
    /// Interrupted trials have told how to continue.
    told: bool,
}

/// Finds the first bad commit, step by step.
pub fn run(args: Args) -> Result<ExitCode> {
    refuse_options(&args)?;
    // Until the end, so that Ctrl-C between two commits is heard as well.
    let _stop = interrupt::flag()?;
    let mut bisect = Bisect::new(args)?;
    let ended = bisect.run();
    let is_interrupted = ended.as_ref().is_err_and(|error| exit::code(error) == exit::INTERRUPTED);
    if is_interrupted && !bisect.told {
        let resume = command_line::resume_command();
        output::tell(format_args!("what was measured is kept; to continue: {resume}"));
    }
    ended
}

fn refuse_options(args: &Args) -> Result<()> {
    let margin = args.margin;
    if !margin.is_finite() || margin < 0.0 {
        return Err(bad_input(format!("--margin {margin}: write percent, 0 or more")));
    }
    if !args.experiment.overrides.schedulers.is_empty() {
        return Err(bad_input("--scheduler: bisect measures --file PATH alone; leave it out"));
    }
    if args.experiment.overrides.baseline.is_some() {
        return Err(bad_input("--baseline: bisect compares with --good; leave it out"));
    }
    Ok(())
}

impl Bisect {
    fn new(args: Args) -> Result<Bisect> {
        let tree = Tree::open(&args.tree)?;
        output::shorten(&tree.folder());
        let (file, knobs) = split_file(args.file.trim());
        let knobs = knobs.to_owned();
        let files = file.split('+').map(|file| tree.place(file)).collect::<Result<_>>()?;
        Ok(Bisect { args, tree, files, knobs, took: Vec::new(), told: false })
    }

    fn run(&mut self) -> Result<ExitCode> {
        let [good, bad] = self.ends()?;
        let reference = self.good_records(&good)?;
        let records = match self.measure(&bad)? {
            Measured::Records(records) => records,
            Measured::Skipped(why) => {
                return Err(bad_input(format!("--bad {}: cannot be judged: {why}", bad.title)));
            }
        };
        let shut = self.gate(&reference, &records);
        if !shut.is_shut() {
            return Err(not_worse(&good, &bad, &shut));
        }
        show("bad", &bad, &verdict(&shut))?;
        self.search(&reference, good, bad, shut)
    }

    /// The two commits that the user names; both have the scheduler, and one contains the other.
    fn ends(&self) -> Result<[Commit; 2]> {
        let good = self.tree.commit("--good", &self.args.good)?;
        let bad = self.tree.commit("--bad", &self.args.bad)?;
        for (option, commit) in [("--good", &good), ("--bad", &bad)] {
            if let Some(absent) = self.absent(commit)? {
                let title = &commit.title;
                let message = format!("--file {absent}: not in {option} {title}");
                return Err(bad_input(format!(
                    "{message}; write a path that `git ls-files` shows"
                )));
            }
        }
        if good.hash == bad.hash {
            return Err(bad_input(format!("--good and --bad are the same commit, {}", good.title)));
        }
        if self.tree.contains(&good, &bad)? {
            return Ok([good, bad]);
        }
        let advice = if self.tree.contains(&bad, &good)? {
            "exchange them"
        } else {
            "write their common ancestor as --good: `git merge-base` prints it"
        };
        let (good, bad) = (good.title, bad.title);
        Err(bad_input(format!("--bad ({bad}) does not contain --good ({good}); {advice}")))
    }

    fn absent(&self, commit: &Commit) -> Result<Option<&String>> {
        for file in &self.files {
            if !self.tree.has(commit, file)? {
                return Ok(Some(file));
            }
        }
        Ok(None)
    }

    /// The records that all others are compared with: every trial has ended well.
    fn good_records(&mut self, good: &Commit) -> Result<Vec<Record>> {
        // Its errors are those of the options, too: nothing has run before.
        let planned = self.plan(good).map_err(|error| self.of_file(error, good))?;
        let records = self.trials(&planned)?;
        let Some(failed) = records.iter().find(|record| !record.outcome.is_ok()) else {
            show("good", good, "what the others are compared with")?;
            return Ok(records);
        };
        let (title, cell, word) =
            (&good.title, failed.trial.workload.cell(), failed.outcome.word());
        let reason = ui::first_line(failed.outcome.reason());
        Err(bad_input(format!(
            "--good {title}: it is bad already: {cell}: {word}: {reason}; name an earlier commit"
        )))
    }

    /// Halves the suspects until one is left, or only those that cannot be judged.
    fn search(
        &mut self,
        reference: &[Record],
        good: Commit,
        mut bad: Commit,
        mut shut: Gate,
    ) -> Result<ExitCode> {
        let (mut good, mut skipped) = (vec![good.hash], BTreeSet::new());
        loop {
            let suspects = self.tree.suspects(&good, &bad.hash)?;
            let mut rest = suspects.iter().filter(|hash| **hash != bad.hash);
            let Some(next) = rest.clone().find(|hash| !skipped.contains(*hash)) else {
                let unknown =
                    rest.map(|hash| self.tree.titled(hash)).collect::<Result<Vec<_>>>()?;
                return conclude(&bad, &unknown, &shut);
            };
            let left = rest.by_ref().filter(|hash| !skipped.contains(*hash)).count();
            self.announce(left);
            let commit = self.tree.titled(next)?;
            match self.measure(&commit)? {
                Measured::Skipped(why) => {
                    show("skip", &commit, &why)?;
                    skipped.insert(commit.hash);
                }
                Measured::Records(records) => {
                    let found = self.gate(reference, &records);
                    let is_bad = found.is_shut();
                    show(if is_bad { "bad" } else { "good" }, &commit, &verdict(&found))?;
                    if is_bad {
                        (bad, shut) = (commit, found);
                    } else {
                        good.push(commit.hash);
                    }
                }
            }
        }
    }

    /// How many commits are left, and how long that takes.
    fn announce(&self, left: usize) {
        let steps = left.ilog2() + 1;
        let average = self.took.iter().sum::<Duration>().checked_div(self.took.len() as u32);
        let time = average.map_or(String::new(), |each| format!(", {}", words(each * steps)));
        let (commits, noun) = (plural(left as u64, "commit"), plural(steps.into(), "step"));
        output::tell(format_args!("{left} {commits} left to test: about {steps} {noun}{time}"));
    }

    /// Measures a commit; what does not compile, or lacks the file, is skipped.
    fn measure(&mut self, commit: &Commit) -> Result<Measured> {
        if let Some(absent) = self.absent(commit)? {
            return Ok(Measured::Skipped(format!("it has no {absent}")));
        }
        let planned = match self.plan(commit) {
            Ok(planned) => planned,
            Err(error) if exit::code(&error) == exit::BAD_INPUT => {
                return Ok(Measured::Skipped(self.reason(&error)));
            }
            Err(error) => return Err(error),
        };
        let records = self.trials(&planned)?;
        let cannot = |record: &&Record| matches!(record.outcome, Outcome::Unsupported { .. });
        Ok(match records.iter().find(cannot) {
            Some(record) => Measured::Skipped(format!("unsupported: {}", record.outcome.reason())),
            None => Measured::Records(records),
        })
    }

    /// An error of the good commit's file, unless it is of the options.
    fn of_file(&self, error: Error, good: &Commit) -> Error {
        let is_of_file = format!("{error:#}").contains(&self.tree.folder().display().to_string());
        if exit::code(&error) != exit::BAD_INPUT || !is_of_file {
            return error;
        }
        bad_input(format!("--good {}: cannot be judged: {}", good.title, self.reason(&error)))
    }

    /// An error in one line, with paths as they are in the tree.
    fn reason(&self, error: &Error) -> String {
        let folder = format!("{}/", self.tree.folder().display());
        ui::first_line(&format!("{error:#}").replace(&folder, "")).to_owned()
    }

    /// The experiment with the commit's scheduler alone. Its path is the one in the tree, so that a
    /// trial is the same wherever and whenever it is planned.
    fn plan(&self, commit: &Commit) -> Result<PlannedExperiment> {
        self.tree.materialise(commit)?;
        let folder = self.tree.folder();
        let files: Vec<String> =
            self.files.iter().map(|file| folder.join(file).display().to_string()).collect();
        let mut options = self.args.experiment.clone();
        let over = &mut options.overrides;
        over.schedulers = vec![files.join("+") + &self.knobs];
        over.options_only = true;
        if over.on.is_empty() {
            over.on = vec![Backend::MODEL];
        }
        let mut planned = options.plan()?;
        prerequisites::check(&planned)?;
        planned.experiment.name += "-bisect";
        for contestant in &mut planned.experiment.contestants {
            if let SchedulerChoice::File { file, .. } = &mut contestant.scheduler {
                *file = self.files.join("+");
            }
        }
        Ok(planned.replanned())
    }

    /// Runs the trials that have no record yet; the records of all.
    fn trials(&mut self, planned: &PlannedExperiment) -> Result<Vec<Record>> {
        let began = Instant::now();
        let execution = self.args.execution.clone();
        let store = execution.store.clone();
        let ended = ui::watch(|hear| {
            let mut runner =
                CampaignRunner::new(RunOptions { resume: false, ..execution }, None, hear)?;
            runner.run(planned, Continues::Earlier, Remarks::Notes)
        })?;
        let Ended::Complete(session) = ended else {
            self.told = true;
            return Err(exit::Interrupted.into());
        };
        self.took.push(began.elapsed());
        Ok(Selection::session(&store, session).open()?.records)
    }

    fn gate(&self, good: &[Record], now: &[Record]) -> Gate {
        gate(good, now, self.args.margin)
    }
}

/// A commit and what was found.
fn show(word: &str, commit: &Commit, found: &str) -> Result<()> {
    output::print(&format!("{word:4}  {}: {found}\n", commit.title))
}

/// The first line of what the gate says, without its first word.
fn verdict(gate: &Gate) -> String {
    let text = gate_text::gate(gate);
    let first = ui::first_line(&text);
    first.split_once(": ").map_or(first, |(_, numbers)| numbers).to_owned()
}

fn not_worse(good: &Commit, bad: &Commit, gate: &Gate) -> Error {
    bad_input(format!(
        "--bad {}: it is not worse than --good {}: {}; name other commits, a workload that shows \
         the change, more --blocks or a smaller --margin",
        bad.title,
        good.title,
        verdict(gate)
    ))
}

/// The first bad commit, or those that it is among, and what is worse there than in the good one.
fn conclude(bad: &Commit, skipped: &[Commit], gate: &Gate) -> Result<ExitCode> {
    let mut text = format!("first bad commit: {}\n", bad.title);
    if !skipped.is_empty() {
        text = String::from(
            "first bad commit: one of these commits, of which only the last was judged\n",
        );
        let all = skipped.iter().rev().chain([bad]);
        all.for_each(|commit| text += &format!("  {}\n", commit.title));
    }
    let mut worse = gate.clone();
    worse.lines.retain(|line| line.change == Verdict::Worse);
    worse.one_sided.clear();
    let lines = gate_text::gate(&worse);
    text += lines.split_once('\n').map_or("", |(_, rest)| rest);
    output::print(&text)?;
    let code = if skipped.is_empty() { 0 } else { exit::UNSUPPORTED };
    Ok(ExitCode::from(code))
}
