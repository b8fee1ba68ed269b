// SPDX-License-Identifier: GPL-2.0-only
//! `stress-ng --metrics --yaml FILE`: one trial for each stressor.
//!
//! Its rate per second of CPU time is ignored: a stressor whose children do the work has almost no
//! CPU time of its own, and the rate becomes meaningless.

use std::collections::BTreeMap;

use model::parsers::positive;
use serde::Deserialize;

use super::{Fault, ImportedTrial};

/// Whether a text looks like it.
pub fn is(text: &str) -> bool {
    text.lines().any(|line| line.trim_end() == "metrics:") && text.contains("bogo-ops:")
}

#[derive(Deserialize)]
struct StressNgResults {
    #[serde(rename = "system-info", default)]
    system: BTreeMap<String, String>,
    #[serde(default)]
    metrics: Vec<BTreeMap<String, String>>,
}

/// See the module.
pub fn read(content: &str) -> Result<Vec<ImportedTrial>, Fault> {
    if content.lines().next_back().is_none_or(|line| line.trim_end() != "...") {
        let message = "the file is cut off: it does not end with `...`";
        return Err(Fault::at(content.lines().count(), message));
    }
    // Everything is read as text, because in some locales its numbers have decimal commas.
    let document: StressNgResults = serde_saphyr::from_str(content).map_err(fault)?;
    document.metrics.iter().map(|metrics| stressor(&document.system, metrics)).collect()
}

fn fault(error: serde_saphyr::Error) -> Fault {
    let line = error.location().map(|location| location.line() as usize);
    Fault { line, message: format!("not YAML as stress-ng writes it: {}", first_line(&error)) }
}

fn first_line(error: &serde_saphyr::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

fn stressor(
    system: &BTreeMap<String, String>,
    metrics: &BTreeMap<String, String>,
) -> Result<ImportedTrial, Fault> {
    let name = metrics.get("stressor").ok_or("a metric without `stressor`")?;
    let field = |key: &str| {
        let value = metrics.get(key).ok_or_else(|| format!("{name}: `{key}` is missing"))?;
        positive(value).map_err(|why| format!("{name}: `{key}`: {why}"))
    };
    let rate = field("bogo-ops")? / field("wall-clock-time")?;
    let mut imported =
        ImportedTrial::new(&format!("stress_ng {name}"), "stress-ng: bogus operations per second");
    imported.headline = vec!["iterations_per_second program".into()];
    imported.number("iterations_per_second", rate);
    let fact = |key: &str| system.get(key).cloned().unwrap_or_default();
    imported.kernel = fact("release");
    imported.cpus = fact("cpus-online").parse().unwrap_or(0);
    let version = system.get("stress-ng-version");
    imported.programs.extend(version.map(|version| ("stress-ng".to_owned(), version.clone())));
    Ok(imported)
}
