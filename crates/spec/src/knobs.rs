// SPDX-License-Identifier: GPL-2.0-only
//! Knobs as experiments and the command line set them: only those that the scheduler's file has,
//! and only to values that they hold.

use std::collections::BTreeMap;

use model::knob::{CALLS, START};
use model::{Knob, KnobValue, Knobs, Start, Words};
use serde::Deserialize;

use super::Host;
use super::source::{advice, near};

/// How a knob is set, for messages.
const USAGE: &str = "write knob=value: a number, true, false, a name, =capacity, [1,2] or {a=1}";

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
pub fn parse(text: &str) -> Result<Knobs, Fault> {
    let mut knobs = Knobs::new();
    for word in text.split_whitespace() {
        let usage = || Fault::new(word, format!("'{word}' sets no knob"), USAGE.to_owned());
        let (name, text) = word.split_once('=').ok_or_else(usage)?;
        if name.is_empty() || text.is_empty() {
            return Err(usage());
        }
        let value = value(text).ok_or_else(usage)?;
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

/// A value as TOML has it, or text without quotation marks.
fn value(text: &str) -> Option<KnobValue> {
    let is_toml = text.starts_with(['[', '{', '\"', '\'']) || text.parse::<f64>().is_ok();
    let beyond_64_bits = || text.parse::<i128>().is_ok().then(|| KnobValue::Text(text.into()));
    match toml::de::ValueDeserializer::parse(text) {
        Ok(parsed) => KnobValue::deserialize(parsed).ok().or_else(beyond_64_bits),
        Err(_) if is_toml => beyond_64_bits(),
        Err(_) => Some(KnobValue::Text(text.into())),
    }
}

/// Refuses knobs that the scheduler of this name and SHA-256 lacks, and values that they cannot
/// hold. The scheduler is compiled only if there are knobs.
pub fn check(name: &str, sha256: &str, knobs: &Knobs, host: &Host) -> Result<(), Fault> {
    let Some((first, _)) = knobs.first_key_value() else { return Ok(()) };
    let has = (host.knobs)(sha256).map_err(|why| Fault::new(first, why, None))?;
    let words = Words::default();
    for (wanted, value) in knobs.iter().filter(|(name, _)| *name != CALLS) {
        let is_it = |knob: &&Knob| knob.name == *wanted && !wanted.starts_with(START);
        let knob = has.iter().find(is_it).ok_or_else(|| unknown(name, wanted, &has))?;
        knob.encode(value, &words).map_err(|why| {
            Fault::new(wanted, why, format!("the default is {}", knob.default_words()))
        })?;
    }
    let starts = Start::of(knobs).map_err(|why| Fault::new(CALLS, why, None))?;
    for (index, start) in starts.iter().enumerate() {
        let place = format!("{CALLS}[{index}]");
        let wanted = format!("{START}{}", start.program);
        let knob = has.iter().find(|knob| knob.name == wanted).ok_or_else(|| {
            let known = has.iter().filter_map(|knob| knob.name.strip_prefix(START));
            let message = format!("{name} has no program '{}' of the type syscall", start.program);
            let hint = advice(&start.program, known);
            Fault::new(&place, message, hint.unwrap_or_else(|| "it has none".into()))
        })?;
        start.calls(knob, &words).map_err(|why| Fault::new(&place, why, None))?;
    }
    Ok(())
}

fn unknown(name: &str, wanted: &str, has: &[Knob]) -> Fault {
    let message = format!("{name} has no knob '{wanted}'");
    let names = |all: bool| has.iter().filter(move |knob| all || knob.is_constant);
    let names = |all| names(all).map(|knob| knob.name.as_str());
    // Many variables are the scheduler's own; those are named only if they are near.
    let is_near = !near(wanted, names(true)).is_empty();
    let hint = advice(wanted, names(is_near));
    Fault::new(wanted, message, hint.unwrap_or_else(|| "it has none; leave it out".into()))
}

/// The knobs that are set to something else than their defaults, with their bytes or, where the
/// machine decides, their words: two sets of knobs with the same ones make the same scheduler.
pub fn changed(sha256: &str, knobs: &Knobs, host: &Host) -> BTreeMap<String, Changed> {
    let has = if knobs.is_empty() { Vec::new() } else { (host.knobs)(sha256).unwrap_or_default() };
    let change = |(name, value): (&String, &KnobValue)| {
        let knob = has.iter().find(|knob| knob.name == *name);
        match knob.filter(|_| !value.has_words()) {
            Some(knob) => {
                let bytes = knob.encode(value, &Words::default()).ok()?;
                (bytes != knob.default).then(|| (name.clone(), Changed::To(bytes)))
            }
            None => Some((name.clone(), Changed::ByWords(value.to_string()))),
        }
    };
    knobs.iter().filter_map(change).collect()
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    To(Vec<u8>),
    ByWords(String),
}
