// SPDX-License-Identifier: GPL-2.0-only
//! A file's text with the places of its values.
//! TOML: expressions are replaced by their values in the text, then the text is deserialised.
//! Places in the new text are mapped back to the original, so that messages have the right column.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::SpecError;
use super::expression::{Names, evaluate};
use super::near::{advice, quoted};

/// The value of a knob.
pub const KNOB_VALUES: &str = "write a whole number, true or false";

/// Where the values of a file are: `task[2].steps[0].timer` → byte in the text.
#[derive(Clone, Debug, Default)]
pub struct Places {
    file: String,
    text: String,
    at: BTreeMap<String, usize>,
}

impl Places {
    /// No values yet.
    pub fn new(file: &str, text: &str) -> Places {
        Places { file: file.into(), text: text.into(), at: BTreeMap::new() }
    }

    /// Notes where a value is.
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

    /// Whether the file has the value.
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

/// A TOML file whose expressions can be replaced.
pub struct Document {
    /// Where its values are.
    pub places: Places,
    edits: Vec<Edit>,
    expressions: Vec<Expression>,
}

/// A piece of the text that is replaced.
struct Edit {
    old: Range<usize>,
    new: String,
    /// What messages about the replacement add.
    about: String,
}

/// A string that begins with `=`.
struct Expression {
    path: String,
    span: Range<usize>,
    text: String,
}

impl Document {
    /// Reads the text's structure.
    ///
    /// # Errors
    /// Syntax errors.
    pub fn parse(file: &str, text: &str) -> Result<Document, SpecError> {
        let mut places = Places::new(file, text);
        let tree = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            places.error_at(at, one_line(error.message()))
        })?;
        let mut expressions = Vec::new();
        walk_table("", tree.get_ref(), &mut |path, _, at, value| {
            places.insert(path.to_owned(), at);
            if let DeValue::String(text) = value.get_ref()
                && let Some(text) = text.strip_prefix('=')
            {
                let (path, text) = (path.to_owned(), text.to_owned());
                expressions.push(Expression { path, span: value.span(), text });
            }
        });
        Ok(Document { places, edits: Vec::new(), expressions })
    }

    /// Adds the name to the text: the file's stem.
    ///
    /// # Errors
    /// The file has a `name` of its own.
    pub fn set_name(&mut self, stem: &str) -> Result<(), SpecError> {
        if self.places.has("name") {
            let hint = format!("delete the line: the file's name is the name, '{stem}'");
            return Err(self.places.error("name", "unexpected field 'name'").hint(hint));
        }
        let new = format!("name = {}\n", toml::Value::from(stem));
        self.edits.insert(0, Edit { old: 0..0, new, about: String::new() });
        Ok(())
    }

    /// Replaces every expression whose path `chosen` accepts by its value.
    ///
    /// # Errors
    /// What [`evaluate`] refuses.
    pub fn evaluate(
        &mut self,
        names: &Names,
        chosen: impl Fn(&str) -> bool,
    ) -> Result<(), SpecError> {
        for expression in &self.expressions {
            if !chosen(&expression.path) {
                continue;
            }
            let value = evaluate(&expression.text, names).map_err(|fault| {
                let at = expression.span.start + 2 + fault.at;
                let message = format!("{} in '={}'", fault.message, expression.text);
                self.places.error_at(at.min(expression.span.end), message).maybe_hint(fault.hint)
            })?;
            // A program's arguments are strings even when they are numbers.
            let quote = if expression.path.starts_with("program.") { "\"" } else { "" };
            let about = format!("'={}' is {value} with {}", expression.text, listed(names));
            self.edits.push(Edit {
                old: expression.span.clone(),
                new: format!("{quote}{value}{quote}"),
                about,
            });
        }
        self.edits.sort_by_key(|edit| edit.old.start);
        Ok(())
    }

    /// Deserialises the text with its replacements.
    ///
    /// # Errors
    /// Unknown and missing fields, wrong types, numbers out of range.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, SpecError> {
        toml::from_str(&self.replaced()).map_err(|error| {
            let (at, about) = self.original(error.span().map_or(0, |span| span.start));
            let (message, hint) = plain(error.message());
            let message = if about.is_empty() { message } else { about.to_owned() };
            self.places.error_at(at, message).maybe_hint(hint)
        })
    }

    fn replaced(&self) -> String {
        let text = &self.places.text;
        let (mut result, mut at) = (String::with_capacity(text.len()), 0);
        for edit in &self.edits {
            result.push_str(&text[at..edit.old.start]);
            result.push_str(&edit.new);
            at = edit.old.end;
        }
        result.push_str(&text[at..]);
        result
    }

    /// The place in the original text of a place in the new text, and the message of the
    /// replacement that it lies in.
    fn original(&self, at: usize) -> (usize, &str) {
        let mut shift = 0_isize;
        for edit in &self.edits {
            let start = edit.old.start.saturating_add_signed(shift);
            if at < start {
                break;
            }
            if at < start + edit.new.len() {
                return (edit.old.start, &edit.about);
            }
            shift += edit.new.len() as isize - edit.old.len() as isize;
        }
        (at.saturating_add_signed(-shift), "")
    }
}

fn listed(names: &Names) -> String {
    names.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
}

/// Calls `seen` for each value below a table, from the outside in: with its path, the key it has in
/// a table, the byte of that key or else of the value, and the value itself.
pub(crate) fn walk_table<'t, 'v>(
    path: &str,
    table: &'t DeTable<'v>,
    seen: &mut dyn FnMut(&str, Option<&'t str>, usize, &'t Spanned<DeValue<'v>>),
) {
    for (key, value) in table {
        let name: &str = key.get_ref();
        let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        // A table's own span begins at its header; a field's error belongs to its key.
        seen(&path, Some(name), key.span().start, value);
        walk(&path, value, seen);
    }
}

fn walk<'t, 'v>(
    path: &str,
    value: &'t Spanned<DeValue<'v>>,
    seen: &mut dyn FnMut(&str, Option<&'t str>, usize, &'t Spanned<DeValue<'v>>),
) {
    match value.get_ref() {
        DeValue::Table(table) => walk_table(path, table, seen),
        DeValue::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let path = format!("{path}[{index}]");
                seen(&path, None, item.span().start, item);
                walk(&path, item, seen);
            }
        }
        _ => {}
    }
}

/// Translates serde's message into TOML's terms; the advice follows separately.
fn plain(message: &str) -> (String, Option<String>) {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let what = message.split(" `").next().unwrap_or_default();
    match (what, names.as_slice()) {
        ("unknown field", [wrong, known @ ..]) => {
            (format!("unknown field '{wrong}'"), advice(wrong, known.iter().copied()))
        }
        ("unknown variant", [wrong, known @ ..]) => {
            let what = if known.contains(&"run_us") { "step" } else { "value" };
            (format!("unknown {what} '{wrong}'"), advice(wrong, known.iter().copied()))
        }
        ("missing field", [name]) => {
            (format!("the field '{name}' is missing"), Some(format!("add a line '{name} = …'")))
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
        _ => one_line(wanted).replace('`', "'"),
    }
}

/// The parser's message in one line.
fn one_line(message: &str) -> String {
    message.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The error for an unknown name.
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
