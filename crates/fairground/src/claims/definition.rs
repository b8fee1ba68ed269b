// SPDX-License-Identifier: GPL-2.0-only
//! A claim's file → [`model::Claim`]. What it names must exist in its experiments, and cells and
//! machines are written out in full.

use std::path::Path;

use model::claim::{By, Is, Test};
use model::metric::{MEASURES, measure};
use model::{Backend, Claim, Expectation, Experiment, Machine, Workload};
use spec::assets::{self, Kind};
use spec::experiment::{matches, placed};
use spec::source::{Document, Places, unknown_name};
use spec::{SpecError, capability};
use stats::MeasureKey;

use crate::planned_experiment::experiment_on;

pub fn read(name: &str) -> Result<Claim, SpecError> {
    let asset = assets::find(Kind::Claim, name, Path::new(""))?;
    let mut document = Document::parse(&asset.label, &asset.text)?;
    document.set_name(&asset.stem)?;
    let mut claim: Claim = document.read()?;
    let places = &document.places;
    if claim.tests.is_empty() {
        let hint = "add a [[test]] with name, on and experiment, or not_testable";
        return Err(places.error("", "nothing tests the claim").hint(hint));
    }
    for index in 0..claim.tests.len() {
        let path = format!("test[{index}]");
        let (before, rest) = claim.tests.split_at_mut(index);
        let test = &mut rest[0];
        if before.iter().any(|earlier| earlier.name == test.name) {
            let message = format!("a second test '{}'", test.name);
            let error = places.error(&format!("{path}.name"), message);
            return Err(error.hint("give each its own name"));
        }
        check_test(test, &path, places, &asset.base)?;
    }
    Ok(claim)
}

/// A test has an experiment with expectations, or a reason why there is none.
fn check_test(test: &mut Test, path: &str, places: &Places, base: &Path) -> Result<(), SpecError> {
    let at = |field: &str| format!("{path}.{field}");
    let error =
        |field: &str, text: &str, hint: &str| Err(places.error(&at(field), text).hint(hint));
    let name = match (&test.experiment, &test.not_testable) {
        (None, None) => {
            let hint = "add experiment = \"…\", or not_testable = \"the reason\"";
            return error("name", "the test has no experiment", hint);
        }
        (None, Some(_)) if !test.expect.is_empty() => {
            let hint = "delete them, or write experiment = \"…\" instead of not_testable";
            return error("expect", "expectations of a test that cannot run", hint);
        }
        (None, Some(_)) => return Ok(()),
        (Some(_), _) if test.expect.is_empty() => {
            return error("experiment", "the test expects nothing", "add a [[test.expect]]");
        }
        (Some(name), _) => name,
    };
    let found = assets::find(Kind::Experiment, name, base);
    let asset = found.map_err(|error| placed(error, name, places, &at("experiment")))?;
    let name = if assets::is_path(name) { asset.label } else { name.clone() };
    let experiment = experiment_on(&name, test.on)?;
    test.experiment = Some(name);
    let asked = ExperimentView { experiment: &experiment, on: test.on, places };
    for (index, expectation) in test.expect.iter_mut().enumerate() {
        asked.complete(expectation, &at(&format!("expect[{index}]")))?;
    }
    for (index, evidence) in test.because.iter_mut().enumerate() {
        asked.complete(evidence, &at(&format!("because[{index}]")))?;
    }
    Ok(())
}

/// An experiment on one backend, and the places for errors about it.
struct ExperimentView<'a> {
    experiment: &'a Experiment,
    on: Backend,
    places: &'a Places,
}

impl<'a> ExperimentView<'a> {
    /// Checks an expectation, and writes its cells and machines out in full.
    fn complete(&self, expectation: &mut Expectation, path: &str) -> Result<(), SpecError> {
        let at = |field: &str| format!("{path}.{field}");
        let key = self.measure(&expectation.measure, &at("measure"))?;
        let cell = self.cell(expectation.cell.as_deref(), &at("cell"))?;
        let machine = self.machine(expectation.machine.as_deref(), &at("machine"))?;
        self.group(&key, cell, &at("measure"))?;
        self.contestant(&expectation.of, cell, &at("of"))?;
        let mut over_cell = cell;
        if let Some(text) = &expectation.over_cell {
            over_cell = self.cell(Some(text), &at("over_cell"))?;
            expectation.over_cell = Some(over_cell.cell());
        }
        if let Some(text) = &expectation.over_machine {
            self.machine(Some(text), &at("over_machine"))?;
        }
        let over = expectation.over.as_ref().unwrap_or(&expectation.of);
        self.contestant(over, over_cell, &at("over"))?;
        expectation.measure = key.to_string();
        expectation.cell = Some(cell.cell());
        expectation.machine = Some(machine.name.clone());
        self.rule(expectation, path)
    }

    /// The rule can hold and can fail.
    fn rule(&self, expectation: &Expectation, path: &str) -> Result<(), SpecError> {
        let is_alone = expectation.other().is_none();
        let is_equal = expectation.is == Is::Equal;
        let is_ordered = |ends: &Vec<f64>| matches!(ends[..], [low, high] if low <= high);
        let mistakes = [
            (
                expectation.by == By::Value && !is_alone,
                "by",
                "by = \"value\" looks at one side alone",
                "delete over and its like, or write by = \"ratio\" or \"difference\"",
            ),
            (
                expectation.by != By::Value && is_alone,
                "of",
                "there is nothing to compare it with",
                "add over = \"…\", over_cell or over_machine; or by = \"value\" and than",
            ),
            (
                is_equal && expectation.size.is_none(),
                "is",
                "'equal' needs a size",
                "add size = [0.98, 1.02]: from where to where both count as equal",
            ),
            (
                !is_equal && expectation.neutral().is_none(),
                "is",
                "'more' and 'less' need a number to compare with",
                "add than = …, in the measure's unit",
            ),
            (
                !expectation.size.as_ref().is_none_or(is_ordered),
                "size",
                "size is not two numbers in ascending order",
                "write e.g. [1.05, 4.0]; inf has no end",
            ),
        ];
        match mistakes.into_iter().find(|(is_made, ..)| *is_made) {
            Some((_, field, text, hint)) => {
                Err(self.places.error(&format!("{path}.{field}"), text).hint(hint))
            }
            None => Ok(()),
        }
    }

    fn measure(&self, text: &str, path: &str) -> Result<MeasureKey, SpecError> {
        let fail = |message: String| self.places.error(path, message);
        let key: MeasureKey = text.parse().map_err(|error| fail(format!("'{text}': {error}")))?;
        let Some(known) = measure(&key.name) else {
            let names: Vec<&str> = MEASURES.iter().map(|measure| measure.name).collect();
            return Err(unknown_name(self.places, path, "measure", &key.name, &names));
        };
        match (known.distribution, key.statistic) {
            (true, None) => Err(fail(format!("'{}' is a distribution", key.name))
                .hint(format!("write which number of it, e.g. {}.p99 {}", key.name, key.group))),
            (false, Some(_)) => Err(fail(format!("'{}' is one number", key.name))
                .hint(format!("write {} {}", key.name, key.group))),
            _ => Ok(key),
        }
    }

    /// The group must be one of the workload's; a real program has what its parser finds.
    fn group(&self, key: &MeasureKey, workload: &Workload, path: &str) -> Result<(), SpecError> {
        let names = workload.tasks.iter().map(|task| task.name.as_str());
        let totals = workload.totals.iter().map(|total| total.name.as_str());
        let names: Vec<&str> = std::iter::once("all").chain(names).chain(totals).collect();
        if workload.program.is_some() || names.contains(&key.group.as_str()) {
            return Ok(());
        }
        Err(unknown_name(self.places, path, "group", &key.group, &names))
    }

    /// The cell that a text means, or the only one.
    fn cell(&self, text: Option<&str>, path: &str) -> Result<&'a Workload, SpecError> {
        let all = &self.experiment.workloads;
        let names: Vec<String> = all.iter().map(Workload::cell).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let Some(text) = text else {
            let [only] = all.as_slice() else { return Err(self.unnamed("cell", path, &names)) };
            return Ok(only);
        };
        let found: Vec<&Workload> = all.iter().filter(|cell| matches(text, cell)).collect();
        match found.as_slice() {
            [only] => Ok(only),
            [] => Err(unknown_name(self.places, path, "cell", text, &names)),
            several => {
                let names: Vec<String> = several.iter().map(|cell| cell.cell()).collect();
                let message = format!("'{text}' means {} cells", names.len());
                let hint = format!("name one: '{}'", names.join("', '"));
                Err(self.places.error(path, message).hint(hint))
            }
        }
    }

    fn machine(&self, text: Option<&str>, path: &str) -> Result<&'a Machine, SpecError> {
        let has = |machine: &&Machine| self.experiment.has(self.on, machine);
        let all: Vec<&Machine> = self.experiment.machines.iter().filter(has).collect();
        let names: Vec<&str> = all.iter().map(|machine| machine.name.as_str()).collect();
        match (text, all.as_slice()) {
            (None, [only]) => Ok(only),
            (None, _) => Err(self.unnamed("machine", path, &names)),
            (Some(text), all) => {
                let found = all.iter().find(|machine| machine.name == text).copied();
                found.ok_or_else(|| unknown_name(self.places, path, "machine", text, &names))
            }
        }
    }

    /// The contestant must be one of the experiment's, and run in the cell on the backend.
    fn contestant(&self, name: &str, workload: &Workload, path: &str) -> Result<(), SpecError> {
        let all = &self.experiment.contestants;
        let Some(contestant) = all.iter().find(|contestant| contestant.name == name) else {
            let names: Vec<&str> = all.iter().map(|contestant| contestant.name.as_str()).collect();
            return Err(unknown_name(self.places, path, "contestant", name, &names));
        };
        let Some(reason) = capability::why_not(self.on, contestant, workload) else {
            return Ok(());
        };
        let hint = "name another contestant, or write another backend in the test's on";
        Err(self.places.error(path, reason).hint(hint))
    }

    fn unnamed(&self, noun: &str, path: &str, names: &[&str]) -> SpecError {
        let message = format!("no {noun} is named, and the experiment has {}", names.len());
        let hint = format!("add {noun} = \"…\": '{}'", names.join("', '"));
        self.places.error(path, message).hint(hint)
    }
}

#[cfg(test)]
mod tests {
    //! Good and bad claims, in `tests/claims`.

    use std::fs;

    use serde::Deserialize;

    use super::*;

    /// A small good claim; tests break one line of it.
    const GOOD: &str = include_str!("../../tests/claims/good.toml");
    const EXPERIMENT: &str = include_str!("../../tests/claims/x.toml");
    const BAD: &str = include_str!("../../tests/claims/bad.toml");

    #[derive(Deserialize)]
    struct Mistakes {
        bad: Vec<Mistake>,
    }

    #[derive(Deserialize)]
    struct Mistake {
        old: String,
        new: String,
        says: String,
    }

    /// Reads a claim's file beside its experiment's; the folder's name is cut out of messages.
    fn claim(text: &str) -> Result<Claim, SpecError> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x.toml"), EXPERIMENT).unwrap();
        let file = folder.path().join("claim.toml");
        fs::write(&file, text).unwrap();
        let cut = format!("{}/", folder.path().display());
        read(&file.display().to_string())
            .map_err(|error| SpecError { file: error.file.replace(&cut, ""), ..error })
    }

    #[test]
    fn a_good_claim_names_its_cell_and_machine_in_full() {
        let claim = claim(GOOD).unwrap();
        assert_eq!((claim.id.as_str(), claim.tests.len()), ("claim", 2));
        let expected = &claim.tests[0].expect[0];
        assert_eq!(expected.cell.as_deref(), Some("wake_under_hogs duration_ms=400 hogs=3"));
        assert_eq!(expected.machine.as_deref(), Some("uniprocessor"));
        assert_eq!(expected.ends(), Some((0.01, 0.9)));
    }

    #[test]
    fn a_mistake_is_refused_at_its_line() {
        for Mistake { old, new, says } in toml::from_str::<Mistakes>(BAD).unwrap().bad {
            assert!(GOOD.contains(&old), "{old}");
            let error = claim(&GOOD.replacen(&old, &new, 1)).expect_err(&says).to_string();
            // The list of known experiments is long: the beginning of a message is enough.
            assert!(error.starts_with(&says), "{error}\n{says}");
        }
    }
}
