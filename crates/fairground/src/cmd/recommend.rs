// SPDX-License-Identifier: GPL-2.0-only
//! `fairground recommend`: what somebody cares about → a race on this machine → which scheduler to
//! use, with the evidence, or that it makes no measurable difference.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use model::{Backend, Record};
use report::terminal::recommend::Setting;
use stats::recommend::{Advice, recommend};
use store::Store;

use super::run::{self, Ended};
use crate::assets::{self, Kind};
use crate::exit::{self, bad_input};
use crate::home;
use crate::output;
use crate::question::{On, host_cpus};
use crate::recommend::host::{self, Host};
use crate::recommend::race::{self, Race, Wish};
use crate::recommend::{ask, switch};
use crate::records::Chosen;
use crate::spec::care::{self, Care};
use crate::spec::machine::HERE;
use crate::{summary, words};

/// More blocks than these show nothing that matters.
const BLOCKS_MAX: u32 = 12;

/// Options of `recommend`.
#[derive(clap::Args)]
pub struct Args {
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
    /// The machine that it is for, instead of this one: NAME or FILE
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// Consider these instead of those that the cares name
    #[arg(long = "scheduler", value_name = "SCHEDULER")]
    schedulers: Vec<String>,
    /// How long it may take: 90s, 5m, 1h
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = time)]
    budget: Duration,
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
    let host = host::look()?;
    let elsewhere = args.machine.as_ref().is_some_and(|machine| machine != HERE);
    let (backend, why) = host.backend(args.on, elsewhere)?;
    let cares = cares(&args)?;
    agree(&args, backend)?;
    let wish = Wish {
        cares,
        workloads: args.workloads.clone(),
        schedulers: args.schedulers.clone(),
        machine: args.machine.clone(),
        seed: args.seed,
        backend,
    };
    let blocks = match blocks(&args, &wish, &host)? {
        Ok(blocks) => blocks,
        Err(interrupted) => return Ok(interrupted),
    };
    let race = wish.race(&host, blocks)?;
    let session = match run::measure(&measuring(&args), race.asked.clone())? {
        Ended::Session(id) => id,
        Ended::Interrupted(code) => return Ok(code),
    };
    let (sessions, records) = Chosen::session(args.store.clone(), session).open()?;
    let comparison = summary::compare(&sessions, &records, None)?;
    let recommendation = recommend(&records, &comparison, &race.aims, &race.easy);
    let setting = setting(&args, &wish, &race, &host, why);
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
fn cares(args: &Args) -> Result<Vec<Care>> {
    let read = |name: &String| care::read(name, Path::new(""), host_cpus());
    let names = match (args.cares.is_empty(), args.workloads.is_empty()) {
        (false, _) => args.cares.clone(),
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
fn agree(args: &Args, backend: Backend) -> Result<()> {
    if backend != Backend::Live || args.on.is_some() || args.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(bad_input(
            "this would load schedulers on the kernel that runs here; write --on live if it may, \
             or --on sim",
        ));
    }
    let question = "This loads one scheduler after the other on this kernel, under full load. Now?";
    match ask::agrees(&mut io::stdin().lock(), &mut io::stderr(), question)? {
        true => Ok(()),
        false => Err(bad_input("then write --on sim: the simulator touches nothing")),
    }
}

fn measuring(args: &Args) -> run::Args {
    let mut question = crate::question::Question::default();
    question.exploratory = true;
    run::Args {
        question,
        resume: args.resume,
        store: args.store.clone(),
        jobs: None,
        offline: args.offline,
    }
}

/// How many blocks fit into the budget, by what one of them takes; the error is the exit code of
/// somebody who did not wait. That block is thrown away: the number is fixed before anything that
/// counts is seen.
fn blocks(args: &Args, wish: &Wish, host: &Host) -> Result<Result<u32, ExitCode>> {
    if let Some(blocks) = resumed(args)? {
        return Ok(Ok(blocks));
    }
    let began = Instant::now();
    let folder = tempfile::tempdir()?;
    let trial = run::Args { store: folder.path().join("pilot.db"), ..measuring(args) };
    output::tell("one round first, to see how long a round takes");
    if let Ended::Interrupted(code) = run::measure(&trial, wish.race(host, 1)?.asked)? {
        return Ok(Err(code));
    }
    let (one, left) = (began.elapsed().as_secs_f64(), args.budget.as_secs_f64());
    let fit = ((left - one) / one).floor().clamp(0.0, f64::from(BLOCKS_MAX)) as u32;
    let needed = stats::verdict::RUNS_NEEDED as u32;
    if fit >= needed {
        return Ok(Ok(fit));
    }
    let minutes = (one * f64::from(needed + 1) / 60.0).ceil();
    Err(bad_input(format!(
        "--budget: a round takes {one:.0} s, and fewer than {needed} prove nothing; write --budget \
         {minutes}m, or name fewer candidates by --scheduler"
    )))
}

/// The number of blocks of the race that is gone on with.
fn resumed(args: &Args) -> Result<Option<u32>> {
    if !args.resume {
        return Ok(None);
    }
    let mut sessions = Store::open_readonly(&args.store)?.sessions()?;
    sessions.retain(|one| one.experiment.name == race::NAME && one.origin.is_none());
    Ok(sessions.last().map(|session| session.experiment.blocks))
}

fn setting(args: &Args, wish: &Wish, race: &Race, host: &Host, why: Option<String>) -> Setting {
    let experiment = &race.asked.experiment;
    let machine = &experiment.machines[0];
    let blocks = experiment.blocks;
    let (machine, release) = (Host::words(machine), &host.release);
    let because = why.map(|why| format!(", because {why}")).unwrap_or_default();
    let place = match wish.backend {
        Backend::Live => format!("{blocks} rounds on this kernel, Linux {release}"),
        Backend::Vm => format!(
            "{blocks} rounds on kernels of their own in virtual machines, not on Linux {release}; \
             {machine}"
        ),
        _ => format!("{blocks} rounds in the simulator{because}; {machine}"),
    };
    let meaning = match wish.backend {
        Backend::Sim => Some(
            format!(
                "These are predictions by a model of such a machine, and {} is the file that is \
                 written after this kernel's own scheduler. METHOD.md says how far they are from \
                 kernels: near on one CPU, far on more. Intervals say how much the answer depends \
                 on arrivals, not what the model has wrong.",
                experiment.baseline
            ),
        ),
        _ => None,
    };
    let store = words::quoted(&args.store.display().to_string());
    let report = format!("fairground report {} --store {store} -o recommend.html", race::NAME);
    let commands = vec![
        ("The full report".into(), report),
        ("The same again".into(), repeat(args, wish)),
    ];
    let measured = std::iter::once(place + ".").chain(meaning).collect();
    Setting { measured, commands, ..Setting::default() }
}

/// The command that asks the same without asking anybody.
fn repeat(args: &Args, wish: &Wish) -> String {
    let (on, named) = (wish.backend.word(), &args.cares);
    let mut words = vec!["fairground".to_owned(), race::NAME.into()];
    let mut add = |option: &str, value: String| words.extend([option.to_owned(), words::quoted(&value)]);
    for (care, at) in wish.cares.iter().zip(0..) {
        add("--care", named.get(at).unwrap_or(&care.name).clone());
    }
    args.workloads.iter().for_each(|load| add("--workload", load.clone()));
    add("--on", on.into());
    args.machine.iter().for_each(|machine| add("--machine", machine.clone()));
    args.schedulers.iter().for_each(|scheduler| add("--scheduler", scheduler.clone()));
    add("--budget", time_words(args.budget));
    add("--seed", args.seed.to_string());
    add("--store", args.store.display().to_string());
    words.join(" ")
}

/// How to switch to those that are recommended.
fn switches(race: &Race, advice: &Advice, host: &Host) -> std::collections::BTreeMap<String, Vec<String>> {
    let Advice::Switch(names) = advice else { return Default::default() };
    let contestants = race.asked.experiment.contestants.iter();
    let wanted = contestants.filter(|one| names.contains(&one.name));
    wanted.map(|one| (one.name.clone(), switch::lines(one, host))).collect()
}

/// The shortest that [`time`] reads back.
fn time_words(time: Duration) -> String {
    match time.as_secs() {
        hours if hours % 3600 == 0 => format!("{}h", hours / 3600),
        minutes if minutes % 60 == 0 => format!("{}m", minutes / 60),
        seconds => format!("{seconds}s"),
    }
}

/// `90s`, `5m` or `1h`.
fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is no time; write e.g. 90s, 5m or 1h");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        _ => return Err(wrong()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    match number.checked_mul(seconds).filter(|seconds| (1..=86_400 * 7).contains(seconds)) {
        Some(seconds) => Ok(Duration::from_secs(seconds)),
        None => Err(wrong()),
    }
}
