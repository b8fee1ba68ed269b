// SPDX-License-Identifier: GPL-2.0-only
//! The player: plays a workload's [`play::Script`] in virtual time.
//!
//! Read in this order: [`progress`] goes through the operations; `steps` and `synchronization` say
//! what each does, `spans` how long they take; [`objects`] are what tasks share; `lifecycle` forks
//! and ends tasks; [`main_task`] starts all and ends the trial.

pub(crate) mod lifecycle;
pub mod main_task;
pub mod objects;
pub mod progress;
mod spans;
pub(crate) mod steps;
mod synchronization;
