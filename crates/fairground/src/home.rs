// SPDX-License-Identifier: GPL-2.0-only
//! Where Fairground keeps what is expensive to get: kernels and compiled schedulers.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::exit::bad_input;

/// The store that the verbs use unless `--store` says otherwise.
pub const STORE: &str = "fairground.db";

/// Where `scripts/sources.sh` puts the source trees that workloads build; `None` without a home.
pub fn sources() -> Option<PathBuf> {
    home().ok().map(|home| sources_in(&home))
}

/// The same in a given home.
pub fn sources_in(home: &Path) -> PathBuf {
    home.join("sources")
}

/// `$FAIRGROUND_HOME`, else `$XDG_DATA_HOME/fairground`, else `~/.local/share/fairground`.
///
/// # Errors
/// When none of the three is known.
pub fn home() -> Result<PathBuf> {
    let folder =
        |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("FAIRGROUND_HOME")
        .or_else(|| folder("XDG_DATA_HOME").map(|data| data.join("fairground")))
        .or_else(|| folder("HOME").map(|home| home.join(".local/share/fairground")))
        .ok_or_else(|| bad_input("neither FAIRGROUND_HOME nor HOME is set; set FAIRGROUND_HOME"))
}
