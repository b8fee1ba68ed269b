// SPDX-License-Identifier: GPL-2.0-only
//! Where files are unless the user says otherwise: stores, kernels, compiled schedulers, source
//! trees.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::exit::bad_input;

/// The default of `--store`, in the current folder.
pub const STORE: &str = "fairground.db";

/// See [`vm::installed::data_folder`].
pub fn data_folder() -> Result<PathBuf> {
    vm::installed::data_folder()
        .ok_or_else(|| bad_input("neither FAIRGROUND_HOME nor HOME is set; set FAIRGROUND_HOME"))
}

/// The source trees that `scripts/sources.sh` downloads for workloads that compile something;
/// `None` without a data folder.
pub fn source_trees() -> Option<PathBuf> {
    data_folder().ok().map(|folder| source_trees_in(&folder))
}

pub fn source_trees_in(data_folder: &Path) -> PathBuf {
    data_folder.join("sources")
}
