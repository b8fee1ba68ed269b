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
//! every queue that people drive themselves.
//!
//! [`options`] is what the user wants of a fleet, [`queue`] what is asked of a queue of jobs,
//! [`slurm`] the one that is built in, [`pace`] decides how large chunks are, and [`drive`]
//! submits, collects, submits again and says what is lost.
//!
//! What is not here: how a trial is run. A trial has the same identity everywhere, so a record that
//! comes back twice is the same record.

pub mod campaign_folder;
pub mod chunk;
pub mod cut;
pub mod drive;
pub mod options;
pub mod pace;
pub mod queue;
pub mod records_file;
pub mod slurm;
