// SPDX-License-Identifier: GPL-2.0-only
//! Keys without a value: `"suspend"` alone, which rt-app's `workgen` gives the task's name.
//!
//! A value is added to the text before it is parsed, and every place in what comes of it is moved
//! back to where it is in the file.

use jsonc_parser::ast::Value;
use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};

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
