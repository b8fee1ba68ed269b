// SPDX-License-Identifier: GPL-2.0-only
//! The player: plays a workload's [`model::play::Script`] in virtual time.
//!
//! Read in this order: `workload_state` is its state, with each task's `progress` and what tasks
//! share, `objects`; `play_loop` goes through the operations and measures how long they take;
//! `steps`, `pipes`, `synchronization` and `group_steps` say what each does, `tapes` what recorded
//! tasks do; `lifecycle` forks and ends tasks, and asks whether the scheduler has forgotten one;
//! `start_up` makes the first ones and brings them to the gate; `main_task` starts all and ends the
//! trial.

mod group_steps;
mod inheritance;
mod interrupts;
pub(crate) mod lifecycle;
pub(crate) mod main_task;
pub(crate) mod objects;
mod pipes;
pub(crate) mod play_loop;
pub(crate) mod progress;
pub(crate) mod start_up;
pub(crate) mod steps;
mod synchronization;
pub(crate) mod tapes;
pub(crate) mod workload_state;
