// SPDX-License-Identifier: GPL-2.0-only
//! Which claims are tested, by which of their tests, and the sessions that this needs.

use std::collections::{BTreeMap, BTreeSet};

use crate::execution::locations::data_folder;
use anyhow::Result;
use model::claim::{Source, Test};
use model::{Backend, Claim};
use report::replication::OTHERS_ASKED;

use super::definition;
use crate::command_line::quoted;
use crate::exit::bad_input;
use crate::planned_experiment::experiment_on;
use spec::assets::{self, Kind};
use spec::near;
use vm::kernels;

/// The claims that the command line chooses.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Names or files of claims, each with `:TEST` behind it for that test alone; empty: all.
    pub names: Vec<String>,
    /// Only claims of these sources; empty: of all.
    pub sources: Vec<Source>,
    /// Only tests on these backends; empty: on all.
    pub on: Vec<Backend>,
    /// Only tests that take minutes.
    pub quick: bool,
    /// Tests in the published size, too.
    pub full: bool,
    /// Only tests of originals.
    pub originals: bool,
}

/// A claim, and the decision for each of its tests.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The name or file that the user gave.
    pub name: String,
    pub claim: Claim,
    /// In the order of [`Claim::tests`].
    pub tests: Vec<Choice>,
}

/// The decision for a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    Run(Session),
    /// It does not, and why; and the command that runs it, if there is one.
    Leave(String, Option<String>),
}

/// An experiment on one backend: it runs once for all tests that need it. The simulator
/// comes first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Session {
    pub on: Backend,
    /// The experiment's name or file.
    pub experiment: String,
}

/// Reads the claims that are wanted.
///
/// # Errors
/// What is wrong with their files, unknown tests, and when nothing is left.
pub fn claims(wanted: &Wanted) -> Result<Vec<Chosen>> {
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut order = Vec::new();
    for text in &wanted.names {
        let (name, test) = split(text);
        if !named.contains_key(name) {
            order.push(name.to_owned());
        }
        named.entry(name.to_owned()).or_default().extend(test.map(str::to_owned));
    }
    if order.is_empty() {
        order = assets::names(Kind::Claim);
    }
    let mut chosen = Vec::new();
    for name in order {
        let claim = definition::read(&name)?;
        let tests = named.remove(&name).unwrap_or_default();
        known(&name, &claim, &tests)?;
        if is_wanted(&claim, wanted) {
            let choose = |test| choice(&name, test, &tests, wanted);
            let tests = claim.tests.iter().map(choose).collect();
            chosen.push(Chosen { name: name.clone(), claim, tests });
        }
    }
    if chosen.is_empty() {
        return Err(bad_input(format!(
            "no claim is chosen; `fairground list claims` shows them, and a file works too: {}",
            "fairground replicate ./mine.toml"
        )));
    }
    chosen.sort_by_key(|chosen| chosen.claim.source);
    Ok(chosen)
}

/// Whether the options that choose among all claims choose this one.
fn is_wanted(claim: &Claim, wanted: &Wanted) -> bool {
    let of_source = wanted.sources.is_empty() || wanted.sources.contains(&claim.source);
    of_source && (!wanted.originals || claim.tests.iter().any(|test| test.originals))
}

/// A claim's name or file, and the test behind the colon.
fn split(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((name, test)) if !test.contains(['/', '.']) => (name, Some(test)),
        _ => (text, None),
    }
}

fn known(name: &str, claim: &Claim, tests: &BTreeSet<String>) -> Result<()> {
    let names: Vec<&str> = claim.tests.iter().map(|test| test.name.as_str()).collect();
    let Some(wrong) = tests.iter().find(|test| !names.contains(&test.as_str())) else {
        return Ok(());
    };
    let close = near(wrong, names.iter().copied());
    let hint = match close.first() {
        Some(close) => format!("did you mean '{name}:{close}'?"),
        None => format!("it has {}", names.join(", ")),
    };
    Err(bad_input(format!("{name}:{wrong}: the claim has no such test; {hint}")))
}

/// The command that runs one test of a claim.
pub fn command(name: &str, test: &Test) -> String {
    format!("fairground replicate {}", quoted(&format!("{name}:{}", test.name)))
}

fn choice(name: &str, test: &Test, named: &BTreeSet<String>, wanted: &Wanted) -> Choice {
    let leave = |why: &str| Choice::Leave(why.into(), Some(command(name, test)));
    if wanted.originals && !test.originals {
        return leave(OTHERS_ASKED[2]);
    }
    let Some(experiment) = &test.experiment else {
        let why = test.not_testable.clone().unwrap_or_default();
        return Choice::Leave(why, test.command.clone());
    };
    let is_named = named.contains(&test.name);
    if !named.is_empty() && !is_named {
        return leave(OTHERS_ASKED[0]);
    }
    if !wanted.on.is_empty() && !wanted.on.contains(&test.on) {
        return leave(OTHERS_ASKED[1]);
    }
    if wanted.quick && !test.on.is_model() {
        return leave("--quick asks the simulator only");
    }
    if test.full && !wanted.full && !is_named {
        return leave("the published size takes long, and runs only when it is asked for");
    }
    let session = Session { on: test.on, experiment: experiment.clone() };
    match kernels_to_build(&session) {
        Some(why) => Choice::Leave(why, None),
        None => Choice::Run(session),
    }
}

/// Every session that the tests need, once, with the claims that need it.
pub fn sessions(chosen: &[Chosen]) -> BTreeMap<Session, Vec<String>> {
    let mut sessions: BTreeMap<Session, Vec<String>> = BTreeMap::new();
    for claim in chosen {
        for choice in &claim.tests {
            if let Choice::Run(session) = choice {
                let claims = sessions.entry(session.clone()).or_default();
                if claims.last() != Some(&claim.claim.id) {
                    claims.push(claim.claim.id.clone());
                }
            }
        }
    }
    sessions
}

/// Why a session cannot run because nobody has built its kernels yet, and what to do. Other kernels
/// are downloaded when they are missing; these take their user an hour. `None` also where this
/// cannot be told: what is wrong with the folder of kernels is said when one is to be booted.
fn kernels_to_build(session: &Session) -> Option<String> {
    if !session.on.boots_kernels() {
        return None;
    }
    let experiment = experiment_on(&session.experiment, session.on).ok()?;
    let named = experiment.contestants.iter().filter_map(|one| one.kernel.as_deref());
    let own: BTreeSet<&str> = named.filter(|kernel| kernels::is_usable_name(kernel)).collect();
    let built = match data_folder() {
        _ if own.is_empty() => return None,
        Ok(home) => kernels::list(&home).ok()?,
        Err(_) => Vec::new(),
    };
    let is_here = |name: &&str| built.iter().any(|kernel| kernel.is_named && kernel.name == *name);
    let missing: Vec<&str> = own.into_iter().filter(|name| !is_here(name)).collect();
    let first = missing.first()?;
    let noun = report::units::plural(missing.len() as u64, "kernel");
    Some(format!("needs {noun} {}: fairground kernel build {first}", missing.join(", ")))
}
