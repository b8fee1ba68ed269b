// SPDX-License-Identifier: GPL-2.0-only
//! What tasks do: a workload's steps, played in virtual time.
//!
//! Read in this order: [`score`] resolves names to numbers; [`progress`] goes through the steps;
//! `steps` and `synchronization` say what each does, `spans` how long they take; [`objects`] are what tasks
//! share; [`timers`] count releases and deadlines; `lifecycle` forks and ends tasks; [`main_task`]
//! starts all and ends the run.

pub(crate) mod lifecycle;
pub mod main_task;

pub mod objects;
pub mod progress;
pub mod score;
mod spans;
pub(crate) mod steps;
mod synchronization;
pub mod timers;
