// SPDX-License-Identifier: GPL-2.0-only
//! The steps of an answer: all candidates in the simulator, the finalists on a kernel.

use std::io::{self, IsTerminal};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use model::{Backend, Record};
use report::terminal::recommendation_text::{self, RecommendationContext};
use stats::Recommendation;
use stats::decide::recommend::Advice;
use vm::installed;

use super::Args;
use crate::advice::ask;
use crate::advice::finalists::{Finalists, Track};
use crate::advice::host::{self, Host};
use crate::advice::in_use::InUse;
use crate::advice::neighbours::{self, chosen};
use crate::advice::race::{self, EXACT, Race, Wish};
use crate::advice::told::{self, Place};
use crate::cmd::measured;
use crate::execution::locations::data_folder;
use crate::measure::{Blocks, Campaign, Comparing, JudgedBy, RunOptions};
use crate::{command_line, comparison, exit, output, times};
use spec::machine::HERE;

/// The time for the simulator, which needs only a few seconds.
const SIMULATED_S: u64 = 3 * 60;

/// The same on kernels, where every trial loads a scheduler and probes.
const ON_KERNELS_S: u64 = 15 * 60;

/// What is said above the simulator's answer.
const PREDICTION: &str = "A prediction by the simulator; no kernel was asked.";
const FIRST: &str = "Step 1 of 2, a prediction by the simulator:";

/// What the user wants to know.
pub struct Asked<'a> {
    pub args: &'a Args,
    pub host: &'a Host,
    /// The cares, by name or file.
    pub cares: Vec<String>,
}

/// A race that was run, and what follows from it.
pub struct Answer {
    race: Race,
    pub records: Vec<Record>,
    /// One for each contestant that stands for the scheduler in use.
    advice: Vec<Recommendation>,
    blocks: u32,
}

impl Asked<'_> {
    /// In the simulator, then on a kernel; `None` when the user has interrupted it.
    pub fn in_both(&self) -> Result<Option<Answer>> {
        let Some(predicted) = self.predict(FIRST)? else { return Ok(None) };
        let Some(second) = self.second_step(&predicted)? else { return Ok(Some(predicted)) };
        let mut answer = match self.confirm(&second, &predicted) {
            Ok(Some(answer)) => answer,
            Ok(None) => {
                output::tell("the prediction above is the answer until then");
                return Ok(None);
            }
            Err(refused) if exit::code(&refused) == exit::BAD_INPUT => {
                output::tell(format_args!("no kernel confirms the prediction: {refused:#}"));
                return Ok(Some(predicted));
            }
            Err(failed) => {
                output::tell("step 2 has failed; the prediction above stands");
                return Err(failed);
            }
        };
        answer.records.extend(predicted.records);
        Ok(Some(answer))
    }

    /// All candidates in the simulator.
    pub fn in_simulator(&self) -> Result<Option<Answer>> {
        self.predict(PREDICTION)
    }

    fn predict(&self, title: &str) -> Result<Option<Answer>> {
        let (machine, _) =
            host::machine_for(Backend::MODEL, self.args.machine.as_deref(), self.host)?;
        let wish = self.wish(Backend::MODEL, machine, self.args.schedulers.clone())?;
        wish.absent()?.into_iter().for_each(output::tell);
        let alone = self.args.budget.filter(|_| self.args.on.is_some());
        let budget = alone.unwrap_or(Duration::from_secs(SIMULATED_S));
        let began = Instant::now();
        let Some(answer) = self.run(&wish, budget)? else { return Ok(None) };
        let own = &answer.advice[0].advice;
        let left = budget.saturating_sub(began.elapsed() * 3);
        let stability = match own {
            Advice::Silent(_) => None,
            _ if left.is_zero() => Some(
                "not tried on neighbouring machines: no time was left; --on sim with a longer \
                 --budget has it"
                    .into(),
            ),
            _ => {
                let jobs = self.args.execution.jobs;
                let tried = neighbours::stability(&wish, self.host, own, jobs)?;
                let Some(tried) = tried else { return Ok(None) };
                Some(tried.words())
            }
        };
        let stable = stability.map(|words| ("how stable", words));
        self.print(title, &wish, &answer, None, stable)?;
        Ok(Some(answer))
    }

    /// All candidates on a kernel that the user has chosen.
    pub fn on_kernel(&self, on: Backend) -> Result<Option<Answer>> {
        let (machine, because) = host::machine_for(on, self.args.machine.as_deref(), self.host)?;
        let wish = self.wish(on, machine, self.args.schedulers.clone())?;
        wish.absent()?.into_iter().for_each(output::tell);
        let Some(answer) = self.run(&wish, self.budget())? else { return Ok(None) };
        self.print("", &wish, &answer, because, None)?;
        Ok(Some(answer))
    }

    /// The race of the finalists; `None` if there can be none here, which is said.
    fn second_step(&self, predicted: &Answer) -> Result<Option<Wish>> {
        let elsewhere = self.args.kernel.is_some()
            || self.args.machine.as_ref().is_some_and(|machine| machine != HERE);
        let live = !elsewhere && self.host.can_load() && self.agrees()?;
        let first = &predicted.race.planned.experiment.machines[0];
        let backend = if live { Backend::Live } else { Backend::Vm };
        let machine = if live {
            host::machine_for(backend, None, self.host)?.0
        } else {
            host::counted(first.cpus)?
        };
        let offline = self.args.execution.offline;
        if let Some(why) = host::why_no_boot(machine.cpus, offline).filter(|_| !live) {
            let live =
                if elsewhere { String::new() } else { format!("; {}", self.host.why_not_load()) };
            output::tell(format_args!("no kernel confirms the prediction: {why}{live}"));
            return Ok(None);
        }
        let mut wish = self.wish(backend, machine, Vec::new())?;
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        let jobs = self.args.execution.jobs.unwrap_or(cpus);
        let in_use = wish.in_use.options.len();
        let unpredicted = &if self.args.schedulers.is_empty() {
            wish.unpredicted(self.host)?
        } else {
            Vec::new()
        };
        let track = Track { backend, machine: &wish.machine, jobs, in_use, unpredicted };
        let advice = &predicted.advice[0];
        let finalists = track.finalists(&predicted.race, advice, &predicted.records, self.budget());
        if finalists.options.is_empty() {
            output::tell(self.no_finalists(&finalists));
            return Ok(None);
        }
        output::tell(self.announced(&wish, &finalists));
        wish.schedulers = finalists.options;
        Ok(Some(wish))
    }

    fn no_finalists(&self, finalists: &Finalists) -> String {
        if finalists.left_out.is_empty() {
            return "no kernel confirms the prediction: no candidate can race on one".into();
        }
        let least = (finalists.block * finalists.blocks).as_secs().div_ceil(60);
        format!(
            "no kernel confirms the prediction: that takes about {least} min, and the budget is \
             {}; write --budget {}m",
            times::words(self.budget()),
            least + 1
        )
    }

    /// What the second step will do, and how long it takes.
    fn announced(&self, wish: &Wish, finalists: &Finalists) -> String {
        let most = if wish.backend.uses_running_kernel() { u32::MAX } else { EXACT };
        let place = if wish.backend.uses_running_kernel() {
            "this kernel".to_owned()
        } else {
            format!("kernels in virtual machines ({})", Host::words(&wish.machine))
        };
        let left_out = match finalists.left_out.as_slice() {
            [] => String::new(),
            names => format!("; left out, because they do not fit: {}", names.join(", ")),
        };
        format!(
            "step 2 of 2: {} against {} on {place}, about {}{left_out}; Ctrl-C leaves the \
             prediction",
            finalists.options.join(", "),
            wish.in_use.options.join(" and "),
            times::words(finalists.takes(self.budget(), most)),
        )
    }

    /// The finalists on a kernel, whose answer counts.
    fn confirm(&self, wish: &Wish, predicted: &Answer) -> Result<Option<Answer>> {
        let Some(answer) = self.run(wish, self.budget())? else { return Ok(None) };
        let [first, own] = [predicted, &answer].map(|answer| &answer.advice[0]);
        let title = format!(
            "Step 2 of 2, measured on {}. This answer counts; {}",
            if wish.backend.uses_running_kernel() { "this kernel" } else { "kernels" },
            if agree(&first.advice, &own.advice) {
                "the prediction said the same.".to_owned()
            } else {
                format!("the prediction was: {}", recommendation_text::headline(first))
            }
        );
        self.print(&title, wish, &answer, None, None)?;
        Ok(Some(answer))
    }

    fn wish(
        &self,
        backend: Backend,
        machine: model::Machine,
        schedulers: Vec<String>,
    ) -> Result<Wish> {
        let Host { release, fair, .. } = self.host;
        let offline = self.args.execution.offline || installed::find("apt-get").is_none();
        let home = data_folder().ok();
        Ok(Wish {
            cares: self.cares.clone(),
            workloads: self.args.workloads.clone(),
            schedulers,
            machine,
            seed: self.args.seed,
            backend,
            in_use: InUse::of(backend, release, fair, home.as_deref(), offline)?,
        })
    }

    fn run(&self, wish: &Wish, budget: Duration) -> Result<Option<Answer>> {
        let race = wish.race(self.host)?;
        let Some(selection) = measured(campaign(&self.args.execution, &race, budget))? else {
            if self.args.cares.is_empty() && !wish.cares.is_empty() {
                output::tell(format_args!(
                    "or without questions: {} --resume",
                    self.repeat(wish, self.args.on)
                ));
            }
            return Ok(None);
        };
        let selected = selection.open()?;
        let blocks = selected.sessions.last().map_or(0, |session| session.experiment.blocks);
        let advice = selected.advice()?;
        Ok(Some(Answer { race, records: selected.records, advice, blocks }))
    }

    /// The answer against each contestant that stands for the scheduler in use, the others only if
    /// they say something else.
    fn print(
        &self,
        title: &str,
        wish: &Wish,
        answer: &Answer,
        because: Option<String>,
        note: Option<(&'static str, String)>,
    ) -> Result<()> {
        let (backend, blocks) = (wish.backend, answer.blocks);
        let place = Place { backend, blocks, because, stands_for: wish.in_use.stands_for.clone() };
        let cares = wish.read_cares()?;
        let first = &answer.advice[0];
        let other = |advised: &&Recommendation| !agree(&first.advice, &advised.advice);
        let shown: Vec<&Recommendation> =
            std::iter::once(first).chain(answer.advice.iter().filter(other)).collect();
        let mut text = String::new();
        if !title.is_empty() {
            text += &recommendation_text::paragraph(title);
        }
        for (at, advised) in shown.iter().enumerate() {
            let words = told::in_words(&answer.race, &cares, advised, self.host);
            let groups = comparison::leaves_groups(&answer.records).map(|said| ("groups", said));
            let notes = against_others(advised, &answer.advice).into_iter().chain(note.clone());
            let notes = notes.chain(groups);
            let is_last = title != FIRST && at + 1 == shown.len();
            let setting = RecommendationContext {
                measured: place.measured(&answer.race, self.host),
                notes: notes.chain([("in words", words)]).collect(),
                commands: if is_last { self.next_commands(wish) } else { Vec::new() },
                switch: told::switches(&answer.race, &advised.advice, self.host),
            };
            text += &recommendation_text::recommendation(advised, &setting);
            if !is_last {
                text.push('\n');
            }
        }
        output::print(&text)
    }

    /// Asks before schedulers are loaded on the kernel that people work on.
    fn agrees(&self) -> Result<bool> {
        if self.args.yes {
            return Ok(true);
        }
        if !io::stdin().is_terminal() {
            output::tell("step 2 would load schedulers on this kernel with --yes; without it, not");
            return Ok(false);
        }
        let question = format!(
            "Step 2 loads one scheduler after the other on this kernel, and keeps all CPUs busy \
             for {}. Now? (No: in virtual machines)",
            times::words(self.budget())
        );
        ask::agrees(&mut io::stdin().lock(), &mut io::stderr(), &question)
    }

    /// The time for a race on kernels.
    fn budget(&self) -> Duration {
        self.args.budget.unwrap_or(Duration::from_secs(ON_KERNELS_S))
    }

    fn next_commands(&self, wish: &Wish) -> Vec<(String, String)> {
        let store = command_line::quoted(&self.args.execution.store.display().to_string());
        let report = format!("fairground report {} --store {store} -o recommend.html", race::NAME);
        let mut commands = vec![
            ("The full report".into(), report),
            ("The same again".into(), self.repeat(wish, self.args.on)),
        ];
        if self.args.on.is_some_and(Backend::is_model) {
            commands.push(("A kernel's answer".into(), self.repeat(wish, None)));
        }
        commands
    }

    /// The command that runs the same on this backend, or in both steps, and asks nothing.
    fn repeat(&self, wish: &Wish, on: Option<Backend>) -> String {
        let args = self.args;
        let mut words = vec!["fairground".to_owned(), race::NAME.into()];
        let mut add = |option: &str, value: String| {
            words.extend([option.to_owned(), command_line::quoted(&value)])
        };
        self.cares.iter().for_each(|care| add("--care", care.clone()));
        args.workloads.iter().for_each(|workload| add("--workload", workload.clone()));
        on.iter().for_each(|on| add("--on", on.word().into()));
        let raced_on = Some(&wish.machine.name).filter(|name| on.is_some() && *name != HERE);
        let machine = args.machine.as_ref().or(raced_on);
        machine.into_iter().for_each(|machine| add("--machine", machine.clone()));
        args.kernel.iter().for_each(|kernel| add("--kernel", kernel.clone()));
        args.schedulers.iter().for_each(|scheduler| add("--scheduler", scheduler.clone()));
        args.budget.iter().for_each(|budget| add("--budget", time_words(*budget)));
        add("--seed", args.seed.to_string());
        add("--store", args.execution.store.display().to_string());
        if args.yes || args.on.is_none() {
            words.push("--yes".into());
        }
        words.join(" ")
    }
}

/// What the race says against the other contestants that stand for the scheduler in use.
fn against_others(
    advised: &Recommendation,
    all: &[Recommendation],
) -> Option<(&'static str, String)> {
    let others = all.iter().filter(|other| other.now != advised.now);
    let said: Vec<String> = others
        .map(|other| {
            let same = agree(&advised.advice, &other.advice);
            let word = if same { "the same" } else { "they disagree" };
            format!("{word}: {}", recommendation_text::headline(other))
        })
        .collect();
    (!said.is_empty()).then(|| ("the other", said.join(" ")))
}

/// Whether two answers can be followed at once: one's choice is among the best of the other.
fn agree(one: &Advice, other: &Advice) -> bool {
    match (one, other) {
        (Advice::Switch(ours), Advice::Switch(theirs)) => {
            theirs.contains(&ours[0]) || ours.contains(&theirs[0])
        }
        (Advice::Silent(_), _) | (_, Advice::Silent(_)) => false,
        _ => chosen(one) == chosen(other),
    }
}

fn campaign(execution: &RunOptions, race: &Race, budget: Duration) -> Campaign {
    let blocks = Blocks::Budget { time: budget, limits: Some(race.limits()) };
    let comparing = Comparing { blocks, aa_trials: true, effect_percent: None };
    Campaign {
        planned: race.planned.clone(),
        judged_by: JudgedBy::Comparison(comparing),
        execution: execution.clone(),
        fleet: None,
    }
}

/// The shortest text that [`times::parse`] reads back.
fn time_words(time: Duration) -> String {
    match time.as_secs() {
        hours if hours % 3600 == 0 => format!("{}h", hours / 3600),
        minutes if minutes % 60 == 0 => format!("{}m", minutes / 60),
        seconds => format!("{seconds}s"),
    }
}
