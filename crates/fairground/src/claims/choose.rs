// SPDX-License-Identifier: GPL-2.0-only
//! Which claims are tested, by which of their tests, the experiments that this needs, and the
//! verdict that their records give.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use model::claim::Test;
use model::{Backend, Claim, Expectation, Record, Seed};
use report::replication::{Judged, Tested};
use spec::assets::{self, Kind};
use spec::{Overrides, near};
use stats::decide::replication::{Finding, Reproduction, judge, of_test};

use super::definition;
use crate::command_line::quoted;
use crate::execution::locations::data_folder;
use crate::exit::bad_input;
use crate::planned_experiment::{PlannedExperiment, experiment_on};

#[derive(clap::Args, Clone, Debug, Default)]
pub struct Wanted {
    /// Claims by name or file, NAME:TEST for one test of a claim; all without it
    #[arg(value_name = "CLAIM")]
    names: Vec<String>,
    /// Only tests on this backend: sim, vm or live; or on several: sim,vm
    #[arg(long, value_parser = spec::backend_parser(), hide_possible_values = true)]
    #[arg(value_name = "BACKEND", value_delimiter = ',')]
    on: Vec<Backend>,
    /// Use only the simulator, and no more blocks than an interval needs: minutes
    #[arg(long, conflicts_with = "on")]
    pub quick: bool,
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    Run(TestedExperiment),
    /// The user has asked for others, and how: its command runs it.
    Unwanted(String),
    /// It cannot run here or takes too long, and why; and the command that runs it, if any.
    Leave(String, Option<String>),
}

/// An experiment on one backend: it runs once for all tests that need it. The simulator comes
/// first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TestedExperiment {
    pub on: Backend,
    /// The experiment's name or file.
    pub name: String,
}

pub fn claims(wanted: &Wanted) -> Result<Vec<Chosen>> {
    let mut names: Vec<(String, BTreeSet<&str>)> = Vec::new();
    for text in &wanted.names {
        let (name, test) = split(text);
        match names.iter_mut().find(|(known, _)| known == name) {
            Some((_, tests)) => tests.extend(test),
            None => names.push((name.to_owned(), test.into_iter().collect())),
        }
    }
    if names.is_empty() {
        let builtin = assets::builtin_names(Kind::Claim).into_iter();
        names = builtin.map(|name| (name, BTreeSet::new())).collect();
    }
    let mut chosen = Vec::new();
    for (name, tests) in names {
        let claim = definition::read(&name)?;
        refuse_unknown(&name, &claim, &tests)?;
        let tests = claim.tests.iter().map(|test| wanted.choice(&name, test, &tests)).collect();
        chosen.push(Chosen { name, claim, tests });
    }
    chosen.sort_by(|one, other| one.claim.source.cmp(&other.claim.source));
    Ok(chosen)
}

/// A claim's name or file, and the test behind the colon.
fn split(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((name, test)) if !test.contains(['/', '.']) => (name, Some(test)),
        _ => (text, None),
    }
}

fn refuse_unknown(name: &str, claim: &Claim, tests: &BTreeSet<&str>) -> Result<()> {
    let names: Vec<&str> = claim.tests.iter().map(|test| test.name.as_str()).collect();
    let Some(wrong) = tests.iter().find(|test| !names.contains(test)) else { return Ok(()) };
    let hint = match near(wrong, names.iter().copied()).first() {
        Some(close) => format!("did you mean '{name}:{close}'?"),
        None => format!("it has {}", names.join(", ")),
    };
    Err(bad_input(format!("{name}:{wrong}: the claim has no such test; {hint}")))
}

pub fn command(name: &str, test: &Test) -> String {
    format!("fairground replicate {}", quoted(&format!("{name}:{}", test.name)))
}

impl Wanted {
    fn choice(&self, name: &str, test: &Test, named: &BTreeSet<&str>) -> Choice {
        let leave = |why: &str| Choice::Leave(why.into(), Some(command(name, test)));
        let Some(experiment) = &test.experiment else {
            let why = test.not_testable.clone().unwrap_or_default();
            return Choice::Leave(why, test.command.clone());
        };
        let is_named = named.contains(test.name.as_str());
        if !named.is_empty() && !is_named {
            return Choice::Unwanted("another test was asked for".into());
        }
        if !self.on.is_empty() && !self.on.contains(&test.on) {
            return Choice::Unwanted("another backend was asked for".into());
        }
        if self.quick && !test.on.is_model() {
            return leave("--quick asks the simulator only");
        }
        if test.full && !is_named {
            return leave("the published size takes long, and runs only when it is asked for");
        }
        let experiment = TestedExperiment { on: test.on, name: experiment.clone() };
        match kernels_to_build(&experiment).or_else(|| not_on_this_kernel(&experiment)) {
            Some(why) => Choice::Leave(why, None),
            None => Choice::Run(experiment),
        }
    }
}

/// Every experiment that the tests need, once, with the claims that need it.
pub fn experiments(chosen: &[Chosen]) -> BTreeMap<TestedExperiment, Vec<String>> {
    let mut experiments: BTreeMap<TestedExperiment, Vec<String>> = BTreeMap::new();
    for Chosen { claim, tests, .. } in chosen {
        for choice in tests {
            if let Choice::Run(experiment) = choice {
                let claims = experiments.entry(experiment.clone()).or_default();
                if claims.last() != Some(&claim.id) {
                    claims.push(claim.id.clone());
                }
            }
        }
    }
    experiments
}

/// Why an experiment cannot run on this kernel.
fn not_on_this_kernel(experiment: &TestedExperiment) -> Option<String> {
    if !experiment.on.uses_running_kernel() {
        return None;
    }
    let overrides = Overrides { on: vec![experiment.on], ..Overrides::default() };
    let planned = PlannedExperiment::read(Some(&experiment.name), &overrides, Seed(0));
    planned.err().map(|error| error.to_string())
}

/// Why an experiment cannot run because nobody has built its kernels yet, and what to do. Other
/// kernels are downloaded when they are missing; these take their user an hour. `None` also where
/// this cannot be told: what is wrong with the folder of kernels is said when one is to be booted.
fn kernels_to_build(experiment: &TestedExperiment) -> Option<String> {
    if !experiment.on.boots_kernels() {
        return None;
    }
    let experiment = experiment_on(&experiment.name, experiment.on).ok()?;
    let contestants = experiment.contestants.iter();
    let named = contestants.filter_map(|contestant| contestant.kernel.as_deref());
    let own: BTreeSet<&str> = named.filter(|kernel| vm::kernels::is_usable_name(kernel)).collect();
    if own.is_empty() {
        return None;
    }
    let built = match data_folder() {
        Ok(home) => vm::kernels::list(&home).ok()?,
        Err(_) => Vec::new(),
    };
    let is_here = |name: &&str| built.iter().any(|kernel| kernel.is_named && kernel.name == *name);
    let missing: Vec<&str> = own.into_iter().filter(|name| !is_here(name)).collect();
    let first = missing.first()?;
    let noun = report::units::plural(missing.len() as u64, "kernel");
    Some(format!("needs {noun} {}: fairground kernel build {first}", missing.join(", ")))
}

/// The records of each experiment, or why there are none.
pub type Answers = BTreeMap<TestedExperiment, Result<Vec<Record>, String>>;

pub fn judged(chosen: Chosen, answers: &Answers) -> Judged {
    let Chosen { name, claim, tests: choices } = chosen;
    let tests = claim.tests.iter().zip(choices);
    let tests = tests.map(|(test, choice)| tested(&name, test, choice, answers)).collect();
    Judged::new(claim, tests)
}

fn tested(name: &str, test: &Test, choice: Choice, answers: &Answers) -> Tested {
    let mut tested = Tested {
        test: test.clone(),
        verdict: Reproduction::Untested,
        expect: Vec::new(),
        because: Vec::new(),
        why: test.not_testable.clone(),
        command: None,
        is_unwanted: matches!(choice, Choice::Unwanted(_)),
    };
    let experiment = match choice {
        Choice::Leave(why, command) => return Tested { why: Some(why), command, ..tested },
        Choice::Unwanted(why) => {
            let command = Some(command(name, test));
            return Tested { why: Some(why), command, ..tested };
        }
        Choice::Run(experiment) => experiment,
    };
    let records = match &answers[&experiment] {
        Ok(records) => records,
        Err(why) => {
            return Tested { verdict: Reproduction::NoData, why: Some(why.clone()), ..tested };
        }
    };
    let judged = |expectations: &[Expectation]| -> Vec<Finding> {
        expectations.iter().map(|expectation| judge(expectation, test.on, records)).collect()
    };
    tested.expect = judged(&test.expect);
    tested.because = judged(&test.because);
    tested.verdict = of_test(&tested.expect);
    if tested.verdict == Reproduction::Untested && !records.is_empty() {
        // This machine cannot run it; another one may.
        tested.command = Some(command(name, test));
    }
    tested
}

/// The releases of the kernels that the records are from.
pub fn kernels<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<String> {
    let records = records.filter(|record| !record.trial.backend.is_model());
    let releases = records.map(|record| record.provenance.kernel_release.clone());
    let mut releases: Vec<String> = releases.filter(|release| !release.is_empty()).collect();
    releases.sort();
    releases.dedup();
    releases
}
