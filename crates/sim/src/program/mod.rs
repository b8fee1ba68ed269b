// SPDX-License-Identifier: GPL-2.0-only
//! What tasks do: a workload's steps, played in virtual time.
//!
//! Read in this order: [`score`] resolves names to numbers; [`play`] goes through the steps;
//! `steps` and `meetings` say what each does, `spans` how long they take; [`things`] are what tasks
//! share; [`timers`] count releases and deadlines; `family` forks and ends tasks; [`conductor`]
//! starts all and ends the run.

pub mod conductor;
pub(crate) mod family;
mod meetings;
pub mod play;
pub mod score;
mod spans;
pub(crate) mod steps;
pub mod things;
pub mod timers;
