// SPDX-License-Identifier: GPL-2.0-only
//! Knobs as experiments and the command line set them: only those that the scheduler's file has,
//! and only to values that they hold.

use std::collections::BTreeMap;

use model::{Knob, KnobValue};

use super::Host;
use super::source::advice;

/// How a knob is set, for messages.
const USAGE: &str = "write knob=value, the value a whole number, true or false";

/// What is wrong with a knob, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub knob: String,
    pub message: String,
    pub hint: Option<String>,
}

impl Fault {
    fn new(knob: &str, message: String, hint: impl Into<Option<String>>) -> Fault {
        Fault { knob: knob.into(), message, hint: hint.into() }
    }
}

/// Reads `knob=value knob=value`.
pub fn parse(text: &str) -> Result<BTreeMap<String, KnobValue>, Fault> {
    let mut knobs = BTreeMap::new();
    for word in text.split_whitespace() {
        let usage = || Fault::new(word, format!("'{word}' sets no knob"), USAGE.to_owned());
        let (name, text) = word.split_once('=').ok_or_else(usage)?;
        let value = match text {
            "true" => KnobValue::Bool(true),
            "false" => KnobValue::Bool(false),
            number => KnobValue::Int(number.parse().map_err(|_| match number.parse::<i128>() {
                Ok(_) => Fault::new(name, format!("{text} is no number that a knob holds"), None),
                Err(_) => usage(),
            })?),
        };
        if name.is_empty() {
            return Err(usage());
        }
        if knobs.insert(name.to_owned(), value).is_some() {
            return Err(Fault::new(
                name,
                format!("'{name}' is set twice"),
                "set it once".to_owned(),
            ));
        }
    }
    Ok(knobs)
}

/// Refuses knobs that the scheduler of this name and SHA-256 lacks, and values that they cannot
/// hold. The scheduler is compiled only if there are knobs.
pub fn check(
    name: &str,
    sha256: &str,
    knobs: &BTreeMap<String, KnobValue>,
    host: &Host,
) -> Result<(), Fault> {
    let Some((first, _)) = knobs.first_key_value() else { return Ok(()) };
    let has = (host.knobs)(sha256).map_err(|why| Fault::new(first, why, None))?;
    for (wanted, value) in knobs {
        let knob = has.iter().find(|knob| knob.name == *wanted);
        let knob = knob.ok_or_else(|| unknown(name, wanted, &has))?;
        knob.encode(*value).map_err(|why| {
            Fault::new(wanted, why, format!("the default is {}", knob.default_words()))
        })?;
    }
    Ok(())
}

fn unknown(name: &str, wanted: &str, has: &[Knob]) -> Fault {
    let message = format!("{name} has no knob '{wanted}'");
    let hint = advice(wanted, has.iter().map(|knob| knob.name.as_str()));
    Fault::new(wanted, message, hint.unwrap_or_else(|| "it has none; leave it out".into()))
}

/// The knobs that are set to something else than their defaults, with their bytes: two sets of
/// knobs with the same ones make the same scheduler.
pub fn changed(
    sha256: &str,
    knobs: &BTreeMap<String, KnobValue>,
    host: &Host,
) -> BTreeMap<String, Vec<u8>> {
    let has = if knobs.is_empty() { Vec::new() } else { (host.knobs)(sha256).unwrap_or_default() };
    let bytes = |knob: &Knob| {
        let bytes = knob.encode(*knobs.get(&knob.name)?).ok()?;
        (bytes != knob.default).then(|| (knob.name.clone(), bytes))
    };
    has.iter().filter_map(bytes).collect()
}
