// SPDX-License-Identifier: GPL-2.0-only
//! Measures, contestants, cells and machines that an expectation may name.

use model::MeasureKey;
use model::metric::{MEASURES, measure};
use model::{Machine, Workload};

use super::Asked;
use spec::SpecError;
use spec::capability;
use spec::experiment::matches;
use spec::source::unknown_name;

/// The measure that a text names.
pub fn key(text: &str, path: &str, asked: &Asked<'_>) -> Result<MeasureKey, SpecError> {
    let fail = |message: String| asked.places.error(path, message);
    let key: MeasureKey = text.parse().map_err(|error| fail(format!("'{text}': {error}")))?;
    let Some(known) = measure(&key.name) else {
        let names: Vec<&str> = MEASURES.iter().map(|measure| measure.name).collect();
        return Err(unknown_name(asked.places, path, "measure", &key.name, &names));
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
pub fn group(
    key: &MeasureKey,
    workload: &Workload,
    path: &str,
    asked: &Asked<'_>,
) -> Result<(), SpecError> {
    let names = workload.tasks.iter().map(|task| task.name.as_str());
    let totals = workload.totals.iter().map(|total| total.name.as_str());
    let names: Vec<&str> = std::iter::once("all").chain(names).chain(totals).collect();
    if workload.program.is_some() || names.contains(&key.group.as_str()) {
        return Ok(());
    }
    Err(unknown_name(asked.places, path, "group", &key.group, &names))
}

/// The cell that a text means, or the only one.
pub fn cell<'a>(
    text: Option<&str>,
    path: &str,
    asked: &Asked<'a>,
) -> Result<&'a Workload, SpecError> {
    let all = &asked.experiment.workloads;
    let names: Vec<String> = all.iter().map(Workload::cell).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let Some(text) = text else {
        return match all.as_slice() {
            [only] => Ok(only),
            _ => Err(which(path, "cell", &names, asked)),
        };
    };
    let found: Vec<&Workload> = all.iter().filter(|cell| matches(text, cell)).collect();
    match found.as_slice() {
        [only] => Ok(only),
        [] => Err(unknown_name(asked.places, path, "cell", text, &names)),
        several => {
            let names: Vec<String> = several.iter().map(|cell| cell.cell()).collect();
            let error = asked.places.error(path, format!("'{text}' means {} cells", names.len()));
            Err(error.hint(format!("name one: '{}'", names.join("', '"))))
        }
    }
}

/// The machine of that name, or the only one.
pub fn machine<'a>(
    text: Option<&str>,
    path: &str,
    asked: &Asked<'a>,
) -> Result<&'a Machine, SpecError> {
    let has = |machine: &&Machine| asked.experiment.has(asked.on, machine);
    let all: Vec<&Machine> = asked.experiment.machines.iter().filter(has).collect();
    let names: Vec<&str> = all.iter().map(|machine| machine.name.as_str()).collect();
    match (text, all.as_slice()) {
        (None, [only]) => Ok(only),
        (None, _) => Err(which(path, "machine", &names, asked)),
        (Some(text), all) => all
            .iter()
            .find(|machine| machine.name == text)
            .copied()
            .ok_or_else(|| unknown_name(asked.places, path, "machine", text, &names)),
    }
}

/// The contestant must be one of the experiment's, and run in the cell on the backend.
pub fn contestant(
    name: &str,
    workload: &Workload,
    path: &str,
    asked: &Asked<'_>,
) -> Result<(), SpecError> {
    let all = &asked.experiment.contestants;
    let Some(contestant) = all.iter().find(|contestant| contestant.name == name) else {
        let names: Vec<&str> = all.iter().map(|contestant| contestant.name.as_str()).collect();
        return Err(unknown_name(asked.places, path, "contestant", name, &names));
    };
    match capability::why_not(asked.on, contestant, workload) {
        None => Ok(()),
        Some(reason) => {
            let hint = "name another contestant, or write another backend in the test's on";
            Err(asked.places.error(path, reason).hint(hint))
        }
    }
}

fn which(path: &str, noun: &str, names: &[&str], asked: &Asked<'_>) -> SpecError {
    let message = format!("no {noun} is named, and the experiment has {}", names.len());
    let error = asked.places.error(path, message);
    error.hint(format!("add {noun} = \"…\": '{}'", names.join("', '")))
}
