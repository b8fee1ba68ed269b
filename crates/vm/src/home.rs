// SPDX-License-Identifier: GPL-2.0-only
//! The data folder, for what is expensive to get: kernels, the emulator, saved boots, source trees.

use std::env;
use std::path::PathBuf;

/// `$FAIRGROUND_HOME`, else `$XDG_DATA_HOME/fairground`, else `~/.local/share/fairground`; `None`
/// if none of the three variables is set.
pub fn data_folder() -> Option<PathBuf> {
    let folder =
        |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("FAIRGROUND_HOME")
        .or_else(|| folder("XDG_DATA_HOME").map(|data| data.join("fairground")))
        .or_else(|| folder("HOME").map(|home| home.join(".local/share/fairground")))
}
