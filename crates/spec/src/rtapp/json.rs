// SPDX-License-Identifier: GPL-2.0-only
//! JSON objects as ordered lists of fields that are taken one by one; the fields that remain are
//! unknown.
//!
//! Keys without a value: `"suspend"` alone, which rt-app's `workgen` gives the task's name.
//!
//! A value is added to the text before it is parsed, and every place in what comes of it is moved
//! back to where it is in the file.

use jsonc_parser::ast::{ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::Token;
use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions, Scanner, ScannerOptions, parse_to_ast,
};

use crate::SpecError;
use crate::source::{Places, advice};

/// A file's text.
#[derive(Clone, Copy)]
pub struct Json<'t> {
    file: &'t str,
    text: &'t str,
}

/// JSON as json-c reads it: with single quotes and a comma after the last value. Nothing looser.
const LOOSE: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: true,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The same for what stands between the brackets.
pub const WORDS: ScannerOptions = ScannerOptions {
    allow_single_quoted_strings: true,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

impl<'t> Json<'t> {
    pub fn new(file: &'t str, text: &'t str) -> Json<'t> {
        Json { file, text }
    }

    pub fn places(&self) -> Places {
        Places::new(self.file, self.text)
    }

    /// The file's value, with places in the file; `completed` is its text with what `workgen` adds.
    pub fn parse(&self, completed: &'t Completed) -> Result<Value<'t>, SpecError> {
        let collect = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };
        let tree = parse_to_ast(&completed.text, &collect, &LOOSE).map_err(|error| {
            let message = error.kind().to_string();
            let valueless = message.contains("colon");
            let hint = valueless.then(|| "a key needs a value, e.g. \"yield\": \"\"".to_owned());
            let at = completed.origin(error.range().start);
            self.error_at(at, format!("not JSON: {message}")).maybe_hint(hint)
        })?;
        let mut value = tree.value.ok_or_else(|| self.error_at(0, "the file is empty"))?;
        completed.restore(&mut value);
        Ok(value)
    }

    pub fn fields<'v>(
        &self,
        value: &'v Value<'t>,
        what: &str,
    ) -> Result<Fields<'t, 'v>, SpecError> {
        let wrong =
            || self.error_at(value.range().start, format!("{what} must be an object: {{…}}"));
        let object = value.as_object().ok_or_else(wrong)?;
        let left = object.properties.iter().collect();
        Ok(Fields { json: *self, start: object.range.start, left, asked: Vec::new() })
    }

    fn error_at(&self, at: usize, message: impl Into<String>) -> SpecError {
        self.places().error_at(at, message)
    }
}

/// The fields of an object that are not taken yet, in their order.
pub struct Fields<'t, 'v> {
    json: Json<'t>,
    start: usize,
    left: Vec<&'v ObjectProp<'t>>,
    /// The keys that were looked for.
    asked: Vec<&'static str>,
}

impl<'t, 'v> Fields<'t, 'v> {
    pub fn file(&self) -> &str {
        self.json.file
    }

    /// Where the object begins.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Where a field that is left is written.
    pub fn place(&self, key: &str) -> usize {
        let found = self.left.iter().find(|property| property.name.as_str() == key);
        found.map_or(self.start, |property| property.range.start)
    }

    pub fn asked(&self) -> &[&'static str] {
        &self.asked
    }

    /// A field's value, which stays.
    pub fn peek(&self, key: &str) -> Option<&'v Value<'t>> {
        let found = self.left.iter().find(|property| property.name.as_str() == key);
        found.map(|property| &property.value)
    }

    /// Takes a field that must not repeat.
    pub fn take(&mut self, key: &'static str) -> Result<Option<&'v Value<'t>>, SpecError> {
        self.asked.push(key);
        let position = |left: &[&ObjectProp]| left.iter().position(|p| p.name.as_str() == key);
        let Some(index) = position(&self.left) else { return Ok(None) };
        let first = self.left.remove(index);
        let Some(second) = position(&self.left) else { return Ok(Some(&first.value)) };
        let line = self.json.text[..first.range.start].matches('\n').count() + 1;
        let message = format!("duplicate key '{key}' (first on line {line})");
        let hint = "keep one: only tasks, phases and events may repeat";
        Err(self.error_at(self.left[second].range.start, message).hint(hint))
    }

    /// Takes every field whose key begins like this.
    pub fn take_beginning(&mut self, beginning: &str) -> Vec<&'v str> {
        let (taken, left) =
            self.left.iter().partition(|property| property.name.as_str().starts_with(beginning));
        self.left = left;
        let taken: Vec<&'v ObjectProp<'t>> = taken;
        taken.into_iter().map(|property| property.name.as_str()).collect()
    }

    /// Takes a field that must be there.
    pub fn need(&mut self, key: &'static str, hint: &str) -> Result<&'v Value<'t>, SpecError> {
        let message = format!("'{key}' is missing");
        self.take(key)?.ok_or_else(|| self.error_at(self.start, message).hint(hint))
    }

    /// Takes the first field that is left: its key with its place, and its value.
    pub fn next(&mut self) -> Option<((&'v str, usize), &'v Value<'t>)> {
        let property = (!self.left.is_empty()).then(|| self.left.remove(0))?;
        Some(((property.name.as_str(), property.range.start), &property.value))
    }

    /// Takes a whole number, with its place.
    pub fn integer(&mut self, key: &'static str) -> Result<Option<(i64, usize)>, SpecError> {
        let Some(value) = self.take(key)? else { return Ok(None) };
        Ok(Some((self.as_integer(value, key)?, value.range().start)))
    }

    /// Takes a whole number that is not negative.
    pub fn unsigned(&mut self, key: &'static str) -> Result<Option<u64>, SpecError> {
        let Some((number, at)) = self.integer(key)? else { return Ok(None) };
        let message = format!("'{key}' cannot be negative");
        u64::try_from(number).map(Some).map_err(|_| self.error_at(at, message))
    }

    /// Takes a string, with its place.
    pub fn text(&mut self, key: &'static str) -> Result<Option<(&'v str, usize)>, SpecError> {
        let Some(value) = self.take(key)? else { return Ok(None) };
        Ok(Some((self.as_text(value, key)?, value.range().start)))
    }

    /// Takes a Boolean, with its place.
    pub fn boolean(&mut self, key: &'static str) -> Result<Option<(bool, usize)>, SpecError> {
        let Some(value) = self.take(key)? else { return Ok(None) };
        match value {
            Value::BooleanLit(literal) => Ok(Some((literal.value, value.range().start))),
            _ => Err(self.wrong(value, key, "true or false")),
        }
    }

    pub fn as_integer(&self, value: &Value, key: &str) -> Result<i64, SpecError> {
        let number = value.as_number_lit().and_then(|literal| literal.value.parse().ok());
        number.ok_or_else(|| self.wrong(value, key, "a whole number"))
    }

    pub fn as_text(&self, value: &'v Value<'t>, key: &str) -> Result<&'v str, SpecError> {
        let text = value.as_string_lit().map(|literal| literal.value.as_ref());
        text.ok_or_else(|| self.wrong(value, key, "a string"))
    }

    /// A value as a list of numbers of CPUs or nodes.
    pub fn as_numbers(&self, value: &Value, key: &str) -> Result<Vec<u32>, SpecError> {
        let list =
            value.as_array().ok_or_else(|| self.wrong(value, key, "a list of numbers: [0, 1]"))?;
        let number = |item: &Value| {
            let number = self.as_integer(item, key)?;
            u32::try_from(number).map_err(|_| self.wrong(item, key, "a list of small numbers"))
        };
        list.elements.iter().map(number).collect()
    }

    fn wrong(&self, value: &Value, key: &str, wanted: &str) -> SpecError {
        self.error_at(value.range().start, format!("'{key}' must be {wanted}"))
    }

    /// The fields of an object inside this one.
    pub fn inner(&self, value: &'v Value<'t>, what: &str) -> Result<Fields<'t, 'v>, SpecError> {
        self.json.fields(value, what)
    }

    /// An error at a byte of the file.
    pub fn error_at(&self, at: usize, message: impl Into<String>) -> SpecError {
        self.json.error_at(at, message)
    }

    /// Refuses the fields that are left.
    pub fn finish(&self) -> Result<(), SpecError> {
        let Some(property) = self.left.first() else { return Ok(()) };
        let key = property.name.as_str();
        let error = self.error_at(property.range.start, format!("unknown key '{key}'"));
        Err(error.maybe_hint(advice(key, self.asked.iter().copied())))
    }
}

/// The value that is added: an empty name, which means the task's own.
const ADDED: &str = ":\"\"";
/// The event that may stand alone.
const EVENT: &str = "suspend";

/// A text in which every key has a value.
pub struct Completed {
    pub text: String,
    /// Where each added value begins in it.
    starts: Vec<usize>,
}

impl Completed {
    /// Adds the values that are missing.
    pub fn new(text: &str, options: &ScannerOptions) -> Completed {
        let (mut completed, mut starts) = (String::with_capacity(text.len()), Vec::new());
        let mut from = 0;
        for at in bare_keys(text, options) {
            completed.push_str(&text[from..at]);
            starts.push(completed.len());
            completed.push_str(ADDED);
            from = at;
        }
        completed.push_str(&text[from..]);
        Completed { text: completed, starts }
    }

    /// Where a byte of the completed text is in the file's text.
    pub fn origin(&self, at: usize) -> usize {
        match self.starts.partition_point(|start| *start <= at) {
            0 => at,
            before => {
                let inside = (at - self.starts[before - 1]).min(ADDED.len());
                at - inside - (before - 1) * ADDED.len()
            }
        }
    }

    /// Moves the places in a value.
    pub fn restore(&self, value: &mut Value) {
        let range = match value {
            Value::Object(object) => {
                for property in &mut object.properties {
                    property.range.start = self.origin(property.range.start);
                    self.restore(&mut property.value);
                }
                &mut object.range
            }
            Value::Array(array) => {
                array.elements.iter_mut().for_each(|element| self.restore(element));
                &mut array.range
            }
            Value::StringLit(literal) => &mut literal.range,
            Value::NumberLit(literal) => &mut literal.range,
            Value::BooleanLit(literal) => &mut literal.range,
            Value::NullKeyword(keyword) => &mut keyword.range,
        };
        range.start = self.origin(range.start);
    }
}

/// The ends of the keys without a value. What is not JSON is left to the parser.
fn bare_keys(text: &str, options: &ScannerOptions) -> Vec<usize> {
    let mut scanner = Scanner::new(text, options);
    let mut found = Vec::new();
    // Whether each bracket that is open is that of an object; a key that has no colon yet.
    let (mut open, mut key) = (Vec::new(), None);
    let mut before = Token::Null;
    while let Ok(Some(token)) = scanner.scan() {
        match &token {
            Token::CommentLine(_) | Token::CommentBlock(_) => continue,
            Token::OpenBrace => open.push(true),
            Token::OpenBracket => open.push(false),
            Token::Comma | Token::CloseBrace => found.extend(key.take()),
            _ => key = None,
        }
        match &token {
            Token::CloseBrace | Token::CloseBracket => drop(open.pop()),
            Token::String(name) if name.starts_with(EVENT) && open.last() == Some(&true) => {
                let is_key = matches!(before, Token::OpenBrace | Token::Comma);
                key = is_key.then(|| scanner.token_end());
            }
            _ => {}
        }
        before = token;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(text: &str) -> String {
        Completed::new(text, &ScannerOptions::default()).text
    }

    #[test]
    fn only_a_bare_suspend_gets_a_value() {
        assert_eq!(complete(r#"{"suspend", "run": 5}"#), r#"{"suspend":"", "run": 5}"#);
        assert_eq!(complete("{\"suspend1\" /* , */\n}"), "{\"suspend1\":\"\" /* , */\n}");
        for whole in
            [r#"{"a": ["suspend", "b"], "c": "suspend"}"#, r#"{"run", "suspend": ""}"#, "{"]
        {
            assert_eq!(complete(whole), whole);
        }
    }

    #[test]
    fn places_are_those_of_the_file() {
        let completed =
            Completed::new(r#"{"suspend", "a": 5, "suspend"}"#, &ScannerOptions::default());
        assert_eq!(completed.text, r#"{"suspend":"", "a": 5, "suspend":""}"#);
        let place = |at: usize| completed.origin(at);
        // The key, the added value, what follows it, and the end.
        assert_eq!([0, 10, 11, 12, 13, 15].map(place), [0, 10, 10, 10, 10, 12]);
        assert_eq!((place(23), place(35)), (20, 29));
    }
}
