// SPDX-License-Identifier: GPL-2.0-only
//! What others have published, tested again: claims' files to verdicts.
//!
//! ```text
//! claims/x.toml ─► definition ─► choose (claims, tests) ─► experiments ─► judged ─► report
//! ```
//!
//! Mistakes in the files are found before anything runs: an expectation names a measure, a
//! contestant, a cell and a machine that its experiment has on that backend.

pub mod choose;
mod definition;

pub use definition::read;
