// SPDX-License-Identifier: GPL-2.0-only
//! What others have published, tested again: claims' files to findings.
//!
//! ```text
//! claims/x.toml ─► file, consistency ─► choose (claims, tests) ─► sessions
//!               ─► judge, contraries, look ─► report
//! ```
//!
//! Everything about the files is checked before anything runs: an expectation names a measure, a
//! contestant, a cell and a machine that its experiment has on that backend. A test of originals
//! whose kernels are not built ([`unbuilt`]) is left out with the command that builds them.

pub mod answers;
pub mod blocks;
pub mod choose;
mod consistency;
mod contraries;
mod file;
pub mod judge;
mod look;
#[cfg(test)]
#[rustfmt::skip]
mod tests;
mod unbuilt;

pub use file::{read, read_asset};
