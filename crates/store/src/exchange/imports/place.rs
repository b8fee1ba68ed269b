// SPDX-License-Identifier: GPL-2.0-only
//! Where a value stands in another program's result.

use model::ReadFault;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::Value;

/// A JSON pointer, or a regular expression whose group is the value; its last match counts. `^` and
/// `$` mean the beginning and the end of a line.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub enum Place {
    Pointer(String),
    Pattern(Regex),
}

impl TryFrom<String> for Place {
    type Error = regex::Error;

    fn try_from(text: String) -> Result<Place, regex::Error> {
        if text.is_empty() || text.starts_with('/') {
            return Ok(Place::Pointer(text));
        }
        RegexBuilder::new(&text).multi_line(true).crlf(true).build().map(Place::Pattern)
    }
}

impl Place {
    pub fn is_in(&self, text: &str) -> bool {
        matches!(self, Place::Pattern(pattern) if pattern.is_match(text))
    }

    /// Where a pattern begins to match.
    pub fn starts(&self, text: &str) -> Vec<usize> {
        match self {
            Place::Pointer(_) => Vec::new(),
            Place::Pattern(pattern) => pattern.find_iter(text).map(|found| found.start()).collect(),
        }
    }

    /// How a message names it: a group `bogo_ops` is the file's `bogo-ops`.
    pub fn name(&self) -> String {
        match self {
            Place::Pointer(pointer) => pointer.trim_start_matches('/').replace('/', "."),
            Place::Pattern(pattern) => {
                let group = pattern.capture_names().flatten().next();
                group.map_or_else(|| pattern.to_string(), |group| group.replace('_', "-"))
            }
        }
    }
}

/// A part of a file: the whole, a command, or a trial.
#[derive(Clone)]
pub struct Part<'a> {
    pub text: &'a str,
    /// Its first line; 0 in JSON, whose values have none.
    pub line: usize,
    pub json: Value,
}

impl Part<'_> {
    /// The value at a place, and its line.
    pub fn find(&self, place: &Place) -> Option<(String, usize)> {
        match place {
            Place::Pointer(pointer) => match self.value(pointer)? {
                Value::Null => None,
                Value::String(text) => Some((text.clone(), self.line)),
                value => Some((value.to_string(), self.line)),
            },
            Place::Pattern(pattern) => {
                let group = pattern.captures_iter(self.text).last()?.get(1)?;
                let before = self.text[..group.start()].matches('\n').count();
                let line = if self.line == 0 { 0 } else { self.line + before };
                Some((group.as_str().to_owned(), line))
            }
        }
    }

    /// The value of a pointer; cyclictest writes some of its keys with a colon inside the quotes.
    pub fn value(&self, pointer: &str) -> Option<&Value> {
        self.json.pointer(pointer).or_else(|| self.json.pointer(&format!("{pointer}:")))
    }

    pub fn list(&self, pointer: &str) -> Option<&Vec<Value>> {
        self.value(pointer)?.as_array().filter(|items| !items.is_empty())
    }

    pub fn with(&self, json: &Value) -> Self {
        Part { text: self.text, line: self.line, json: json.clone() }
    }
}

/// A fault at a line, or at none.
pub fn fault(line: usize, message: String) -> ReadFault {
    if line == 0 { message.into() } else { ReadFault::at_line(line, message) }
}
