// SPDX-License-Identifier: GPL-2.0-only
//! Tapes of recordings on their way into a guest: files by the SHA-256 of their text.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use model::tape::TapesText;
use model::{Recorded, Trial, tape_text};

const GUEST_FOLDER: &str = "/tapes";

/// What the tapes take of a guest's memory while they are played, for each byte of their text:
/// the archive, the file, the text and the operations.
pub const MEMORY_FACTOR: u64 = 12;

fn texts(trials: &[Trial]) -> BTreeMap<&str, &Arc<str>> {
    tape_text::at_hand(trials.iter().map(|trial| &*trial.workload))
}

pub fn guest_files(trials: &[Trial]) -> Vec<(String, Vec<u8>)> {
    let file = |(sha256, text): (&str, &Arc<str>)| {
        (format!("{GUEST_FOLDER}/{sha256}"), text.as_bytes().to_vec())
    };
    texts(trials).into_iter().map(file).collect()
}

/// Why a guest with so much memory cannot play the trials' tapes; `None` if it can.
pub fn too_large(trials: &[Trial], memory_mib: u32) -> Option<String> {
    let bytes: u64 = texts(trials).values().map(|text| text.len() as u64).sum();
    let needed_mib = (bytes * MEMORY_FACTOR) >> 20;
    // The kernel, Fairground and the threads have the other half.
    (needed_mib > u64::from(memory_mib) / 2).then(|| {
        format!(
            "the recording's tapes take {needed_mib} MiB of memory; take a machine with \
             memory_mib = {} or more",
            needed_mib * 2
        )
    })
}

/// Inside a guest: gives a trial its tapes. A trial whose tapes were not packed keeps none, and is
/// refused by the player.
pub fn take_from_guest(trial: &mut Trial) {
    if let Some(recorded) = &mut trial.workload.recording {
        recorded.text = TapesText(packed(recorded));
    }
}

fn packed(recorded: &Recorded) -> Option<Arc<str>> {
    let path = Path::new(GUEST_FOLDER).join(&recorded.sha256);
    spec::files::text(&path, spec::files::TAPES).ok().map(Arc::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(text: &str) -> Trial {
        let mut trial = Trial::default();
        let sha256 = model::trial::sha256_hex(text.as_bytes());
        let text = TapesText(Some(text.into()));
        trial.workload.recording = Some(Recorded { sha256, text, ..Recorded::default() });
        trial
    }

    #[test]
    fn equal_tapes_are_packed_once() {
        let trials = ["task 1 a\nr1\n", "task 1 a\nr1\n", "task 2 b\nr1\n"].map(trial);
        let files = guest_files(&trials);
        assert_eq!(files.len(), 2);
        assert!(files.iter().all(|(place, text)| {
            *place == format!("/tapes/{}", model::trial::sha256_hex(text))
        }));
    }

    #[test]
    fn a_guest_without_room_says_how_much_it_takes() {
        let trials = [trial(&"r1 ".repeat(1 << 20))];
        assert_eq!(too_large(&trials, 512), None);
        let why = too_large(&trials, 64).expect("too large");
        assert!(why.ends_with("take a machine with memory_mib = 72 or more"), "{why}");
        assert_eq!(too_large(&trials, 72), None);
    }
}
