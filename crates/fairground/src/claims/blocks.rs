// SPDX-License-Identifier: GPL-2.0-only
//! How many blocks the sessions of a replication have, where the command line says so.

use std::str::FromStr;

use anyhow::Result;

use super::choose::Session;
use crate::command_line::quoted;
use crate::exit::bad_input;

/// `10`, `live=4`, `s3_make_policies=2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// A backend or an experiment; `None`: all.
    which: Option<String>,
    blocks: u32,
}

impl FromStr for Blocks {
    type Err = String;

    fn from_str(text: &str) -> Result<Blocks, String> {
        let (which, number) = match text.rsplit_once('=') {
            Some((which, number)) => (Some(which.to_owned()), number),
            None => (None, text),
        };
        match number.parse() {
            Ok(blocks) if blocks > 0 => Ok(Blocks { which, blocks }),
            _ => Err(format!("'{number}' is no number of blocks; write 1 or more")),
        }
    }
}

impl Blocks {
    /// How closely it means the session: an experiment's name beats a backend, and that beats all.
    fn closeness(&self, session: &Session) -> Option<u8> {
        match self.which.as_deref() {
            Some(which) if which == session.experiment => Some(2),
            Some(which) if which == session.on.word() => Some(1),
            Some(_) => None,
            None => Some(0),
        }
    }
}

/// The blocks of a session; `None`: the experiment's own. The closest counts, of several the last.
pub fn wanted(given: &[Blocks], session: &Session) -> Option<u32> {
    let close = given.iter().filter_map(|blocks| Some((blocks.closeness(session)?, blocks.blocks)));
    close.max_by_key(|(closeness, _)| *closeness).map(|(_, blocks)| blocks)
}

/// Each of them must mean a session.
///
/// # Errors
/// The first that means none.
pub fn known<'a>(
    given: &[Blocks],
    sessions: impl Iterator<Item = &'a Session> + Clone,
) -> Result<()> {
    let lost =
        |blocks: &&Blocks| sessions.clone().all(|session| blocks.closeness(session).is_none());
    let Some(Blocks { which: Some(which), .. }) = given.iter().find(lost) else { return Ok(()) };
    let mut names: Vec<&str> = sessions.map(|session| session.experiment.as_str()).collect();
    names.dedup();
    Err(bad_input(format!(
        "--blocks {}: neither a backend nor an experiment of these claims; there are sim, vm, \
         live, {}",
        quoted(which),
        names.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Backend;

    fn blocks(texts: &[&str]) -> Vec<Blocks> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn the_closest_counts() {
        let session = |on, name: &str| Session { on, experiment: name.into() };
        let (live, sim) = (session(Backend::Live, "make"), session(Backend::Sim, "make"));
        let given = blocks(&["make=2", "live=4", "10"]);
        assert_eq!(wanted(&given, &live), Some(2));
        assert_eq!(wanted(&given[1..], &live), Some(4));
        assert_eq!(wanted(&given[1..], &sim), Some(10));
        assert_eq!(wanted(&given[1..2], &sim), None);
        assert!(known(&given, [&live].into_iter()).is_ok());
        let error = known(&blocks(&["vm=3"]), [&live].into_iter()).unwrap_err().to_string();
        assert!(error.contains("--blocks vm: neither"), "{error}");
    }

    #[test]
    fn no_block_is_no_number() {
        for text in ["0", "live=", "live=x", "-1", ""] {
            assert!(text.parse::<Blocks>().is_err(), "{text}");
        }
    }
}
