// SPDX-License-Identifier: GPL-2.0-only
//! A workload file → [`model::Workload`], for given parameters and CPUs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use model::play::tapes;
use model::tape::{self, Recorded, TapeFault, TapesText};
use model::trial::sha256_hex;
use model::{Trial, Workload};
use serde::Deserialize;

use super::expression::Names;
use super::source::{Document, quoted};
use super::{SpecError, check, machine, rtapp};
use crate::assets::Asset;
use crate::files;

/// The name that expressions use for the machine's CPU count.
const CPUS: &str = "cpus";

/// A parameter as its file declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name that expressions use.
    pub name: String,
    pub default: i64,
    /// The comment lines above it.
    pub about: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedWorkload {
    /// The workload; every count is a number.
    pub workload: Workload,
    /// Parts of the file that are ignored, for the user.
    pub notes: Vec<String>,
}

/// Only the parameters of a workload file.
#[derive(Deserialize)]
struct Declared {
    #[serde(default)]
    parameters: Names,
}

/// The parameters that a file declares, by name. rt-app files have none.
pub fn parameters(asset: &Asset, cpus: u32) -> Result<Vec<Parameter>, SpecError> {
    if asset.is_json() {
        return Ok(Vec::new());
    }
    let (_, declared) = declared(asset, cpus)?;
    let about = |name: &str| comment_above(&asset.text, name);
    Ok(declared
        .into_iter()
        .map(|(name, default)| Parameter { about: about(&name), name, default })
        .collect())
}

/// The workload with the given parameters (the others keep their defaults) on a machine with that
/// many CPUs.
pub fn resolve(asset: &Asset, given: &Names, cpus: u32) -> Result<ResolvedWorkload, SpecError> {
    if asset.is_json() {
        known(asset, given, &Names::new())?;
        return rtapp::load(asset, cpus);
    }
    let (mut document, mut parameters) = declared(asset, cpus)?;
    known(asset, given, &parameters)?;
    parameters.extend(given.clone());
    let mut names = parameters.clone();
    names.insert(CPUS.into(), i64::from(cpus));
    document.evaluate(&names, |path| !is_parameter(path))?;
    document.set_name(&asset.stem)?;
    let mut workload = Workload { parameters, ..document.read()? };
    attach_tapes(&mut workload, asset)?;
    check::check(&workload, cpus, &document.places)?;
    Ok(ResolvedWorkload { workload, notes: Vec::new() })
}

/// The workload on a machine with so many CPUs, or on a larger one if it names CPUs that this one
/// lacks: to show a file, no machine is needed.
pub fn resolve_anywhere(asset: &Asset, cpus: u32) -> Result<Workload, SpecError> {
    let on = |cpus| resolve(asset, &Names::new(), cpus).map(|resolved| resolved.workload);
    let larger = std::iter::successors(Some(cpus.max(1)), |cpus| Some(cpus * 2));
    let larger = larger.skip(1).take_while(|cpus| *cpus <= 2 * machine::CPUS_MAX);
    on(cpus).or_else(|error| larger.map(on).find_map(Result::ok).ok_or(error))
}

fn is_parameter(path: &str) -> bool {
    path.starts_with("parameters.")
}

/// The file with its parameters' defaults evaluated; they may use `cpus` only.
fn declared(asset: &Asset, cpus: u32) -> Result<(Document<'_>, Names), SpecError> {
    let mut document = Document::parse(&asset.label, &asset.text)?;
    let names = BTreeMap::from([(CPUS.to_owned(), i64::from(cpus))]);
    document.evaluate(&names, is_parameter)?;
    let parameters = document.read::<Declared>()?.parameters;
    match parameters.keys().find(|name| *name == CPUS || !is_name(name)) {
        None => Ok((document, parameters)),
        Some(name) if name == CPUS => {
            let hint = "'cpus' is the machine's CPU count; choose another name";
            Err(document.places.error("parameters.cpus", "'cpus' cannot be a parameter").hint(hint))
        }
        Some(name) => {
            let path = format!("parameters.{name}");
            let hint = "use letters, digits and _, and begin with a letter";
            Err(document.places.error(&path, format!("'{name}' cannot be a parameter")).hint(hint))
        }
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_alphabetic())
        && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}

fn known(asset: &Asset, given: &Names, declared: &Names) -> Result<(), SpecError> {
    match given.keys().find(|name| !declared.contains_key(*name)) {
        None => Ok(()),
        Some(name) => Err(unknown_parameter(&asset.label, name, declared.keys())),
    }
}

/// The error for a parameter that the workload does not declare.
pub fn unknown_parameter<'a>(
    file: &str,
    name: &str,
    declared: impl Iterator<Item = &'a String>,
) -> SpecError {
    let names: Vec<&str> = declared.map(String::as_str).collect();
    let hint = match names.as_slice() {
        [] => "the workload has no parameters".to_owned(),
        names => format!("its parameters are {}", quoted(names, ", ")),
    };
    SpecError::new(file, format!("unknown parameter '{name}'")).hint(hint)
}

/// The comment lines directly above `name = …`, joined.
fn comment_above(text: &str, name: &str) -> String {
    let mut comment: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim) {
        let key = line.split('=').next().unwrap_or_default().trim();
        match line.strip_prefix('#') {
            Some(words) => comment.push(words.trim()),
            None if key == name => return comment.join(" "),
            None => comment.clear(),
        }
    }
    String::new()
}

/// Gives a workload its tapes.
///
/// # Errors
/// The file is not here, is another one, or cannot be played.
fn attach_tapes(workload: &mut Workload, asset: &Asset) -> Result<(), SpecError> {
    let Some(recorded) = &mut workload.recording else { return Ok(()) };
    recorded.tapes = asset.base.join(&recorded.tapes).display().to_string();
    let text = read(recorded).map_err(|why| {
        why.hint(format!("{} names it: bring the file back, or record again", asset.label))
    })?;
    let place = |fault: TapeFault| SpecError {
        line: Some(fault.line),
        ..SpecError::new(&recorded.tapes, fault.message)
    };
    let tapes = tape::read(&text).map_err(place)?;
    tapes::check(&tapes).map_err(place)?;
    recorded.text = TapesText(Some(text));
    Ok(())
}

/// Gives trials that came as text, without the tapes of their workloads, those of the files that
/// they name. Each file is read once.
///
/// # Errors
/// A file is not here, or has other tapes now.
pub fn fetch(trials: &mut [Trial]) -> Result<(), SpecError> {
    let mut known: BTreeMap<String, Arc<str>> = BTreeMap::new();
    let recordings = trials.iter_mut().filter_map(|trial| trial.workload.recording.as_mut());
    for recorded in recordings.filter(|recorded| recorded.text.0.is_none()) {
        let text = match known.get(&recorded.sha256) {
            Some(text) => text.clone(),
            None => read(recorded).map_err(|why| {
                why.hint(
                    "the trial plays it: bring the file back; `fairground plan --chunks` makes \
                     trials that carry their tapes",
                )
            })?,
        };
        known.insert(recorded.sha256.clone(), text.clone());
        recorded.text = TapesText(Some(text));
    }
    Ok(())
}

/// The text of the file, if it is the one that was recorded.
fn read(recorded: &Recorded) -> Result<Arc<str>, SpecError> {
    let Recorded { tapes, sha256, .. } = recorded;
    let text = files::text(Path::new(tapes), files::TAPES).map_err(|fault| {
        let absent = || format!("no such file, which has the tapes {sha256}");
        let message = if fault.is_absence() { absent() } else { fault.to_string() };
        SpecError::new(tapes, message)
    })?;
    let found = sha256_hex(text.as_bytes());
    if found != *sha256 {
        let message = format!("the SHA-256 of these tapes is {found}, and not {sha256}");
        return Err(SpecError::new(tapes, message));
    }
    Ok(text.into())
}
