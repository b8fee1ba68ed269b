// SPDX-License-Identifier: GPL-2.0-only
//! The schedulers of today: programs that people run, each with a file that stands for it in the
//! simulator. `schedulers/today/NAME.toml` says of each what its user space sets.

use std::path::Path;

use model::{Contestant, Knobs, SchedulerChoice};

use super::{Host, SpecError};
use crate::{assets, settings};

/// How their names begin.
const BEGINNING: &str = "scx_";
const FOLDER: &str = "schedulers/today/";

/// A program that `fairground get` has built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// What commands call it: `scx_lavd@1.1.4`.
    pub program: String,
    pub version: String,
    /// The path of its source for the simulator, if it has one.
    pub source: Option<String>,
}

/// Their names, sorted.
pub fn names() -> Vec<String> {
    let paths = assets::EMBEDDED.iter().filter_map(|(path, _)| path.strip_prefix(FOLDER));
    paths.filter_map(|file| Some(file.strip_suffix(".toml")?.to_owned())).collect()
}

/// Whether the text is a version of a program, `1.1.4`: kernels are called by their series.
pub fn is_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    parts.len() == 3 && parts.iter().all(is_number)
}

/// A name and its version: `scx_lavd`, `scx_lavd@1.1.4`; `None` if it is none of theirs.
pub fn named(text: &str) -> Option<(&str, Option<&str>)> {
    let (name, version) = match text.split_once('@') {
        Some((name, version)) if is_version(version) => (name, Some(version)),
        Some(_) => return None,
        None => (text, None),
    };
    assets::embedded(&format!("{FOLDER}{name}.toml")).map(|_| (name, version))
}

/// Whether an `@` before a version belongs to a program's name, and names no kernel.
pub fn is_part_of_name(before: &str, after: &str) -> bool {
    let program = before.strip_prefix("program:").unwrap_or(before);
    let name = program.split(' ').next_back().unwrap_or(program);
    is_version(after) && name.starts_with(BEGINNING)
}

/// The options that a program needs if the user gives none.
///
/// # Errors
/// Its side file cannot be read.
pub fn arguments(name: &str) -> Result<Vec<String>, SpecError> {
    Ok(settings::of_today(name)?.map(|settings| settings.arguments).unwrap_or_default())
}

/// What a program's command means in the simulator: the file of a scheduler of today without
/// options of the user's; `None` where there is none, or it is not here.
///
/// # Errors
/// Its source cannot be read, or the side file does not fit it.
pub fn in_simulator(
    command: &[String],
    host: &Host,
) -> Result<Option<Box<SchedulerChoice>>, SpecError> {
    let Some((program, options)) = command.split_first() else { return Ok(None) };
    let Some((name, version)) = named(program) else { return Ok(None) };
    if options != arguments(name)? {
        return Ok(None);
    }
    let Some(kept) = (host.kept)(name, version) else { return Ok(None) };
    let Some(source) = &kept.source else { return Ok(None) };
    let fail = |why: String| SpecError::new(program, why);
    let (_, sha256) = (host.resolve)(source, Path::new("")).map_err(fail)?;
    let settings = match settings::of_today(name)? {
        Some(found) if found.version == kept.version => {
            found.check(program, &sha256, host)?;
            found.values
        }
        Some(found) => found.of_another_version(&kept.program, &sha256, host),
        None => Knobs::new(),
    };
    let (file, knobs) = (kept.program, Knobs::new());
    Ok(Some(Box::new(SchedulerChoice::File { file, sha256, knobs, settings })))
}

/// The program of a scheduler of today: the one that was built here, else the installed one.
pub fn program(name: &str, version: Option<&str>, host: &Host) -> String {
    let kept = (host.kept)(name, version).map(|kept| kept.program);
    let asked = || version.map_or(name.to_owned(), |version| format!("{name}@{version}"));
    kept.unwrap_or_else(asked)
}

/// Why a contestant of an experiment's file is left out; `None` if its program is here, or it is
/// not of today.
pub fn why_absent(contestant: &Contestant, host: &Host) -> Option<String> {
    let SchedulerChoice::Program { command, .. } = &contestant.scheduler else { return None };
    let (name, version) = named(command.first()?)?;
    let is_here = (host.kept)(name, version).is_some() || (host.is_installed)(command.first()?);
    (!is_here).then(|| {
        let program = &command[0];
        format!("{} is left out: `fairground get {program}` builds it", contestant.name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_from_kernels() {
        assert_eq!(named("scx_bpfland"), Some(("scx_bpfland", None)));
        assert_eq!(named("scx_bpfland@1.1.4"), Some(("scx_bpfland", Some("1.1.4"))));
        assert_eq!(named("scx_bpfland@7"), None);
        assert_eq!(named("vtime"), None);
        assert!(is_part_of_name("scx_lavd", "1.1.4") && is_part_of_name("program:scx_x", "1.1.4"));
        assert!(!is_part_of_name("scx_lavd", "6.12") && !is_part_of_name("vtime", "6.12.1"));
    }

    #[test]
    fn every_side_file_of_today_is_one() {
        assert!(names().len() >= 5);
        for name in names() {
            let found = settings::of_today(&name).unwrap_or_else(|error| panic!("{error}"));
            let found = found.unwrap_or_else(|| panic!("{name}: no side file"));
            assert!(name.starts_with(BEGINNING) && is_version(&found.version), "{name}");
            assert!(!found.about.is_empty(), "{name}");
        }
    }
}
