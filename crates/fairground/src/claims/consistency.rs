// SPDX-License-Identifier: GPL-2.0-only
//! The rules that a claim must obey, so that mistakes are found before anything runs.

mod beside;
mod expectation;
mod names;
mod originals;

use std::path::Path;

use model::claim::Test;
use model::{Backend, Claim, Experiment};

use crate::planned_experiment;
use spec::SpecError;
use spec::assets::{self, Kind};
use spec::experiment::placed;
use spec::source::Places;

/// An experiment on one backend, and the places for errors about it.
struct Asked<'a> {
    experiment: &'a Experiment,
    on: Backend,
    places: &'a Places,
}

/// Checks a claim and every experiment that it refers to, and fills in what a file may leave out.
///
/// # Errors
/// The first mistake, with its place and what to write instead.
pub fn claim(claim: &mut Claim, places: &Places, base: &Path) -> Result<(), SpecError> {
    let words =
        [("about", &claim.about), ("citation", &claim.citation), ("protocol", &claim.protocol)];
    if let Some((name, _)) = words.iter().find(|(_, text)| text.trim().is_empty()) {
        return Err(places.error(name, format!("'{name}' is empty")).hint("write a sentence"));
    }
    if claim.tests.is_empty() {
        let hint = "add a [[test]] with name, on and experiment, or not_testable";
        return Err(places.error("", "nothing tests the claim").hint(hint));
    }
    for index in 0..claim.tests.len() {
        let path = format!("test[{index}]");
        let (before, rest) = claim.tests.split_at_mut(index);
        name(&rest[0], before, &path, places)?;
        originals::place(&rest[0], before, &path, places)?;
        test(&mut rest[0], &path, places, base)?;
    }
    Ok(())
}

/// Names are unique, and can follow a colon on the command line.
fn name(test: &Test, before: &[Test], path: &str, places: &Places) -> Result<(), SpecError> {
    let path = format!("{path}.name");
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if test.name.is_empty() || !test.name.chars().all(letters) {
        let error = places.error(&path, format!("'{}' is no name for a test", test.name));
        return Err(error.hint("write letters, digits, '_' and '-', e.g. live_full"));
    }
    if before.iter().any(|earlier| earlier.name == test.name) {
        let error = places.error(&path, format!("a second test '{}'", test.name));
        return Err(error.hint("give each its own name"));
    }
    Ok(())
}

/// A test has an experiment or a reason, with the keys of either.
fn test(test: &mut Test, path: &str, places: &Places, base: &Path) -> Result<(), SpecError> {
    let error = |field: &str, text: &str, hint: &str| {
        Err(places.error(&format!("{path}.{field}"), text).hint(hint))
    };
    match (&test.experiment, &test.not_testable) {
        (Some(_), Some(_)) if !judges_nothing(test) => error(
            "not_testable",
            "both 'experiment' and 'not_testable'",
            "delete one: either it is tested here, or there is a reason why not",
        ),
        (None, None) => error(
            "name",
            "the test has no experiment",
            "add experiment = \"…\", or not_testable = \"the reason\"",
        ),
        (None, Some(reason)) if reason.trim().is_empty() => {
            error("not_testable", "the reason is empty", "say what this backend lacks")
        }
        (None, Some(_)) if !test.expect.is_empty() => error(
            "expect",
            "expectations of a test that cannot run",
            "delete them, or write experiment = \"…\" instead of not_testable",
        ),
        (None, Some(_)) if !test.because.is_empty() => error(
            "because",
            "evidence of a test that cannot run",
            "delete it, or write experiment = \"…\" instead of not_testable",
        ),
        (None, Some(_)) if !test.beside.is_empty() => error(
            "beside",
            "numbers of a test that cannot run",
            "delete them, or add experiment = \"…\" too",
        ),
        (None, Some(_)) => Ok(()),
        (Some(_), _) if test.command.is_some() => error(
            "command",
            "'command' is for what cannot be tested here",
            "delete the line: fairground knows how to run its experiments",
        ),
        (Some(_), None) if test.expect.is_empty() => {
            error("experiment", "the test expects nothing", "add a [[test.expect]]")
        }
        (Some(name), _) => {
            let name = located(name, &format!("{path}.experiment"), places, base)?;
            expectations(test, &name, path, places)?;
            test.experiment = Some(name);
            Ok(())
        }
    }
}

/// Whether a test only shows numbers next to published ones.
fn judges_nothing(test: &Test) -> bool {
    test.expect.is_empty() && test.because.is_empty() && !test.beside.is_empty()
}

/// An experiment's name, or its path as seen from here: files name paths relative to themselves.
fn located(name: &str, path: &str, places: &Places, base: &Path) -> Result<String, SpecError> {
    let found = assets::find(Kind::Experiment, name, base);
    let asset = found.map_err(|error| placed(error, name, places, path))?;
    Ok(if assets::is_path(name) { asset.label } else { name.to_owned() })
}

fn expectations(test: &mut Test, name: &str, path: &str, places: &Places) -> Result<(), SpecError> {
    let experiment = planned_experiment::experiment_on(name, test.on)?;
    let asked = Asked { experiment: &experiment, on: test.on, places };
    if test.originals {
        originals::contestants(path, &asked)?;
    }
    for (index, numbers) in test.beside.iter_mut().enumerate() {
        beside::check(numbers, &format!("{path}.beside[{index}]"), &asked)?;
    }
    for (index, expectation) in test.expect.iter_mut().enumerate() {
        expectation::check(expectation, &format!("{path}.expect[{index}]"), &asked)?;
    }
    for (index, evidence) in test.because.iter_mut().enumerate() {
        let path = format!("{path}.because[{index}]");
        if evidence.says.as_ref().is_none_or(|says| says.trim().is_empty()) {
            let error = places.error(&format!("{path}.says"), "the evidence has no sentence");
            return Err(error.hint("add says = \"…\": the sentence that the numbers support"));
        }
        expectation::check(evidence, &path, &asked)?;
    }
    Ok(())
}
