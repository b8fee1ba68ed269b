// SPDX-License-Identifier: GPL-2.0-only
//! Text of strangers: what a terminal would obey is shown instead, and what is too long is cut.
//!
//! [`ReadFault`] says why a file that another program has written cannot be read.

use std::fmt::Display;

/// The longest line that a terminal gets, in characters.
pub const LINE_MAX: usize = 1000;

/// Whether a terminal obeys a character instead of showing it: controls, and marks that change the
/// direction of writing or break lines. New lines and tabs are not among them.
fn is_obeyed(character: char) -> bool {
    let direction = matches!(
        character,
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    let breaks = matches!(character, '\u{2028}' | '\u{2029}');
    (character.is_control() && !"\n\t".contains(character)) || direction || breaks
}

/// A text in which nothing is left that a terminal obeys: `\u001b`, as JSON writes it.
pub fn escaped(text: &str) -> String {
    escaped_but(text, &[])
}

/// The same, with sequences that may stay.
pub fn escaped_but(text: &str, allowed: &[&str]) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let sequence = allowed.iter().find(|sequence| rest.starts_with(**sequence));
        let length = sequence.map_or(character.len_utf8(), |sequence| sequence.len());
        let (part, after) = rest.split_at(length);
        if sequence.is_none() && is_obeyed(character) {
            safe += &format!("\\u{:04x}", u32::from(character));
        } else {
            safe += part;
        }
        rest = after;
    }
    safe
}

/// An escaped text none of whose lines is longer than [`LINE_MAX`].
pub fn lines(text: &str) -> String {
    escaped(text).split('\n').map(cut).collect::<Vec<_>>().join("\n")
}

/// A text as one line: what would begin a second one is escaped too.
pub fn line(text: &str) -> String {
    cut(&escaped(text).replace('\n', "\\n"))
}

/// A text for a cell of a spreadsheet, which would take one that begins with `=`, `+`, `-` or `@`
/// for a formula: an apostrophe stands before it. What some spreadsheets make a new cell of
/// counts too. Numbers stay numbers.
pub fn cell(text: &str) -> String {
    let breaks = |c: char| ";\t\r\n".contains(c);
    let starts = |c: char| "=+-@\t\r＝＋－＠".contains(c);
    if text.parse::<f64>().is_ok_and(f64::is_finite) {
        return text.into();
    }
    let part = |part: &str| {
        let is_formula = part.trim_start_matches(' ').starts_with(starts);
        if is_formula { format!("'{part}") } else { part.into() }
    };
    text.split_inclusive(breaks).map(part).collect()
}

fn cut(line: &str) -> String {
    let characters = line.chars().count();
    if characters <= LINE_MAX {
        return line.to_owned();
    }
    let kept: String = line.chars().take(LINE_MAX).collect();
    format!("{kept}… and {} more characters", characters - LINE_MAX)
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ReadFault {
    /// Where the file is wrong, if that is one place.
    pub position: Option<Position>,
    /// What is wrong, and what would help.
    pub message: String,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Of a text, from 1.
    Line(usize),
    /// Of another file, from 0.
    Byte(usize),
}

impl ReadFault {
    pub fn at_line(line: usize, message: impl Into<String>) -> ReadFault {
        ReadFault { position: Some(Position::Line(line)), message: message.into() }
    }

    /// The fault with the file's name and the place.
    pub fn in_file(&self, name: impl Display) -> String {
        match self.position {
            Some(Position::Line(line)) => format!("{name}:{line}: {self}"),
            Some(Position::Byte(offset)) => format!("{name}: byte {offset}: {self}"),
            None => format!("{name}: {self}"),
        }
    }
}

impl From<String> for ReadFault {
    fn from(message: String) -> ReadFault {
        ReadFault { position: None, message }
    }
}

impl From<&str> for ReadFault {
    fn from(message: &str) -> ReadFault {
        message.to_owned().into()
    }
}

impl From<serde_json::Error> for ReadFault {
    fn from(error: serde_json::Error) -> ReadFault {
        let position = (error.line() > 0).then_some(Position::Line(error.line()));
        let text = error.to_string();
        let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
        let cut = if error.is_eof() { "; the file is cut off" } else { "" };
        ReadFault { position, message: format!("{message}{cut}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_obey_nothing_in_it() {
        assert_eq!(escaped("\u{1b}]0;x\u{7}\u{9b}2J"), "\\u001b]0;x\\u0007\\u009b2J");
        assert_eq!(escaped("a\u{202e}b\u{2066}c\rd"), "a\\u202eb\\u2066c\\u000dd");
        assert_eq!(escaped("µ −1 %\n\tplain 🎪"), "µ −1 %\n\tplain 🎪");
    }

    #[test]
    fn no_text_is_a_formula() {
        for (text, safe) in [
            ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
            ("+1+1", "'+1+1"),
            ("-x", "'-x"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t'=1"),
            (" =1", "' =1"),
            ("a;=1\n-b", "a;'=1\n'-b"),
            ("-1.5", "-1.5"),
            ("+3e4", "+3e4"),
            ("-inf", "'-inf"),
            ("wake-up = 3", "wake-up = 3"),
            ("", ""),
        ] {
            assert_eq!(cell(text), safe);
        }
    }

    #[test]
    fn our_own_colours_may_stay() {
        let bold = ["\u{1b}[1m"];
        assert_eq!(escaped_but("\u{1b}[1mx\u{1b}[2J", &bold), "\u{1b}[1mx\\u001b[2J");
    }

    #[test]
    fn lines_are_cut_and_counted() {
        let long = "x".repeat(LINE_MAX + 7);
        assert!(lines(&format!("a\n{long}")).ends_with("x… and 7 more characters"));
        assert_eq!(line("a\nb"), "a\\nb");
    }
}
