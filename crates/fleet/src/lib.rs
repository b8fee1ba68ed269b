// SPDX-License-Identifier: GPL-2.0-only
//! A plan on many machines: it is cut into chunks, any machine turns a chunk into records, and the
//! records come back exactly once.
//!
//! ```text
//! plan ─► cut ─► chunk (one file: trials and schedulers' texts) ─► `fairground trial --chunk`
//!      ─► records file (a line for each finished trial) ─► store
//! ```
//!
//! Read in this order: [`cut`] keeps together what must run on one machine, [`chunk`] is the file
//! that travels there, [`records_file`] the one that travels back, [`campaign_folder`] has both for
//! every queue that people drive themselves, and [`slurm`] runs a plan as one array job.
//!
//! What is not here: how a trial is run. A trial has the same identity everywhere, so a record that
//! comes back twice is the same record.

pub mod campaign_folder;
pub mod chunk;
pub mod cut;
pub mod records_file;
pub mod slurm;

/// The user's fault: the message names what was given and what to write instead.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(String);

fn refuse(message: impl Into<String>) -> anyhow::Error {
    Refused(message.into()).into()
}
