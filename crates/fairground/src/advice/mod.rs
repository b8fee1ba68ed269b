// SPDX-License-Identifier: GPL-2.0-only
//! Which scheduler suits a user: from what the user cares about to an answer.
//!
//! ```text
//! cares/x.toml, ask ─► host (what is there) ─► race in the simulator ─► stats ─► prediction
//! prediction ─► finalists ─► race on a kernel ─► stats ─► answer
//! ```
//!
//! Read in this order: [`ask`] asks the user at a terminal, [`host`] looks at the machine and
//! says which one the race is run on, [`in_use`] names the scheduler in use, [`race`] lays the
//! trials out and says what of them is watched, [`neighbours`] asks whether the prediction is a
//! close call, [`finalists`] says who races on a kernel, [`told`] and [`commands`] say what the
//! numbers mean and how to switch.
//!
//! What is not here: which scheduler is recommended. See `stats::recommend`.

pub mod ask;
pub mod commands;
pub mod finalists;
pub mod host;
pub mod in_use;
pub mod neighbours;
pub mod race;
pub mod told;
