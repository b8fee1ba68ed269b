// SPDX-License-Identifier: GPL-2.0-only
//! Source trees that workloads compile: what every backend must agree on about their folders.

/// In a tree, the file with its version. A folder without it is no source tree.
pub const VERSION_FILE: &str = ".fairground-version";

/// Why a trial cannot run without the tree of this name, and what brings it.
pub fn absent(name: &str) -> String {
    format!(
        "the source tree `{name}` is not here; `scripts/sources.sh {name}` gets and configures it"
    )
}
