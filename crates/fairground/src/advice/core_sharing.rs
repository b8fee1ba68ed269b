// SPDX-License-Identifier: GPL-2.0-only
//! What a thread of this machine's cores has while its sibling works: kept in the data folder, once
//! measured, for the machine `here`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use live::sharing::{self, Sharing};
use serde::{Deserialize, Serialize};

use crate::exit::bad_input;

const FILE: &str = "here.toml";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SmtShare {
    /// Per cent of a thread alone, as in a machine's file.
    smt_percent: u32,
}

/// The share that was measured here; `None` if none was.
pub fn measured(home: &Path) -> Result<Option<u32>> {
    let path = home.join(FILE);
    let text = match spec::files::text(&path, spec::files::DEFINITION) {
        Ok(text) => text,
        Err(fault) if fault.is_absence() => return Ok(None),
        Err(fault) => return Err(bad_input(format!("{}: {fault}", path.display()))),
    };
    let percent = toml::from_str::<SmtShare>(&text).ok().map(|measured| measured.smt_percent);
    match percent.filter(|percent| (1..=100).contains(percent)) {
        Some(percent) => Ok(Some(percent)),
        None => Err(bad_input(format!(
            "{}: `smt_percent = 60`, a number from 1 to 100, is all that it may say; delete it, or \
             measure again with `fairground doctor cores`",
            path.display()
        ))),
    }
}

pub fn measure(home: &Path) -> Result<(Sharing, PathBuf)> {
    let sharing = sharing::measure().ok_or_else(|| {
        bad_input("no two CPUs of this machine share a core, so there is nothing to measure")
    })?;
    let path = home.join(FILE);
    std::fs::create_dir_all(home)
        .and_then(|()| std::fs::write(&path, text(sharing.percent)))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    Ok((sharing, path))
}

fn text(percent: u32) -> String {
    format!("# Measured by `fairground doctor cores`.\nsmt_percent = {percent}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_and_nonsense_is_refused() {
        let home = tempfile::tempdir().expect("a temporary folder");
        assert_eq!(measured(home.path()).expect("no file is fine"), None);
        let path = home.path().join(FILE);
        std::fs::write(&path, text(57)).expect("a file");
        assert_eq!(measured(home.path()).expect("it was written here"), Some(57));
        for nonsense in ["smt_percent = 0", "smt_percent = 101", "share = 1", "["] {
            std::fs::write(&path, nonsense).expect("a file");
            let error = measured(home.path()).expect_err(nonsense).to_string();
            assert!(error.contains("here.toml: `smt_percent = 60`"), "{error}");
        }
    }
}
