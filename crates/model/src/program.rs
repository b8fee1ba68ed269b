// SPDX-License-Identifier: GPL-2.0-only
//! Real programs as workloads, and what they need of the machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::usual::is_default;

/// A real program as a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The program and its arguments; found by `PATH`.
    pub command: Vec<String>,
    /// The parser of its output, e.g. `hackbench`; `none`: only its run time is measured.
    pub parser: String,
    /// Its Debian package, for the message when it is missing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub package: String,
    /// Further programs that it or its preparation starts, with their Debian packages: `{ gcc =
    /// "gcc" }`. A path may be a pattern; the program is its last match in order of names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub needs: BTreeMap<String, String>,
    /// Commands that run to their end, one after another, before the scheduler under test is
    /// loaded and anything is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<Vec<String>>,
    /// The control group that it starts in, with all that it starts; empty: the workload's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The session that it starts in, with all that it starts; empty: none of the workload's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// Whether it and its preparation work in an empty folder of their own, which is deleted after
    /// the trial.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scratch: bool,
    /// The source tree that it and its preparation work in, by the name under which
    /// `scripts/sources.sh` has put it into Fairground's home; empty: none. The VM has those for
    /// which that script lists what a build reads.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sources: String,
    /// Other files that the program needs in the VM. A path may be a folder, which stands for all
    /// files in it, or a pattern such as `/usr/share/postgresql/*`, which stands for its last match
    /// in order of names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// In a source tree that workloads compile, the file with its version. A folder without it is no
/// source tree.
pub const VERSION_FILE: &str = ".fairground-version";

/// Why a trial cannot run without the tree of this name, and what brings it.
pub fn tree_is_absent(name: &str) -> String {
    format!(
        "the source tree `{name}` is not here; `scripts/sources.sh {name}` gets and configures it"
    )
}

impl Program {
    /// Every program that it needs, itself first, with the Debian package that brings it (empty
    /// where unknown).
    pub fn needed(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = self.command.first().map(|name| (name.as_str(), self.package.as_str()));
        let others = self.needs.iter().map(|(name, package)| (name.as_str(), package.as_str()));
        own.into_iter().chain(others)
    }
}
