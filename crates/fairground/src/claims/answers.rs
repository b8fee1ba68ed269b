// SPDX-License-Identifier: GPL-2.0-only
//! What the sessions that the claims need have given: their records, or why there are none.

use std::collections::BTreeMap;
use std::path::PathBuf;

use model::Record;

use super::choose::Session;

/// A session's number in the store and its records, or why there are none.
pub type Answer = Result<(i64, Vec<Record>), String>;

/// The outcomes of all sessions.
pub struct Answers {
    /// The outcome of each session.
    pub sessions: BTreeMap<Session, Answer>,
    /// Where the records are.
    pub store: PathBuf,
    /// The seed of the plans.
    pub seed: u64,
}

impl Answers {
    /// All records, session by session.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.sessions.values().flatten().flat_map(|(_, records)| records)
    }
}
