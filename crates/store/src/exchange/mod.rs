// SPDX-License-Identifier: GPL-2.0-only
//! Exchange of results with other programs and people.
//!
//! ```text
//! another program's file ─► imports ─► records
//! records ─► privacy ─► share ─► one sealed file ─► share ─► records
//! records ─► privacy ─► formats ─► CSV, Perfetto, ftrace, HdrHistogram
//! ```
//!
//! [`imports`] reads what other programs have measured, [`share`] writes and reads records with
//! everything that they rest on, [`formats`] writes for other tools, [`privacy`] removes private
//! words from what leaves the machine, [`shell`] quotes command lines.
//!
//! What is not here: options of verbs, questions, progress; nothing prints.

pub mod imports;
pub mod privacy;
pub mod share;
pub mod shell;

/// Records in the formats of other tools. Each writes to the given writer.
pub mod formats {
    pub mod csv;
    pub mod ftrace;
    pub mod hgrm;
}

/// A file or a record that is refused, with the reason and what would help. The program ends with
/// exit code 2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);
