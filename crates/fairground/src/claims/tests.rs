// SPDX-License-Identifier: GPL-2.0-only
//! Good and bad claims, in `tests/claims`.

use std::fs;

use serde::Deserialize;
use spec::SpecError;

use super::read;

/// A small good claim; tests break one line of it.
const GOOD: &str = include_str!("../../tests/claims/good.toml");
const EXPERIMENT: &str = include_str!("../../tests/claims/x.toml");
const BAD: &str = include_str!("../../tests/claims/bad.toml");

#[derive(Deserialize)]
struct Mistakes {
    bad: Vec<Mistake>,
}

#[derive(Deserialize)]
struct Mistake {
    old: String,
    new: String,
    says: String,
}

/// Reads a claim's file beside its experiment's; the folder's name is cut out of messages.
fn from(text: &str) -> Result<model::Claim, SpecError> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.toml"), EXPERIMENT).unwrap();
    let file = folder.path().join("claim.toml");
    fs::write(&file, text).unwrap();
    let cut = format!("{}/", folder.path().display());
    read(&file.display().to_string())
        .map_err(|error| SpecError { file: error.file.replace(&cut, ""), ..error })
}

#[test]
fn a_good_claim_names_its_cell_and_machine_in_full() {
    let claim = from(GOOD).unwrap();
    assert_eq!((claim.id.as_str(), claim.tests.len()), ("claim", 2));
    let expected = &claim.tests[0].expect[0];
    assert_eq!(expected.cell.as_deref(), Some("wake_under_hogs duration_ms=400 hogs=3"));
    assert_eq!(expected.machine.as_deref(), Some("uniprocessor"));
    assert_eq!(expected.ends(), Some((0.01, 0.9)));
}

#[test]
fn a_mistake_is_refused_at_its_line() {
    for Mistake { old, new, says } in toml::from_str::<Mistakes>(BAD).unwrap().bad {
        assert!(GOOD.contains(&old), "{old}");
        let error = from(&GOOD.replacen(&old, &new, 1)).expect_err(&says).to_string();
        // The list of known experiments is long: the beginning of a message is enough.
        assert!(error.starts_with(&says), "{error}\n{says}");
    }
}
