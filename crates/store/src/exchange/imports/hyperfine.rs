// SPDX-License-Identifier: GPL-2.0-only
//! `hyperfine --export-json`: each time is a trial; one that ended with an error has failed.

use model::Outcome;
use serde::Deserialize;

use super::{Fault, ImportedTrial};

/// Whether a text looks like it.
pub fn is(text: &str) -> bool {
    ["\"results\"", "\"command\"", "\"mean\""].iter().all(|key| text.contains(key))
}

#[derive(Deserialize)]
struct HyperfineExport {
    results: Vec<Command>,
}

#[derive(Deserialize)]
struct Command {
    command: String,
    #[serde(default)]
    times: Option<Vec<f64>>,
    /// `null` means killed by a signal. Old versions have no exit codes.
    #[serde(default)]
    exit_codes: Option<Vec<Option<i32>>>,
}

/// See the module.
pub fn read(content: &str) -> Result<Vec<ImportedTrial>, Fault> {
    let document: HyperfineExport = serde_json::from_str(content)?;
    let trials = document.results.iter().map(trials).collect::<Result<Vec<_>, _>>()?;
    Ok(trials.into_iter().flatten().collect())
}

fn trials(command: &Command) -> Result<Vec<ImportedTrial>, Fault> {
    let name = &command.command;
    let times = command.times.as_ref().filter(|times| !times.is_empty());
    let times =
        times.ok_or_else(|| format!("`{name}` has no `times`, and a mean alone proves nothing"))?;
    let codes = command.exit_codes.as_deref();
    if codes.is_some_and(|codes| codes.len() != times.len()) {
        return Err(format!("`{name}` has not as many `exit_codes` as `times`").into());
    }
    let one =
        |(index, &seconds): (usize, &f64)| imported(name, seconds, codes.map(|codes| codes[index]));
    times.iter().enumerate().map(one).collect()
}

/// One time with its exit code, if the file has any.
fn imported(name: &str, seconds: f64, code: Option<Option<i32>>) -> Result<ImportedTrial, Fault> {
    if !(seconds.is_finite() && seconds > 0.0) {
        return Err(format!("`{name}`: a time of {seconds} s cannot be right").into());
    }
    let mut imported = ImportedTrial::new(name, "the run time of a command, measured by hyperfine");
    imported.headline = vec!["completion_ns program".into()];
    match code {
        None => imported.notes.push("the file does not say whether the command succeeded".into()),
        Some(Some(0)) => {}
        Some(code) => {
            let how = code.map_or("a signal".to_owned(), |code| format!("exit code {code}"));
            imported.outcome = Outcome::Failed { reason: format!("the command ended with {how}") };
            return Ok(imported);
        }
    }
    imported.number("completion_ns", seconds * 1e9);
    Ok(imported)
}
