// SPDX-License-Identifier: GPL-2.0-only
//! The text of tapes on its way to other machines: named by its content, and checked on arrival.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::tape::{self, TapesText};
use crate::trial::sha256_hex;
use crate::workload::Workload;

/// The longest text of tapes that is carried, in bytes.
pub const BYTES_MAX: usize = 128 << 20;

/// The tapes of one workload, with their name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TapeText {
    /// SHA-256 of the text, hexadecimal.
    pub sha256: String,
    pub text: String,
}

/// The tapes at hand of these workloads, each once, by their SHA-256.
pub fn at_hand<'a>(
    workloads: impl IntoIterator<Item = &'a Workload>,
) -> BTreeMap<&'a str, &'a Arc<str>> {
    let recorded = workloads.into_iter().filter_map(|workload| workload.recording.as_ref());
    recorded.filter_map(|tapes| Some((tapes.sha256.as_str(), tapes.text.0.as_ref()?))).collect()
}

impl TapeText {
    /// The tapes at hand of these workloads, each once.
    pub fn of<'a>(workloads: impl IntoIterator<Item = &'a Workload>) -> Vec<TapeText> {
        let own = |(sha256, text): (&str, &Arc<str>)| TapeText {
            sha256: sha256.to_owned(),
            text: text.to_string(),
        };
        at_hand(workloads).into_iter().map(own).collect()
    }

    /// Refuses a stranger's text that is too long, has another name, or is no tapes.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        if self.text.len() > BYTES_MAX {
            return Err(format!("tapes of more than {} MiB", BYTES_MAX >> 20));
        }
        if sha256_hex(self.text.as_bytes()) != self.sha256 {
            return Err("the text of the tapes is not what its SHA-256 says".into());
        }
        tape::read(&self.text).map(drop).map_err(|fault| format!("the tapes, {fault}"))
    }
}

/// Gives each workload that names one of these texts its tapes.
pub fn attach<'a>(texts: Vec<TapeText>, workloads: impl IntoIterator<Item = &'a mut Workload>) {
    let texts = texts.into_iter().map(|tapes| (tapes.sha256, Arc::from(tapes.text))).collect();
    give(&texts, workloads);
}

/// Gives workloads that came without tapes, as those of records do, the tapes of `have`.
pub fn lend<'a, 'b>(
    have: impl IntoIterator<Item = &'a Workload>,
    lack: impl IntoIterator<Item = &'b mut Workload>,
) {
    let own = |(sha256, text): (&str, &Arc<str>)| (sha256.to_owned(), text.clone());
    give(&at_hand(have).into_iter().map(own).collect(), lack);
}

fn give<'a>(
    texts: &BTreeMap<String, Arc<str>>,
    workloads: impl IntoIterator<Item = &'a mut Workload>,
) {
    for recorded in workloads.into_iter().filter_map(|workload| workload.recording.as_mut()) {
        if let Some(text) = texts.get(&recorded.sha256) {
            recorded.text = TapesText(Some(text.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::Recorded;

    fn named(text: &str) -> TapeText {
        TapeText { sha256: sha256_hex(text.as_bytes()), text: text.into() }
    }

    fn workload(text: &str, at_hand: bool) -> Workload {
        let own = TapesText(at_hand.then(|| Arc::from(text)));
        let recording =
            Some(Recorded { sha256: named(text).sha256, text: own, ..Recorded::default() });
        Workload { recording, ..Workload::default() }
    }

    #[test]
    fn each_text_travels_once_and_arrives_everywhere() {
        let (one, other) = ("task 1 a\nr5\n", "task 2 b\nr7\n");
        let sent = [workload(one, true), workload(one, true), workload(other, true)];
        let texts = TapeText::of(&sent);
        assert_eq!(texts.len(), 2);
        let mut arrived = [workload(one, false), workload(other, false), Workload::default()];
        attach(texts, &mut arrived);
        let text = |index: usize| arrived[index].recording.as_ref()?.text.0.as_deref();
        assert_eq!((text(0), text(1), text(2)), (Some(one), Some(other), None));
        let mut known = [workload(one, false)];
        lend(&sent, &mut known);
        assert_eq!(TapeText::of(&known), vec![named(one)]);
    }

    #[test]
    fn a_strangers_text_is_checked() {
        assert_eq!(named("task 1 a\nr5\n").check(), Ok(()));
        let changed = TapeText { text: "task 1 a\nr6\n".into(), ..named("task 1 a\nr5\n") };
        assert!(changed.check().is_err_and(|why| why.contains("not what its SHA-256 says")));
        let said = named("task 1 a\nrm\n").check().unwrap_err();
        assert!(said.starts_with("the tapes, line 2: 'rm' is no operation"), "{said}");
        let long = TapeText { text: " ".repeat(BYTES_MAX + 1), ..changed };
        assert_eq!(long.check(), Err("tapes of more than 128 MiB".into()));
    }
}
