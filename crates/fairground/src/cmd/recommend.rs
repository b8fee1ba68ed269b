// SPDX-License-Identifier: GPL-2.0-only
//! `fairground recommend`: what somebody cares about → a race on this machine → which scheduler to
//! use, with the evidence, or that it makes no measurable difference.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use model::{Backend, Clock, Record};
use report::terminal::recommend::Setting;
use stats::decide::recommend::{Advice, recommend};
use stats::decide::verdict::RUNS_NEEDED;
use stats::rank::holm;

use super::run::{self, Ended};
use crate::design::duration;
use crate::exit::{self, bad_input};
use crate::home;
use crate::output;
use crate::question::{On, Question, host_cpus};
use crate::recommend::host::{self, Host};
use crate::recommend::race::{self, Race, Wish};
use crate::recommend::{ask, place, switch};
use crate::records::Chosen;
use crate::{summary, words};
use spec::assets::{self, Kind};
use spec::care::{self, Care};
use spec::machine::{self, HERE};

/// How many blocks are enough where numbers are exact: more of them show nothing that matters.
const EXACT: u32 = 12;

/// How long it may take where nobody says, seconds: the simulator answers in a few.
const SIMULATED_S: u64 = 3 * 60;

/// The same on kernels. Every trial loads a scheduler and probes.
const ON_KERNELS_S: u64 = 15 * 60;

/// Options of `recommend`.
#[derive(clap::Args)]
pub struct Args {
    /// A word without an option, which is told how to be written.
    #[arg(hide = true)]
    words: Vec<String>,
    /// What matters to you, the most important first: see `list cares`; FILE.toml for one of your
    /// own
    #[arg(long = "care", value_name = "NAME", value_delimiter = ',')]
    cares: Vec<String>,
    /// Judge by this load of yours, too: NAME, FILE, 'NAME parameter=value'; its headline decides
    #[arg(long = "workload", value_name = "WORKLOAD")]
    workloads: Vec<String>,
    /// Who answers: live where schedulers can be loaded here, else the simulator
    #[arg(long, value_enum, value_name = "BACKEND")]
    on: Option<On>,
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
    /// The only source of chance
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Where the records go
    #[arg(long, value_name = "FILE", default_value = home::STORE)]
    store: PathBuf,
    /// Run only the trials that the last such race has left
    #[arg(long)]
    resume: bool,
    /// Never download a kernel
    #[arg(long)]
    offline: bool,
    /// Ask nothing; what no option says is as usual
    #[arg(long)]
    yes: bool,
}

/// Asks what was not said, races, and says which scheduler to use.
///
/// # Errors
/// When an option is wrong or missing where nobody can be asked; when the lab fails.
pub fn run(args: Args) -> Result<ExitCode> {
    if let Some(word) = args.words.first() {
        return Err(bad_input(format!(
            "{word}: what matters is named by an option: --care {word}"
        )));
    }
    let host = host::look()?;
    let elsewhere = args.machine.as_ref().is_some_and(|machine| machine != HERE);
    let (backend, why) = host.backend(args.on, elsewhere)?;
    let (machine, otherwise) = place::machine(backend, args.machine.as_deref())?;
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
    let session = match run::measure(&measuring(&args, &race, budget), race.asked.clone())? {
        Ended::Session(id) => id,
        Ended::Interrupted(code) => {
            if args.cares.is_empty() && !wish.cares.is_empty() {
                output::tell(format_args!("or unasked: {} --resume", repeat(&args, &wish)));
            }
            return Ok(code);
        }
    };
    let (sessions, records) = Chosen::session(args.store.clone(), session).open()?;
    let comparison = summary::compare(&sessions, &records, None)?;
    let recommendation = recommend(&records, &comparison, &race.aims, &race.easy);
    let blocks = sessions.last().map_or(0, |session| session.experiment.blocks);
    let setting = setting((&args, &wish), &race, &host, (blocks, why.or(otherwise)));
    let setting = Setting { switch: switches(&race, &recommendation.advice, &host), ..setting };
    output::print(&report::terminal::recommend::recommendation(&recommendation, &setting))?;
    Ok(exit_code(&records))
}

fn exit_code(records: &[Record]) -> ExitCode {
    match records.iter().all(|record| record.outcome.is_ok()) {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(exit::MISBEHAVED),
    }
}

/// What matters: as the options say, or as somebody at the terminal answers.
fn cares(args: &Args, cpus: u32) -> Result<Vec<Care>> {
    let read = |name: &String| care::read(name, Path::new(""), cpus);
    let names = match (args.cares.is_empty(), args.workloads.is_empty()) {
        (false, _) => {
            let given = args.cares.iter().map(|name| name.trim());
            given.filter(|name| !name.is_empty()).map(str::to_owned).collect()
        }
        (true, false) => Vec::new(),
        (true, true) if args.yes => vec![ask::USUAL.to_owned()],
        (true, true) if io::stdin().is_terminal() => {
            let known = assets::names(Kind::Care);
            let known: Vec<Care> = known.iter().map(read).collect::<Result<_, _>>()?;
            ask::cares(&mut io::stdin().lock(), &mut io::stderr(), &known)?
        }
        (true, true) => {
            let known = assets::names(Kind::Care).join(", ");
            return Err(bad_input(format!(
                "nobody at a terminal can be asked what matters; write --care NAME ({known}), or \
                 --workload NAME for a load of your own"
            )));
        }
    };
    if names.is_empty() && args.workloads.is_empty() {
        let known = assets::names(Kind::Care).join(", ");
        return Err(bad_input(format!("--care: which? known are {known}")));
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

/// Schedulers are loaded on a kernel that people work on only if they agree.
fn agree(args: &Args, backend: Backend, budget: Duration) -> Result<()> {
    if backend != Backend::Live || args.on.is_some() || args.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(bad_input(
            "this would load schedulers on the kernel that runs here; write --on live if it may, \
             or --on sim",
        ));
    }
    let question = format!(
        "This loads one scheduler after the other on this kernel, under full load, for {}. Now?",
        duration::words(budget)
    );
    match ask::agrees(&mut io::stdin().lock(), &mut io::stderr(), &question)? {
        true => Ok(()),
        false => Err(bad_input("then write --on sim: the simulator touches nothing")),
    }
}

fn budget(args: &Args, backend: Backend) -> Duration {
    let usual = if backend == Backend::Sim { SIMULATED_S } else { ON_KERNELS_S };
    args.budget.unwrap_or(Duration::from_secs(usual))
}

fn measuring(args: &Args, race: &Race, budget: Duration) -> run::Args {
    run::Args {
        question: Question::default(),
        resume: args.resume,
        store: args.store.clone(),
        jobs: None,
        offline: args.offline,
        budget: Some(budget),
        until: None,
        effect: None,
        no_aa: false,
        blocks: Some(blocks(race)),
    }
}

/// What is needed to say anything of so many candidates, all aims in one family; and what is enough
/// where it takes no time to speak of, so that the answer does not depend on how fast this is.
fn blocks(race: &Race) -> (u32, u32) {
    let comparisons = (race.asked.experiment.contestants.len() - 1) * race.aims.len();
    let needed = holm::units_needed(comparisons).max(RUNS_NEEDED) as u32;
    let exact = race.asked.trials.iter().all(|trial| trial.clock() == Clock::Virtual);
    (needed, if exact { EXACT.max(needed) } else { u32::MAX })
}

fn setting(
    (args, wish): (&Args, &Wish),
    race: &Race,
    host: &Host,
    (blocks, why): (u32, Option<String>),
) -> Setting {
    let experiment = &race.asked.experiment;
    let clock = experiment.machines[0].clock;
    let (machine, release) = (Host::words(&experiment.machines[0]), &host.release);
    let because = why.map(|why| format!(", because {why}")).unwrap_or_default();
    let place = match wish.backend {
        Backend::Live => format!("{blocks} rounds on this kernel, Linux {release}"),
        Backend::Vm => format!(
            "{blocks} rounds on kernels of their own in virtual machines, not on Linux \
             {release}{because}; {machine}"
        ),
        _ => format!("{blocks} rounds in the simulator{because}; {machine}"),
    };
    let meaning = match wish.backend {
        Backend::Sim => Some(format!(
            "These are predictions by a model of such a machine, and {} is the file that is \
                 written after this kernel's own scheduler. METHOD.md says how far they are from \
                 kernels: near on one CPU, far on more. Intervals say how much the answer depends \
                 on arrivals, not what the model has wrong.",
            experiment.baseline
        )),
        Backend::Vm if clock == Clock::Virtual => Some(
            "Its CPU takes 1 ns for each instruction. That is exact, and the same everywhere; but \
             it has no caches, and no other CPU to go to. Intervals say how much the answer \
             depends on arrivals."
                .into(),
        ),
        Backend::Live if !host.can_load() => {
            Some(format!("What must be loaded was left out: {}.", host.why_not_load()))
        }
        _ => None,
    };
    let store = words::quoted(&args.store.display().to_string());
    let report = format!("fairground report {} --store {store} -o recommend.html", race::NAME);
    let commands =
        vec![("The full report".into(), report), ("The same again".into(), repeat(args, wish))];
    let measured = std::iter::once(place + ".").chain(meaning).collect();
    Setting { measured, commands, ..Setting::default() }
}

/// The command that asks the same without asking anybody.
fn repeat(args: &Args, wish: &Wish) -> String {
    let answered = wish.cares.iter().map(|care| care.name.clone()).collect();
    let cares = if args.cares.is_empty() { answered } else { args.cares.clone() };
    let mut words = vec!["fairground".to_owned(), race::NAME.into()];
    let mut add =
        |option: &str, value: String| words.extend([option.to_owned(), words::quoted(&value)]);
    cares.into_iter().for_each(|care| add("--care", care));
    args.workloads.iter().for_each(|load| add("--workload", load.clone()));
    add("--on", wish.backend.word().into());
    wish.machine.iter().for_each(|machine| add("--machine", machine.clone()));
    args.schedulers.iter().for_each(|scheduler| add("--scheduler", scheduler.clone()));
    add("--budget", time_words(budget(args, wish.backend)));
    add("--seed", args.seed.to_string());
    add("--store", args.store.display().to_string());
    words.join(" ")
}

/// How to switch to those that are recommended.
fn switches(
    race: &Race,
    advice: &Advice,
    host: &Host,
) -> std::collections::BTreeMap<String, Vec<String>> {
    let Advice::Switch(names) = advice else { return Default::default() };
    let contestants = race.asked.experiment.contestants.iter();
    let wanted = contestants.filter(|one| names.contains(&one.name));
    wanted.map(|one| (one.name.clone(), switch::lines(one, host))).collect()
}

/// The shortest that [`duration::parse`] reads back.
fn time_words(time: Duration) -> String {
    match time.as_secs() {
        hours if hours % 3600 == 0 => format!("{}h", hours / 3600),
        minutes if minutes % 60 == 0 => format!("{}m", minutes / 60),
        seconds => format!("{seconds}s"),
    }
}
