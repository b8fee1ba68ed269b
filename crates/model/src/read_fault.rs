// SPDX-License-Identifier: GPL-2.0-only
//! Why a file that another program has written cannot be read.

use std::fmt::Display;

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
