// SPDX-License-Identifier: GPL-2.0-only
//! Which scheduler suits a user: from what the user cares about to an answer.
//!
//! ```text
//! cares/x.toml, ask ─► host (what is there) ─► race (trials, aims) ─► run ─► stats ─► text
//! ```
//!
//! Read in this order: [`ask`] asks the user at a terminal, [`host`] looks at the machine and
//! says which one the race is run on, [`race`] lays the trials out and says what of them is
//! watched, [`commands`] says how to switch.
//!
//! What is not here: which scheduler is recommended. See `stats::recommend`.

pub mod ask;
pub mod commands;
pub mod core_sharing;
pub mod host;
pub mod race;
