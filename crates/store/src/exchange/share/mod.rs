// SPDX-License-Identifier: GPL-2.0-only
//! Shared results: records with everything that they depend on, in one small sealed file.
//!
//! ```text
//! store ─► Shared ─► private words out ─► lines of JSON ─► seal ─► gzip ─► FILE.fairground
//! FILE.fairground ─► gunzip, bounded ─► seal ─► lines ─► every record checked ─► Shared ─► store
//! ```
//!
//! The file is gzip of text, so that anybody can look into it (`zcat`). Its first line is the
//! [`seal`]: the format's version, and the SHA-256 of everything below. Then one JSON object a line
//! ([`lines`]): a description, definitions by content (each workload, machine, contestant and
//! experiment once), schedulers' texts, sessions, records. Equal records make equal bytes.
//! The seal shows that a file is unchanged. It does not prove its origin: contributors name
//! themselves. [`privacy`](super::privacy) removes private words. Nothing in a file is ever
//! compiled or executed.

pub mod lines;
pub mod seal;

use std::path::Path;

use crate::{SchedulerSource, Session, Store};
use anyhow::Result;
use model::{Record, text};
use serde::{Deserialize, Serialize};

use crate::exchange::Refused;
use crate::exchange::privacy::Cleaner;

pub const ENDING: &str = "fairground";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// The contributor; empty: unnamed.
    pub by: String,
    pub note: String,
    pub fairground: String,
    pub left_out: Vec<String>,
}

impl About {
    /// The same with each text as a line that a terminal can show.
    fn into_lines(self) -> About {
        About {
            by: text::line(&self.by),
            note: text::line(&self.note),
            fairground: text::line(&self.fairground),
            left_out: self.left_out.iter().map(|what| text::line(what)).collect(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shared {
    pub about: About,
    /// The schedulers' texts, by name.
    pub sources: Vec<SchedulerSource>,
    /// The sessions with their records. A session's campaign is the index of an earlier one.
    pub sessions: Vec<(Session, Vec<Record>)>,
    /// The seal of the file that it was read from.
    pub seal: String,
}

impl Shared {
    /// Removes private words.
    ///
    /// # Errors
    /// If what is left is no record any more.
    pub fn clean(&mut self, cleaner: &mut Cleaner) -> Result<()> {
        for (session, records) in &mut self.sessions {
            cleaner.session(session)?;
            records.iter_mut().try_for_each(|record| cleaner.record(record))?;
        }
        for source in &mut self.sources {
            source.name = cleaner.text(&source.name);
        }
        for what in &mut self.about.left_out {
            *what = cleaner.text(what);
        }
        self.about.left_out.extend(cleaner.left_out());
        Ok(())
    }

    pub fn pack(&self) -> Result<Vec<u8>> {
        seal::pack(&lines::write(self)?)
    }

    /// Reads a file's bytes. Its sessions are marked with the contributor as their origin.
    ///
    /// # Errors
    /// If the file is incomplete, changed, of a newer version, or invalid; with the reason.
    pub fn unpack(bytes: &[u8]) -> Result<Shared, String> {
        let sealed = seal::unpack(bytes)?;
        let mut shared = lines::read(&sealed.body)?;
        shared.seal = sealed.sha256;
        shared.mark();
        Ok(shared)
    }

    pub fn read(path: &Path) -> Result<Shared> {
        let refused = |why: &dyn std::fmt::Display| {
            Refused(format!("{}: refused: {why}; nothing was imported", path.display()))
        };
        let bytes =
            spec::files::read(path, spec::files::SHARED).map_err(|fault| refused(&fault))?;
        Shared::unpack(&bytes).map_err(|why| refused(&why).into())
    }

    /// Puts its sessions into a store; false if the store has all of them.
    pub fn put_into(&self, store: &Store) -> Result<bool> {
        let known = store.sessions()?;
        let is_known = |new: &Session| {
            let made =
                |session: &Session| (session.plan.clone(), session.started_unix_s, session.seed);
            known.iter().any(|known| known.origin == new.origin || made(known) == made(new))
        };
        if self.sessions.iter().all(|(session, _)| is_known(session)) {
            return Ok(false);
        }
        store.take_in(&self.sessions, &self.sources)?;
        Ok(true)
    }

    pub fn by(&self) -> String {
        match self.about.by.as_str() {
            "" => format!("anonymous {}", &self.seal[..6]),
            name => name.into(),
        }
    }

    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.sessions.iter().flat_map(|(_, records)| records)
    }

    fn mark(&mut self) {
        let by = self.by();
        let note =
            format!("shared by {by}, seal {}; nobody here has measured it", &self.seal[..12]);
        for (session, records) in &mut self.sessions {
            session.origin = Some(crate::Origin { by: by.clone(), seal: self.seal.clone() });
            records.iter_mut().for_each(|record| record.provenance.notes.push(note.clone()));
        }
    }
}

/// Whether a text can be shared as a name, for `--by` and `--note`.
pub fn is_sentence(text: &str) -> bool {
    text.chars().count() <= 200 && !text.chars().any(char::is_control)
}

/// Whether a file begins like a shared file.
pub fn is_shared(path: &Path) -> bool {
    spec::files::beginning(path, seal::BEGINNING).is_ok_and(|start| seal::is_sealed(&start))
}
