// SPDX-License-Identifier: GPL-2.0-only
//! A TOML file: its values with their places, and expressions among them.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::SpecError;
use super::expression::{Kind, Names, evaluate};

pub const KNOB_VALUES: &str = "write a whole number, true, false, text, a list or a table";

/// Where the values of a file are: `task[2].steps[0].timer` → byte in the text.
#[derive(Clone, Debug, Default)]
pub struct Places {
    file: String,
    text: String,
    at: BTreeMap<String, usize>,
}

impl Places {
    pub fn new(file: &str, text: &str) -> Places {
        Places { file: file.into(), text: text.into(), at: BTreeMap::new() }
    }

    pub fn insert(&mut self, path: String, at: usize) {
        self.at.insert(path, at);
    }

    /// An error at a byte of the text.
    pub fn error_at(&self, at: usize, message: impl Into<String>) -> SpecError {
        let (line, column) = line_and_column(&self.text, at);
        let error = SpecError::new(&self.file, message);
        SpecError { line: Some(line), column: Some(column), ..error }
    }

    /// An error at a value, or at the innermost value around it that has a place.
    pub fn error(&self, path: &str, message: impl Into<String>) -> SpecError {
        let mut path = path;
        loop {
            if let Some(at) = self.at.get(path) {
                return self.error_at(*at, message);
            }
            match path.rfind(['.', '[']) {
                Some(end) => path = &path[..end],
                None => return SpecError::new(&self.file, message),
            }
        }
    }

    pub fn has(&self, path: &str) -> bool {
        self.at.contains_key(path)
    }
}

/// Line and column, both from 1, the column in characters.
pub(crate) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = &text[..at];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

/// A TOML file whose expressions can be replaced by their values.
pub struct Document<'a> {
    pub places: Places,
    table: Spanned<DeTable<'a>>,
    /// By the place of the expression.
    evaluated: BTreeMap<usize, Evaluated>,
}

struct Evaluated {
    /// A number of a file can only be made from its text.
    value: String,
    /// What messages about the value say.
    about: String,
}

impl<'a> Document<'a> {
    /// Reads the text's structure.
    pub fn parse(file: &str, text: &'a str) -> Result<Document<'a>, SpecError> {
        let mut places = Places::new(file, text);
        let mut table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            places.error_at(at, one_line(error.message()))
        })?;
        walk_table("", table.get_mut(), &mut |path, _, at, _| places.insert(path.to_owned(), at));
        Ok(Document { places, table, evaluated: BTreeMap::new() })
    }

    /// Adds the name: the file's stem.
    pub fn set_name(&mut self, stem: &str) -> Result<(), SpecError> {
        if self.places.has("name") {
            let hint = format!("delete the line: the file's name is the name, '{stem}'");
            return Err(self.places.error("name", "unexpected field 'name'").hint(hint));
        }
        let value = DeValue::String(stem.to_owned().into());
        self.table.get_mut().insert(Spanned::new(0..0, "name".into()), Spanned::new(0..0, value));
        Ok(())
    }

    /// Evaluates every expression whose path `is_chosen` accepts.
    pub fn evaluate(
        &mut self,
        names: &Names,
        is_chosen: impl Fn(&str) -> bool,
    ) -> Result<(), SpecError> {
        let (places, evaluated) = (&self.places, &mut self.evaluated);
        let mut failed = None;
        walk_table("", self.table.get_mut(), &mut |path, _, _, value| {
            let Some(text) = expression(value) else { return };
            if !is_chosen(path) {
                return;
            }
            let span = value.span();
            match evaluate(text, names) {
                Ok(number) => {
                    let about = format!("'={text}' is {number} with {}", listed(names));
                    evaluated.insert(span.start, Evaluated { value: number.to_string(), about });
                }
                Err(fault) if failed.is_none() => {
                    let at = (span.start + 2 + fault.at).min(span.end);
                    let error = places.error_at(at, format!("{} in '={text}'", fault.message));
                    let names = names.keys().map(String::as_str);
                    failed = Some(match &fault.kind {
                        Kind::Name(name) => error.maybe_hint(advice(name, names)),
                        _ => error,
                    });
                }
                Err(_) => {}
            }
        });
        failed.map_or(Ok(()), Err)
    }

    /// Deserialises the file, with the values of what was evaluated.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, SpecError> {
        let mut table = self.table.clone();
        walk_table("", table.get_mut(), &mut |path, _, _, value| {
            let known = self.evaluated.get(&value.span().start);
            let (Some(Evaluated { value: text, .. }), Some(_)) = (known, expression(value)) else {
                return;
            };
            // A program's arguments are strings even when they are numbers.
            *value.get_mut() = match DeValue::parse(text) {
                Ok(number) if !path.starts_with("program.") => number.into_inner(),
                _ => DeValue::String(text.into()),
            };
        });
        T::deserialize(toml::Deserializer::from(table.clone())).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let (message, hint) = plain(error.message());
            let above = "write it above the first [table]: what follows one belongs to it";
            let hint = if is_known_above::<T>(table, at) { Some(above.into()) } else { hint };
            let message = self.evaluated.get(&at).map_or(message, |known| known.about.clone());
            self.places.error_at(at, message).maybe_hint(hint)
        })
    }
}

/// Whether a field that is unknown in a table below is one of the whole file.
fn is_known_above<T: DeserializeOwned>(mut table: Spanned<DeTable<'_>>, at: usize) -> bool {
    let span = table.span();
    let mut alone = DeTable::new();
    walk_table("", table.get_mut(), &mut |path, key, from, value| {
        if let (Some(key), true) = (key, from == at && path.contains('.')) {
            alone.insert(Spanned::new(from..from, key.to_owned().into()), value.clone());
        }
    });
    let is_found = !alone.is_empty();
    let read = T::deserialize(toml::Deserializer::from(Spanned::new(span, alone)));
    is_found && read.err().is_none_or(|error| !error.message().starts_with("unknown field"))
}

/// What follows the `=` of an expression.
fn expression<'v>(value: &'v Spanned<DeValue>) -> Option<&'v str> {
    value.get_ref().as_str()?.strip_prefix('=')
}

fn listed(names: &Names) -> String {
    names.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
}

/// What [`walk_table`] calls: with a value's path, the key it has in a table, the byte of that key
/// or else of the value, and the value itself.
type Visit<'a, 'v> = dyn FnMut(&str, Option<&str>, usize, &mut Spanned<DeValue<'v>>) + 'a;

/// Calls `seen` for each value below a table, from the outside in.
pub(crate) fn walk_table<'v>(path: &str, table: &mut DeTable<'v>, seen: &mut Visit<'_, 'v>) {
    for (key, value) in table {
        let name: &str = key.get_ref();
        let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        // A table's own span begins at its header; a field's error belongs to its key.
        seen(&path, Some(name), key.span().start, value);
        walk(&path, value, seen);
    }
}

fn walk<'v>(path: &str, value: &mut Spanned<DeValue<'v>>, seen: &mut Visit<'_, 'v>) {
    match value.get_mut() {
        DeValue::Table(table) => walk_table(path, table, seen),
        DeValue::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                let path = format!("{path}[{index}]");
                seen(&path, None, item.span().start, item);
                walk(&path, item, seen);
            }
        }
        _ => {}
    }
}

/// Words for what a task has under another name: a field that stands beside, the words, and what to
/// write instead.
const ELSEWHERE: [(&str, &[&str], &str); 5] = [
    ("steps", &["nice"], "write policy = { class = \"other\", nice = … }"),
    (
        "steps",
        &["priority", "prio", "rt_priority", "class", "sched", "scheduler"],
        "write policy = { class = \"fifo\", priority = … }",
    ),
    ("steps", &["cpu", "cpus", "pinned"], "write affinity = [0]"),
    ("steps", &["threads", "instances", "copies"], "write count = …"),
    ("steps", &["weight", "cgroup"], "write group = \"NAME\", and a [[group]] of that name"),
];

/// Translates serde's message into TOML's terms; the advice follows separately.
fn plain(message: &str) -> (String, Option<String>) {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let what = message.split(" `").next().unwrap_or_default();
    match (what, names.as_slice()) {
        ("unknown field", [wrong, known @ ..]) => {
            let elsewhere = ELSEWHERE
                .iter()
                .find(|(beside, names, _)| known.contains(beside) && names.contains(wrong));
            let advice = match elsewhere {
                Some((.., instead)) => Some((*instead).to_owned()),
                None => advice(wrong, known.iter().copied()),
            };
            (format!("unknown field '{wrong}'"), advice)
        }
        ("unknown variant", [wrong, known @ ..]) => {
            let what = if known.contains(&"run_us") { "step" } else { "value" };
            (format!("unknown {what} '{wrong}'"), advice(wrong, known.iter().copied()))
        }
        ("missing field", [name]) => {
            (format!("the field '{name}' is missing"), Some(format!("add '{name} = …'")))
        }
        _ => plain_value(message),
    }
}

/// Wrong types and ranges.
fn plain_value(message: &str) -> (String, Option<String>) {
    if message.contains("KnobValue") {
        return ("this is no value for a knob".into(), Some(KNOB_VALUES.into()));
    }
    let Some((found, wanted)) = message.split_once(", expected ") else {
        return (one_line(message), None);
    };
    let found = found.rsplit_once(": ").map_or(found, |(_, found)| found).replace('`', "'");
    (format!("unexpected {found}"), Some(format!("write {}", wanted_words(wanted))))
}

fn wanted_words(wanted: &str) -> String {
    match wanted {
        "u32" => "a whole number from 0 to 4294967295".into(),
        "u64" => "a whole number, 0 or more".into(),
        "i32" | "i64" => "a whole number".into(),
        "a boolean" => "true or false".into(),
        "a sequence" => "a list: […]".into(),
        table if table.starts_with("struct ") => "a table: { … = … }".into(),
        _ => one_line(wanted).replace('`', "'"),
    }
}

fn one_line(message: &str) -> String {
    message.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(", ")
}

pub fn unknown_name(
    places: &Places,
    path: &str,
    what: &str,
    name: &str,
    known: &[&str],
) -> SpecError {
    let hint = match known {
        [] => None,
        [only] => Some(format!("the only one is {}", quoted(&[only], ""))),
        _ => advice(name, known.iter().copied()),
    };
    places.error(path, format!("unknown {what} '{name}'")).maybe_hint(hint)
}

/// The known names most similar to a mistyped one, the nearest first.
///
/// A name is near if it is at most a third of its length away (Damerau-Levenshtein distance), or if
/// one contains the other.
pub fn near<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found: Vec<(usize, &str)> = known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(wrong, name), name))
        .filter(|(distance, name)| {
            *distance <= (wrong.chars().count() / 3).max(2) && *distance < name.chars().count()
                || wrong.len() >= 3 && (name.contains(wrong) || wrong.contains(name))
        })
        .collect();
    found.sort();
    found.dedup();
    found.into_iter().map(|(_, name)| name).take(3).collect()
}

/// Advice for a wrong name: similar names, or else all of them.
pub fn advice<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Option<String> {
    let close = near(wrong, known.clone());
    if !close.is_empty() {
        return Some(format!("did you mean {}?", quoted(&close, " or ")));
    }
    let all: Vec<&str> = known.into_iter().collect();
    (!all.is_empty()).then(|| format!("known are {}", quoted(&all, ", ")))
}

pub fn quoted(names: &[&str], separator: &str) -> String {
    names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_come_first_and_far_ones_not_at_all() {
        assert_eq!(near("rnu_us", ["sleep_us", "run_us"]), ["run_us"]);
        assert_eq!(near("hackbensh", ["hackbench", "frames"]), ["hackbench"]);
        assert_eq!(near("wake", ["wake_under_hogs", "frames"]), ["wake_under_hogs"]);
        assert!(near("zebra", ["run_us", "lock"]).is_empty());
        assert_eq!(advice("zebra", ["run_us", "lock"]).unwrap(), "known are 'run_us', 'lock'");
        assert_eq!(advice("zebra", []), None);
    }
}
