// SPDX-License-Identifier: GPL-2.0-only
//! Knobs as experiments and the command line set them: only those that the scheduler's file has,
//! and only to values that they hold.

use std::collections::BTreeMap;

use model::knob::{CALLS, MAPS, START, VALUE, is_knob};
use model::{Knob, KnobValue, Knobs, Start, ValueKind, ValueType, Words};
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
    let words = Words::of_any_machine();
    for (wanted, value) in knobs.iter().filter(|(name, _)| is_knob(name)) {
        let is_set = |name: &str| ![START, VALUE].iter().any(|of| name.starts_with(of));
        let is_it = |knob: &&Knob| knob.name == *wanted && is_set(wanted);
        let knob = has.iter().find(is_it).ok_or_else(|| unknown(name, wanted, &has))?;
        knob.encode(value, &words).map_err(|why| {
            Fault::new(wanted, why, format!("the default is {}", knob.default_words()))
        })?;
        if wanted.starts_with(MAPS) && *value == KnobValue::Int(0) {
            let why = format!("{wanted} = 0: no kernel makes an empty map");
            let hint = format!("the default is {}", knob.default_words());
            return Err(Fault::new(wanted, why, hint));
        }
    }
    let starts = Start::of(knobs).map_err(|why| Fault::new(CALLS, why, None))?;
    for (index, start) in starts.iter().enumerate() {
        let place = format!("{CALLS}[{index}]");
        let wanted = start.knob();
        let knob = has.iter().find(|knob| knob.name == wanted).ok_or_else(|| {
            let (of, own) = wanted.split_once('.').unwrap_or_default();
            let known = has.iter().filter_map(|knob| knob.name.strip_prefix(of)?.strip_prefix('.'));
            let message = if start.is_value() {
                format!("{name} has no array '{own}'")
            } else {
                format!("{name} has no program '{own}' of the type syscall")
            };
            let hint = advice(own, known);
            Fault::new(&place, message, hint.unwrap_or_else(|| "it has none".into()))
        })?;
        start.calls(knob, &words).map_err(|why| Fault::new(&place, why, None))?;
    }
    Ok(())
}

/// Takes the members, and the calls, away that the scheduler lacks. The result names them.
pub fn take_unknown(knobs: &mut Knobs, has: &[Knob]) -> Vec<String> {
    let mut taken = Vec::new();
    let ty = |name: &str| has.iter().find(|knob| knob.name == name).map(|knob| &knob.ty);
    for (name, value) in knobs.iter_mut() {
        if let Some(ty) = ty(name) {
            take_members(name, ty, value, &mut taken);
        }
    }
    let Some(KnobValue::List(starts)) = knobs.get_mut(CALLS) else { return taken };
    starts.retain_mut(|start| {
        let KnobValue::Table(start) = start else { return true };
        let text = |key| start.get(key).map(KnobValue::to_string);
        let own = text("map").map(|map| format!("{VALUE}{map}"));
        let own = own.or_else(|| Some(format!("{START}{}", text("program")?))).unwrap_or_default();
        let Some(ty) = ty(&own) else {
            taken.push(own);
            return false;
        };
        if let Some(args) = start.get_mut("args") {
            take_members(&own, ty, args, &mut taken);
        }
        true
    });
    taken
}

fn take_members(name: &str, ty: &ValueType, value: &mut KnobValue, taken: &mut Vec<String>) {
    match (&ty.kind, value) {
        (ValueKind::Members(members), KnobValue::Table(values)) => values.retain(|key, value| {
            let own = format!("{name}.{key}");
            let member = members.iter().find(|member| member.name == *key);
            match member {
                Some(member) => take_members(&own, &member.ty, value, taken),
                None => taken.push(own),
            }
            member.is_some()
        }),
        (ValueKind::List { of, .. }, KnobValue::List(values)) => {
            values.iter_mut().for_each(|value| take_members(name, of, value, taken));
        }
        _ => {}
    }
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
