// SPDX-License-Identifier: GPL-2.0-only
//! Damaged records: they are named and set aside, and never make the others unreadable.

use std::fmt;

use rusqlite::ffi::ErrorCode;

/// A record, or a session, that was set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// `record` or `session`.
    pub what: &'static str,
    pub id: i64,
    /// The identity of its trial; empty for a session, and where that is what cannot be read.
    pub trial_id: String,
    /// How it was noticed.
    pub why: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { what, id, trial_id, why } = self;
        let trial =
            if trial_id.is_empty() { String::new() } else { format!(" (trial {trial_id})") };
        write!(to, "{what} {id}{trial} is damaged: {why}")
    }
}

/// What a row that cannot be decoded is called; SQLite's own words are for programmers.
pub(crate) fn reason(error: &rusqlite::Error) -> String {
    use rusqlite::Error::{FromSqlConversionFailure, InvalidColumnType};
    match error {
        FromSqlConversionFailure(_, _, inner) => format!("a value is not what it was ({inner})"),
        InvalidColumnType(_, name, kind) => format!("its {name} is of type {kind}"),
        _ => "its part of the file cannot be read".into(),
    }
}

/// Whether an error is about what one row has, as opposed to the file being locked or unreadable.
pub(crate) fn is_of_row(error: &rusqlite::Error) -> bool {
    // A missing table or column has no code of its own.
    let code = error.sqlite_error_code();
    matches!(code, None | Some(ErrorCode::DatabaseCorrupt | ErrorCode::Unknown))
}
