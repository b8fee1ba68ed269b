// SPDX-License-Identifier: GPL-2.0-only
//! `fairground recommend`: what a user cares about → a race on this machine → which scheduler to
//! use, with the evidence, or that it makes no measurable difference.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use model::{Backend, Clock};
use report::terminal::recommendation_text::RecommendationContext;
use stats::decide::recommend::{Advice, recommend};
use stats::number::interval::TRIALS_NEEDED;
use stats::rank::holm;

use super::measured;
use crate::advice::host::{self, Host};
use crate::advice::race::{self, Race, Wish};
use crate::advice::{ask, commands};
use crate::exit::{self, bad_input};
use crate::measure::{Blocks, Campaign, Comparing, Execution, JudgedBy};
use crate::planned_experiment::host_cpus;
use crate::{command_line, duration, output};
use spec::assets::{self, Kind};
use spec::care::{self, Care};
use spec::machine::{self, HERE};

/// How many blocks are enough where numbers are exact: more of them show no other difference.
const EXACT: u32 = 12;

/// The default of `--budget` in the simulator, seconds; it needs only a few.
const SIMULATED_S: u64 = 3 * 60;

/// The same on kernels, where every trial loads a scheduler and probes.
const ON_KERNELS_S: u64 = 15 * 60;

#[derive(clap::Args)]
pub struct Args {
    /// Words without an option, for an error that shows the option.
    #[arg(hide = true)]
    words: Vec<String>,
    /// What matters to you, the most important first: see `list cares`; FILE.toml for one of your
    /// own
    #[arg(long = "care", value_name = "NAME", value_delimiter = ',')]
    cares: Vec<String>,
    /// Judge by this workload of yours, too: NAME, FILE, 'NAME parameter=value'; its headline
    /// measure decides
    #[arg(long = "workload", value_name = "WORKLOAD")]
    workloads: Vec<String>,
    /// Where to run [default: live if schedulers can be loaded here, else sim]
    #[arg(long, value_parser = spec::backend_parser(), value_name = "BACKEND")]
    on: Option<Backend>,
    /// The machine that it is for, instead of this one: NAME or FILE; in virtual machines without
    /// KVM it is one CPU in virtual time
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// Consider these instead of those that the cares name
    #[arg(long = "scheduler", value_name = "SCHEDULER")]
    schedulers: Vec<String>,
    /// How long it may take: 90s, 10m, 2h [default: 3m in the simulator, 15m on kernels]
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    budget: Option<Duration>,
    /// The only source of randomness
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    execution: Execution,
    /// Ask nothing, and use defaults for what no option says
    #[arg(long)]
    yes: bool,
}

/// Asks for what no option says, runs the race, and says which scheduler to use.
pub fn run(args: Args) -> Result<ExitCode> {
    if let Some(word) = args.words.first() {
        return Err(bad_input(format!(
            "{word}: what matters is named by an option: --care {word}"
        )));
    }
    let host = host::this_machine()?;
    let elsewhere = args.machine.as_ref().is_some_and(|machine| machine != HERE);
    let (backend, why) = host.backend(args.on, elsewhere)?;
    let (machine, otherwise) = host::machine_for(backend, args.machine.as_deref())?;
    let cpus = machine::load(&machine, Path::new(""), host_cpus())?.cpus;
    let cares = cares(&args, cpus)?;
    let budget = budget(&args, backend);
    agree(&args, backend, budget)?;
    let wish = Wish {
        cares,
        workloads: args.workloads.clone(),
        schedulers: args.schedulers.clone(),
        machine: args.machine.clone().or((machine != HERE).then_some(machine)),
        seed: args.seed,
        backend,
    };
    let race = wish.race(&host)?;
    let campaign = campaign(&args, &race, budget);
    let Some(selection) = measured(campaign)? else {
        if args.cares.is_empty() && !wish.cares.is_empty() {
            output::tell(format_args!("or without questions: {} --resume", repeat(&args, &wish)));
        }
        return Ok(exit::interrupted());
    };
    let selected = selection.open()?;
    let comparison = selected.compare(None)?;
    let recommendation = recommend(&selected.records, &comparison, &race.aims, &race.easy);
    let blocks = selected.sessions.last().map_or(0, |session| session.experiment.blocks);
    let setting = RecommendationContext {
        measured: measured_where(
            &race,
            &host,
            &Place { backend, blocks, because: why.or(otherwise) },
        ),
        commands: next_commands(&args, &wish),
        switch: switches(&race, &recommendation.advice, &host),
    };
    output::print(&report::terminal::recommendation_text::recommendation(
        &recommendation,
        &setting,
    ))?;
    Ok(exit::of_records(&selected.records))
}

/// What matters: as the options say, or as the user answers at the terminal.
fn cares(args: &Args, cpus: u32) -> Result<Vec<Care>> {
    let read = |name: &String| Ok(care::read(name, Path::new(""), cpus)?);
    let names = care_names(args, &read)?;
    if names.is_empty() && args.workloads.is_empty() {
        let known = assets::names(Kind::Care).join(", ");
        return Err(bad_input(format!("--care: name what matters; known are {known}")));
    }
    if names.is_empty() && args.schedulers.is_empty() {
        return Err(bad_input(
            "--workload without --care names no candidates; add --scheduler NAME, or --care NAME",
        ));
    }
    let mut cares: Vec<Care> = Vec::new();
    for name in &names {
        let care = read(name)?;
        if cares.iter().all(|known| known.name != care.name) {
            cares.push(care);
        }
    }
    Ok(cares)
}

/// The names of the cares; empty if a workload is named alone.
fn care_names(args: &Args, read: &dyn Fn(&String) -> Result<Care>) -> Result<Vec<String>> {
    if !args.cares.is_empty() {
        let given = args.cares.iter().map(|name| name.trim());
        return Ok(given.filter(|name| !name.is_empty()).map(str::to_owned).collect());
    }
    if !args.workloads.is_empty() {
        return Ok(Vec::new());
    }
    if args.yes {
        return Ok(vec![ask::USUAL.to_owned()]);
    }
    let known = assets::names(Kind::Care);
    if io::stdin().is_terminal() {
        let known: Vec<Care> = known.iter().map(read).collect::<Result<_>>()?;
        return ask::cares(&mut io::stdin().lock(), &mut io::stderr(), &known);
    }
    Err(bad_input(format!(
        "there is no terminal to ask what matters; write --care NAME ({}), or --workload NAME \
         for a workload of your own",
        known.join(", ")
    )))
}

/// Asks before schedulers are loaded on the kernel that people work on.
fn agree(args: &Args, backend: Backend, budget: Duration) -> Result<()> {
    if !backend.uses_running_kernel() || args.on.is_some() || args.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(bad_input(
            "this would load schedulers on the kernel that runs here; write --on live if it may, \
             or --on sim",
        ));
    }
    let question = format!(
        "This loads one scheduler after the other on this kernel, and keeps all CPUs busy for {}. \
         Now?",
        duration::words(budget)
    );
    if ask::agrees(&mut io::stdin().lock(), &mut io::stderr(), &question)? {
        return Ok(());
    }
    Err(bad_input(
        "nothing was loaded; write --on sim for an answer that changes nothing on this machine",
    ))
}

fn budget(args: &Args, backend: Backend) -> Duration {
    let usual = if backend.is_model() { SIMULATED_S } else { ON_KERNELS_S };
    args.budget.unwrap_or(Duration::from_secs(usual))
}

fn campaign(args: &Args, race: &Race, budget: Duration) -> Campaign {
    let blocks = Blocks::Budget { time: budget, limits: Some(limits(race)) };
    let comparing = Comparing { blocks, aa_trials: true, effect_percent: None };
    Campaign {
        planned: race.planned.clone(),
        judged_by: JudgedBy::Comparison(comparing),
        execution: args.execution.clone(),
        fleet: None,
    }
}

/// The fewest blocks that can show a difference between this many candidates, all aims in one
/// family; and the most that are wanted: where numbers are exact a few are enough, so that the
/// answer does not depend on the speed of this machine.
fn limits(race: &Race) -> (u32, u32) {
    let comparisons = (race.planned.experiment.contestants.len() - 1) * race.aims.len();
    let needed = holm::units_needed(comparisons).max(TRIALS_NEEDED) as u32;
    let exact = race.planned.trials.iter().all(|trial| trial.clock() == Clock::Virtual);
    (needed, if exact { EXACT.max(needed) } else { u32::MAX })
}

struct Place {
    backend: Backend,
    blocks: u32,
    /// Why not on this kernel and this machine, if the user did not choose.
    because: Option<String>,
}

/// What was measured and where, and how far it can be trusted.
fn measured_where(race: &Race, host: &Host, place: &Place) -> Vec<String> {
    let experiment = &race.planned.experiment;
    let (machine, release) = (Host::words(&experiment.machines[0]), &host.release);
    let because = place.because.as_ref().map(|why| format!(", because {why}")).unwrap_or_default();
    let blocks = place.blocks;
    let first = if place.backend.uses_running_kernel() {
        format!("{blocks} blocks on this kernel, Linux {release}.")
    } else if place.backend.boots_kernels() {
        format!(
            "{blocks} blocks on kernels of their own in virtual machines, not on Linux \
             {release}{because}; {machine}."
        )
    } else {
        format!("{blocks} blocks in {}{because}; {machine}.", place.backend.noun())
    };
    std::iter::once(first).chain(caveat(race, host, place.backend)).collect()
}

/// What a reader must know about numbers of this backend.
fn caveat(race: &Race, host: &Host, backend: Backend) -> Option<String> {
    let experiment = &race.planned.experiment;
    match backend {
        _ if backend.is_model() => Some(format!(
            "These are predictions by a model of such a machine, and {} is the file that \
             reimplements this kernel's own scheduler. METHOD.md says how far they are from \
             kernels. Intervals say how much the answer depends on arrivals, not how wrong the \
             model is.",
            experiment.baseline
        )),
        _ if backend.clock(&experiment.machines[0]) == Clock::Virtual => Some(
            "Its CPU takes 1 ns for each instruction. That is exact, and the same everywhere; but \
             it has no caches, and there is no other CPU. Intervals say how much the answer \
             depends on arrivals."
                .into(),
        ),
        _ if backend.uses_running_kernel() && !host.can_load() => {
            Some(format!("Schedulers that must be loaded were left out: {}.", host.why_not_load()))
        }
        _ => None,
    }
}

fn next_commands(args: &Args, wish: &Wish) -> Vec<(String, String)> {
    let store = command_line::quoted(&args.execution.store.display().to_string());
    let report = format!("fairground report {} --store {store} -o recommend.html", race::NAME);
    vec![("The full report".into(), report), ("The same again".into(), repeat(args, wish))]
}

/// The command that runs the same race and asks nothing.
fn repeat(args: &Args, wish: &Wish) -> String {
    let answered = wish.cares.iter().map(|care| care.name.clone()).collect();
    let cares = if args.cares.is_empty() { answered } else { args.cares.clone() };
    let mut words = vec!["fairground".to_owned(), race::NAME.into()];
    let mut add = |option: &str, value: String| {
        words.extend([option.to_owned(), command_line::quoted(&value)])
    };
    cares.into_iter().for_each(|care| add("--care", care));
    args.workloads.iter().for_each(|workload| add("--workload", workload.clone()));
    add("--on", wish.backend.word().into());
    wish.machine.iter().for_each(|machine| add("--machine", machine.clone()));
    args.schedulers.iter().for_each(|scheduler| add("--scheduler", scheduler.clone()));
    add("--budget", time_words(budget(args, wish.backend)));
    add("--seed", args.seed.to_string());
    add("--store", args.execution.store.display().to_string());
    words.join(" ")
}

fn switches(race: &Race, advice: &Advice, host: &Host) -> BTreeMap<String, Vec<String>> {
    let Advice::Switch(names) = advice else { return Default::default() };
    let contestants = race.planned.experiment.contestants.iter();
    let wanted = contestants.filter(|contestant| names.contains(&contestant.name));
    wanted.map(|contestant| (contestant.name.clone(), commands::switch(contestant, host))).collect()
}

/// The shortest text that [`duration::parse`] reads back.
fn time_words(time: Duration) -> String {
    match time.as_secs() {
        hours if hours % 3600 == 0 => format!("{}h", hours / 3600),
        minutes if minutes % 60 == 0 => format!("{}m", minutes / 60),
        seconds => format!("{seconds}s"),
    }
}
